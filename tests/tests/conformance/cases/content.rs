//! Files, links and directories of every sort.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g14_links_are_links", links),
    Case::needing("case_g14_holes_stay_holes", Needs::Donors, holes),
    Case::new("case_g14_a_directory_of_many_files", many_files),
    Case::new("case_g14_a_hard_link_in_the_source_becomes_two_files", hard_link),
    Case::new("case_g14_without_links_a_link_is_a_file", without_symlinks),
];

fn links(stage: &Stage) {
    let source = stage.small_source();
    for (path, target) in [
        ("dangling", "gone/nowhere"),
        ("absolute", "/etc/passwd"),
        ("to-directory", "directory"),
        ("directory/up", "../file"),
        ("out-of-the-tree", "../../../somewhere"),
        ("loop", "loop"),
        ("odd", "a\nb \"c\" \\"),
    ] {
        source.link(path, target);
    }
    source.link("long", "x".repeat(1000));
    source.commit("second");
    source.settle();
    let tree = stage.check(&source, "HEAD");
    let target = fs::read_link(tree.path("absolute")).expect("it is a link");
    assert_eq!(target.to_str(), Some("/etc/passwd"));
}

fn holes(stage: &Stage) {
    const SIZE: u64 = 16 << 20;
    let source = stage.small_source();
    let write = || {
        let file = File::create(source.path("sparse")).expect("it is ours");
        file.set_len(SIZE).expect("it is ours");
        file.write_all_at(b"in the middle", SIZE / 2).expect("it is ours");
    };
    write();
    source.commit("second");
    source.settle();
    // git has looked at it through a mapping, which fills the holes of a tmpfs.
    write();
    let before = fs::metadata(source.path("sparse")).expect("it is there").blocks();
    assert!(before * 512 < SIZE / 8, "{before} blocks in the source");
    let tree = stage.check(&source, "HEAD");
    let found = fs::metadata(tree.path("sparse")).expect("it is there");
    assert_eq!(found.size(), SIZE);
    assert!(found.blocks() * 512 < SIZE / 8, "{} blocks", found.blocks());
}

/// More than one worker copies them.
fn many_files(stage: &Stage) {
    let source = stage.small_source();
    for number in 0..1500 {
        source.write(format!("many/{number}"), format!("{number}\n"));
    }
    source.commit("second");
    source.settle();
    let tree = stage.check(&source, "HEAD");
    assert_eq!(tree.made.stat("files"), 1505);
    let from_git = if stage.takes_donors() { 0 } else { 1505 };
    assert_eq!(tree.made.stat("files_from_git"), from_git);
}

fn hard_link(stage: &Stage) {
    let source = stage.small_source();
    fs::hard_link(source.path("file"), source.path("again")).expect("it is ours");
    source.commit("second");
    source.settle();
    let tree = stage.check(&source, "HEAD");
    let found = fs::metadata(tree.path("file")).expect("it is there");
    assert_eq!(found.nlink(), 1);
}

fn without_symlinks(stage: &Stage) {
    let source = stage.small_source();
    source.git(["config", "core.symlinks", "false"]);
    fs::remove_file(source.path("link")).expect("it is there");
    source.write("link", "file");
    source.settle();
    let tree = stage.check(&source, "HEAD");
    assert!(fs::symlink_metadata(tree.path("link")).expect("it is there").is_file());
}
