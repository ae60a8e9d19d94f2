//! Subvolumes of btrfs: as a source, as the directory of a linked worktree, and in a tree.

use std::fs;
use std::path::PathBuf;

use fs_sys::Access;
use fwt_tests::Repository;

use crate::check::Untouched;
use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::needing("case_g2_a_linked_worktree_that_is_a_subvolume", Needs::Subvolumes, linked),
    Case::needing("case_g2_a_checkout_that_is_a_subvolume", Needs::Subvolumes, checkout),
    Case::needing("case_b13_subvolumes_in_a_tree_are_content", Needs::Subvolumes, inside),
];

fn subvolumes(stage: &Stage) -> Vec<PathBuf> {
    let root = fs_sys::open_dir(&stage.sandbox.path("")).expect("it is ours");
    fs_sys::nested_subvolumes(&root).expect("it can be looked into")
}

/// A source whose topmost directory is a subvolume, clean and then dirty, has an index and HEAD of its own
/// whatever its trees do, and its trees theirs.
fn check(stage: &Stage, source: &Repository) {
    let root = fs_sys::open_dir(&source.root).expect("it is ours");
    assert!(fs_sys::is_subvolume_root(&root).expect("it can be told"));
    let mut trees = vec![stage.create(&source.root, &["clean"])];
    source.write("file", "edited\n");
    source.write("untracked", "u\n");
    let untouched = Untouched::look(source);
    trees.push(stage.create(&source.root, &["of-a-dirty-one"]));
    for tree in &trees {
        tree.assert_clean();
    }
    if stage.carries() {
        let tree = stage.create(&source.root, &["carried", "--carry", "dirty"]);
        assert_eq!(tree.git.git(["status", "--porcelain"]), " M file\n?? untracked");
        trees.push(tree);
    }
    untouched.assert_unchanged();
    for tree in &trees {
        assert_ne!(tree.git.git_dir(), source.git_dir());
        assert!(fs::symlink_metadata(tree.path(".git")).expect("it is there").is_file());
        assert!(source.git(["worktree", "list"]).contains(&*tree.git.root.to_string_lossy()));
        tree.git.git(["checkout", "--quiet", "-b", &format!("of-{}", tree.made.id())]);
        tree.git.commit("in the tree");
        assert_ne!(tree.git.commit_of("HEAD"), source.commit_of("HEAD"));
        stage.fwt().run(&source.root, ["rm", tree.made.id(), "--discard"]).success();
        // Branches are shared, as in any worktree of git.
        source.git(["branch", "--quiet", "-D", &format!("of-{}", tree.made.id())]);
    }
    let now = [source.git(["status", "--porcelain"]), source.git(["rev-parse", "HEAD@{0}"])];
    assert_eq!(now, [" M file\n?? untracked".to_owned(), source.commit_of("HEAD")]);
    stage.assert_no_debris(source, &[]);
}

fn linked(stage: &Stage) {
    let main = stage.small_source();
    let path = stage.sandbox.path("linked");
    fs_sys::create_subvolume(&path).expect("anybody may make one");
    main.git(["worktree", "add", "--quiet", "--detach", &path.to_string_lossy()]);
    let source = stage.sandbox.existing(path);
    source.settle();
    check(stage, &source);
}

fn checkout(stage: &Stage) {
    let path = stage.sandbox.path("source");
    fs_sys::create_subvolume(&path).expect("anybody may make one");
    // A nested one holds a part of what is tracked.
    fs_sys::create_subvolume(&path.join("directory")).expect("anybody may make one");
    let source = stage.small_source();
    check(stage, &source);
}

/// A subvolume that somebody made in a tree, read-only or not, is work like any other: kept, and then gone
/// with the tree.
fn inside(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", "target/\n");
    source.commit("rules");
    source.settle();
    let first = stage.create(&source.root, &["first"]);
    stage.remove(&first, &source);
    let before = subvolumes(stage);
    // An overlay's upper layer takes no subvolume.
    if stage.is_mounted() {
        return;
    }
    for place in ["nested", "target/nested"] {
        let tree = stage.create(&source.root, &["tree"]);
        fs::create_dir_all(tree.path("target")).expect("it is ours");
        for nested in [place.to_owned(), format!("{place}/deeper")] {
            fs_sys::create_subvolume(&tree.path(&nested)).expect("anybody may make one");
            fs::write(tree.path(nested).join("work"), "work\n").expect("it is ours");
        }
        let deeper = fs_sys::open_dir(&tree.path(place).join("deeper")).expect("it is there");
        fs_sys::set_subvolume_access(&deeper, Access::ReadOnly).expect("it is ours");
        drop(deeper);
        let mut words = vec!["rm", tree.made.id()];
        if place == "nested" {
            stage.fwt().run(&source.root, &words).failure(4, "unsaved-work");
            assert_eq!(fs::read(tree.path("nested/deeper/work")).expect("kept"), b"work\n");
            words.push("--discard");
        }
        stage.fwt().run(&source.root, &words).success();
        assert!(!tree.git.root.exists());
        assert_eq!(subvolumes(stage), before, "{place}");
        stage.assert_no_debris(&source, &[]);
    }
}
