//! FIFOs and sockets, which must never be opened.

use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use fwt_tests::environment::succeed;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b15_special_files_that_are_not_tracked", untracked),
    Case::new("case_b15_special_files_in_place_of_tracked_ones", in_place_of_tracked),
];

fn make_fifo(stage: &Stage, path: &Path) {
    succeed(stage.sandbox.command("mkfifo").arg(path));
    let found = std::fs::symlink_metadata(path).expect("it is there");
    assert!(found.file_type().is_fifo());
}

/// A socket's path may have 107 bytes at most: it is bound where paths are short, and moved.
fn make_socket(stage: &Stage, path: &Path) {
    let short = stage.sandbox.path("s");
    drop(UnixListener::bind(&short).unwrap_or_else(|error| panic!("{}: {error}", short.display())));
    std::fs::rename(short, path).expect("both are ours");
}

fn untracked(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", "ignored/\n");
    source.write("ignored/file", "u\n");
    source.git(["add", ".gitignore"]);
    source.git(["commit", "--quiet", "--message", "second"]);
    source.settle();
    for directory in ["", "ignored", "directory/below"] {
        make_fifo(stage, &source.path(directory).join("fifo"));
        make_socket(stage, &source.path(directory).join("socket"));
    }
    stage.check(&source, "HEAD");
}

fn in_place_of_tracked(stage: &Stage) {
    let source = stage.small_source();
    for name in ["file", "run.sh", "empty", "link"] {
        std::fs::remove_file(source.path(name)).expect("it is there");
    }
    make_fifo(stage, &source.path("file"));
    make_fifo(stage, &source.path("empty"));
    make_socket(stage, &source.path("run.sh"));
    make_fifo(stage, &source.path("link"));
    std::fs::remove_dir_all(source.path("directory")).expect("it is there");
    make_fifo(stage, &source.path("directory"));
    stage.check(&source, "HEAD");
}
