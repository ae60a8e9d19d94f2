//! Bytes that are shared with the source, and bytes that are not.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use fwt_tests::environment::{has_program, succeed};
use fwt_tests::{Filesystem, Repository};

use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::needing("case_b4_a_large_file_shares_its_extents", Needs::SharedBytes, large_file),
    Case::needing("case_g7_only_differing_files_are_written", Needs::Donors, differing_only),
    Case::new("case_b4_writes_are_seen_on_one_side_only", isolation),
];

const LARGE_BYTES: usize = 64 << 20;

/// Bytes that no two blocks share and nothing compresses.
fn noise(bytes: usize, seed: u8) -> Vec<u8> {
    let mut reader = blake3::Hasher::new().update(&[seed]).finalize_xof();
    let mut noise = vec![0; bytes];
    reader.fill(&mut noise);
    noise
}

/// Where a file's bytes are on the disk, as `filefrag` prints it.
fn extents(stage: &Stage, path: &Path) -> Vec<String> {
    File::open(path).and_then(|file| file.sync_all()).expect("it is there");
    let output = succeed(stage.sandbox.command("filefrag").arg("-v").arg(path)).stdout;
    let text = String::from_utf8_lossy(&output).into_owned();
    let is_extent = |line: &&str| {
        line.split(':').next().is_some_and(|number| number.trim().parse::<u32>().is_ok())
    };
    // Number, logical and physical range, length; the flags after them differ.
    text.lines().filter(is_extent).map(field_up_to_length).collect()
}

fn field_up_to_length(line: &str) -> String {
    line.split(':').take(4).map(str::trim).collect::<Vec<_>>().join(":")
}

/// Every extent of the tree's file is one of the source's, which may have more beyond its end: xfs
/// reserves some.
#[track_caller]
fn assert_shared(stage: &Stage, tree: &Tree, source: &Repository, path: &str) {
    let [found, of_source] = [tree.path(path), source.path(path)].map(|it| extents(stage, &it));
    let is_shared = !found.is_empty() && found.iter().all(|extent| of_source.contains(extent));
    assert!(is_shared, "{path}: {found:?} are not of {of_source:?}");
}

fn large_file(stage: &Stage) {
    let source = stage.small_source();
    // The objects need not be small for this.
    source.git(["config", "core.compression", "0"]);
    let mut file = File::create(source.path("large")).expect("it is ours");
    file.write_all(&noise(LARGE_BYTES, 0)).expect("there is room");
    file.sync_all().expect("there is room");
    source.commit("second");
    source.settle();
    let tree = stage.create(&source.root, &["--cow=require"]);
    tree.assert_clean();
    assert_eq!(tree.made.stat("bytes_copied"), 0);
    assert!(tree.made.stat("bytes_cloned") >= LARGE_BYTES as u64);
    // tmpfs does not say where anything is.
    if has_program("filefrag") && stage.cell.filesystem != Filesystem::Tmpfs {
        let other = stage.create(&source.root, &["--cow=require"]);
        // Where nothing can share with the source, trees share the sealed one.
        let is_copied = stage.is_over_sealed() && !stage.cell.filesystem.has_reflinks();
        assert_shared(stage, &tree, if is_copied { &other.git } else { &source }, "large");
        assert_shared(stage, &other, if is_copied { &tree.git } else { &source }, "large");
    }
    assert!(fs::read(tree.path("large")).expect("it is there") == noise(LARGE_BYTES, 0));
}

fn differing_only(stage: &Stage) {
    const FILES: u8 = 40;
    const BYTES: usize = 64 << 10;
    let source = stage.small_source();
    for number in 0..FILES {
        source.write(format!("files/{number}"), noise(BYTES, number));
    }
    source.commit("second");
    source.settle();
    source.write("files/7", "edited\n");
    let tree = stage.check(&source, "HEAD");
    assert_eq!(tree.made.stat("files_from_git"), 1);
    assert_eq!(tree.made.stat("bytes_from_git"), BYTES as u64);
    let from_source = tree.made.stat("bytes_cloned") + tree.made.stat("bytes_copied");
    assert_eq!(tree.made.stat("files"), u64::from(FILES) + 5);
    assert!(from_source >= u64::from(FILES - 1) * BYTES as u64);
    if !stage.shares_bytes() || !has_program("filefrag") {
        return;
    }
    assert_eq!(tree.made.stat("bytes_copied"), 0);
    for number in (0..FILES).filter(|number| *number != 7) {
        assert_shared(stage, &tree, &source, &format!("files/{number}"));
    }
}

fn isolation(stage: &Stage) {
    let source = stage.small_source();
    source.write("block", noise(64 << 10, 1));
    source.commit("second");
    source.settle();
    let [one, two] = ["one", "two"].map(|name| stage.create(&source.root, &[name]));
    let original = fs::read(source.path("block")).expect("it is there");
    let write = |path: &Path, byte: u8| {
        use std::os::unix::fs::FileExt as _;
        let file = File::options().write(true).open(path).expect("it is there");
        file.write_all_at(&[byte; 100], 5000).expect("it is ours");
    };
    write(&one.path("block"), 1);
    assert!(fs::read(source.path("block")).expect("it is there") == original);
    assert!(fs::read(two.path("block")).expect("it is there") == original);
    write(&source.path("block"), 2);
    assert!(fs::read(two.path("block")).expect("it is there") == original);
    let seen = fs::read(one.path("block")).expect("it is there");
    assert_eq!(seen[5000..5100], [1; 100]);
    two.assert_clean();
}
