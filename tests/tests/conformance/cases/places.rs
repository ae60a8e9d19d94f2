//! Where a source is, where in it one stands, and where a tree goes.

use std::path::Path;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b45_a_source_path_with_space_and_newline", odd_path),
    Case::new("case_b45_a_subdirectory_stands_for_its_source", subdirectory),
    Case::new("case_b45_a_linked_worktree_is_a_source", linked_worktree),
    Case::new("case_b45_a_tree_is_a_source", tree_of_a_tree),
    Case::new("case_b45_a_separate_git_directory", separate_git_dir),
    Case::new("case_b45_a_place_of_ones_own", own_place),
    Case::new("case_b11_paths_that_mean_something_to_a_mount", mount_options),
];

fn odd_path(stage: &Stage) {
    let source = stage.sandbox.repository("a source\nwith 'odd' name");
    source.write("file", "bytes\n");
    source.write("gone", "bytes\n");
    source.commit("first");
    source.settle();
    std::fs::remove_file(source.path("gone")).expect("it is there");
    stage.check(&source, "HEAD");
}

fn subdirectory(stage: &Stage) {
    let source = stage.small_source();
    let below = source.path("directory/below");
    stage.check_from(&source, &below, &[], "HEAD");
    let elsewhere = stage.sandbox.path("");
    let below = below.to_str().expect("it is UTF-8");
    let tree = stage.create(&elsewhere, &["second", "--source", below]);
    tree.assert_clean();
    assert_eq!(tree.made.json["source"], source.root.to_str().expect("it is UTF-8"));
}

/// Its index and HEAD are its own.
fn linked_worktree(stage: &Stage) {
    let main = stage.small_source();
    main.write("only-on-main", "bytes\n");
    main.commit("second");
    let linked = main.reference(&stage.sandbox.path("linked"), "HEAD~1");
    linked.write("only-on-linked", "bytes\n");
    linked.commit("third");
    linked.settle();
    let tree = stage.check(&linked, "HEAD");
    assert!(tree.path("only-on-linked").exists() && !tree.path("only-on-main").exists());
    assert_eq!(tree.made.json["source"], linked.root.to_str().expect("it is UTF-8"));
}

fn tree_of_a_tree(stage: &Stage) {
    let source = stage.small_source();
    let first = stage.create(&source.root, &["first"]);
    first.git.write("made-in-the-tree", "bytes\n");
    first.git.commit("second");
    first.git.settle();
    first.git.write("file", "not committed\n");
    let second = stage.create(&first.git.root, &["second"]);
    second.assert_clean();
    stage.assert_no_debris(&source, &[&first, &second]);
    stage.assert_like_git(&second, &first.git, "HEAD");
    assert_eq!(second.made.json["source"], first.git.root.to_str().expect("it is UTF-8"));
}

fn separate_git_dir(stage: &Stage) {
    let git_dir = stage.sandbox.path("elsewhere.git");
    let git_dir = git_dir.to_str().expect("it is UTF-8");
    let source = stage.sandbox.repository_with("source", &["--separate-git-dir", git_dir]);
    source.write("file", "bytes\n");
    source.commit("first");
    source.settle();
    let tree = stage.check(&source, "HEAD");
    assert!(tree.git.git_dir().starts_with(git_dir));
}

fn own_place(stage: &Stage) {
    let source = stage.small_source();
    let place = stage.sandbox.path("some/where/else");
    let tree = stage.create(&source.root, &["--at", place.to_str().expect("it is UTF-8")]);
    assert_eq!(tree.git.root, place);
    tree.assert_clean();
    stage.assert_like_git(&tree, &source, "HEAD");
    let beside = crate::check::entries(place.parent().unwrap_or(Path::new("/")));
    assert_eq!(beside, [place], "beside the tree");
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}

/// In the options of a mount, and in the table of mounts, these bytes stand for something.
fn mount_options(stage: &Stage) {
    const ODD: &str = "a,b:c\\d e\nf,lowerdir=/,g\"h\\040\u{fc}";
    let source = stage.sandbox.repository(format!("source {ODD}"));
    source.write("file", "bytes\n");
    source.write(format!("{ODD}/{ODD}"), "bytes\n");
    source.commit("first");
    source.settle();
    source.write("untracked", "u\n");
    let fwt = stage.fwt().with_state(stage.sandbox.path(format!("state {ODD}")));
    let at = stage.sandbox.path(format!("tree {ODD}"));
    let at = at.to_str().expect("it is UTF-8");
    let carries: &[&str] = if stage.carries() { &["clean", "dirty"] } else { &["clean"] };
    for more in [&["in-the-store"][..], &["t", "--at", at]] {
        for carry in carries {
            let words = [&stage.arguments(more)[..], &["--carry", carry]].concat();
            let made = fwt_tests::binary::Made { json: fwt.run(&source.root, words).success() };
            let tree = stage.take_over(made);
            let expected = if *carry == "clean" { "" } else { "?? untracked" };
            assert_eq!(tree.git.git(["status", "--porcelain"]), expected);
            tree.git.write(format!("{ODD}/{ODD}"), "work\n");
            std::fs::rename(tree.path(ODD), tree.path(format!("{ODD}2"))).expect("it is ours");
            if stage.is_mounted() {
                fs_sys::unmount(&tree.git.root, fs_sys::Unmount::Now).expect("nobody is in it");
                fwt.run(&source.root, ["attach", tree.made.id()]).success();
            }
            let work = std::fs::read(tree.path(format!("{ODD}2/{ODD}"))).expect("it was written");
            assert_eq!(work, b"work\n");
            fwt.run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
            fwt.run(&source.root, ["rm", tree.made.id(), "--discard"]).success();
            assert!(!tree.git.root.exists());
        }
    }
    assert!(!source.common_dir().join("worktrees").exists(), "a registration is left");
}
