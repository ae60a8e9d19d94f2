//! A tree with a repository of its own is a source as well: it stays while other worktrees need it.

use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::scene::Scene;

/// Neither a plain removal nor `--discard` takes it away from under them.
#[track_caller]
fn assert_kept(scene: &Scene, own: &Repository) {
    let before = Snapshot::filtered(&own.root, |_| true);
    for words in [&["rm", "own"][..], &["rm", "own", "--discard"]] {
        let error = scene.fwt().run(scene.root(), words).failure(4, "unsaved-work");
        assert!(error["message"].to_string().contains("/own is kept"), "{error}");
        let now = Snapshot::filtered(&own.root, |_| true);
        now.assert_same(&before, Detail::Full, "the repository of another");
    }
}

#[test]
fn case_b40_a_repository_that_another_tree_of_ours_needs() {
    let scene = Scene::anywhere();
    let own = scene.create(&["own", "--mode", "standalone"]);
    let made = scene.fwt().create(&own.root, &["dependent"]);
    let dependent = scene.sandbox.existing(made.path());
    dependent.write("file", "committed there alone\n");
    dependent.commit("committed there alone");
    dependent.write("file", "and more\n");
    assert_kept(&scene, &own);
    assert_eq!(dependent.git(["status", "--porcelain"]), " M file");
    scene.fwt().run(&own.root, ["rm", "dependent", "--discard"]).success();
    scene.fwt().run(scene.root(), ["rm", "own"]).success();
    scene.assert_nothing("at the end");
}

#[test]
fn case_b40_a_repository_that_a_worktree_of_gits_needs() {
    let scene = Scene::anywhere();
    let own = scene.create(&["own", "--mode", "standalone"]);
    own.git(["worktree", "add", "--quiet", "--detach", "../theirs"]);
    let theirs = scene.sandbox.existing(own.path("../theirs"));
    theirs.write("file", "committed there alone\n");
    theirs.commit("committed there alone");
    assert_kept(&scene, &own);
    // One that is away may come back.
    let away = scene.sandbox.path("away");
    std::fs::rename(&theirs.root, &away).expect("both are ours");
    assert_kept(&scene, &own);
    own.git(["worktree", "prune", "--expire=now"]);
    scene.fwt().run(scene.root(), ["rm", "own"]).success();
    scene.assert_nothing("at the end");
}

/// A linked tree is none: what is made from it has its registration in the source.
#[test]
fn a_linked_tree_is_nobodys_repository() {
    let scene = Scene::anywhere();
    let first = scene.create(&["first"]);
    first.write("file", "on a branch\n");
    first.git(["checkout", "--quiet", "-b", "made"]);
    first.commit("on a branch");
    let made = scene.fwt().create(&first.root, &["second"]);
    let second = scene.sandbox.existing(made.path());
    scene.fwt().run(scene.root(), ["rm", "first"]).success();
    assert_eq!(second.git(["status", "--porcelain"]), "");
    assert_eq!(second.git(["log", "-1", "--format=%s"]), "on a branch");
    scene.fwt().run(scene.root(), ["rm", "second"]).success();
    scene.assert_nothing("at the end");
}

/// Whoever mistypes a name in a tree does not mean the tree.
#[test]
fn a_name_that_nobody_has_is_no_path() {
    let scene = Scene::anywhere();
    let tree = scene.create(&["tree"]);
    for words in [&["rm", "tere"][..], &["rm", "dir/tere", "--discard"], &["show", "tere"]] {
        scene.fwt().run(&tree.root, words).failure(3, "no-such-worktree");
    }
    for path in [".", "dir", "dir/script"] {
        let shown = scene.fwt().run(&tree.root, ["show", path]).success();
        assert_eq!(shown["name"], "tree", "{path}");
    }
}
