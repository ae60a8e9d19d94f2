//! Names of any bytes, at any depth.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g14_names_of_any_bytes", any_bytes),
    Case::new("case_g14_deep_paths", deep_paths),
];

const NAMES: &[&[u8]] = &[
    b"new\nline",
    b"quote\"and'quote",
    b"back\\slash",
    b"comma,colon:back\\slash",
    b"\xff\xfe not text",
    b" space ",
    b"-dash",
    b"--",
    b"tab\there",
    b":(top)magic",
    b"star*?[a]",
    b"!bang",
    b"#hash",
    b"caf\xc3\xa9",
    b"cafe\xcc\x81",
    b"UPPER",
    b"upper",
    b".gitattributes.not",
    b"\x01\x7f",
];

/// Each clean once, and once such that only git can write it.
fn any_bytes(stage: &Stage) {
    let source = stage.small_source();
    let mut names: Vec<Vec<u8>> = NAMES.iter().map(|name| name.to_vec()).collect();
    names.push(vec![b'n'; 255]);
    names.push([&[b'n'; 253][..], "é".as_bytes()].concat());
    let paths = |directory: &str| -> Vec<PathBuf> {
        let below = |name| PathBuf::from(directory).join(OsStr::from_bytes(name));
        names.iter().map(|name| below(name)).collect()
    };
    for path in paths("").into_iter().chain(paths("gone")) {
        source.write(&path, path.as_os_str().as_bytes());
    }
    for (number, path) in paths("directories").into_iter().enumerate() {
        source.write(path.join("file"), number.to_string());
    }
    source.commit("second");
    source.settle();
    for path in paths("gone") {
        std::fs::remove_file(source.path(path)).expect("it is there");
    }
    stage.check(&source, "HEAD");
}

fn deep_paths(stage: &Stage) {
    let source = stage.small_source();
    let deep: PathBuf = std::iter::repeat_n("d".repeat(60), 50).collect();
    source.write(deep.join("file"), "deep\n");
    source.write(deep.join("gone"), "deep, and only in git\n");
    source.commit("second");
    source.settle();
    std::fs::remove_file(source.path(deep.join("gone"))).expect("it is there");
    stage.check(&source, "HEAD");
}
