//! Nothing outside of a worktree is destroyed through it.

use std::fs;
use std::path::PathBuf;

use fwt_tests::environment::succeed;
use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::mount::{Bind, can_mount};
use crate::scene::{Scene, State};

/// Something precious outside of the worktree.
fn canary(scene: &Scene) -> (PathBuf, Snapshot) {
    let outside = scene.sandbox.path("outside");
    fs::create_dir_all(outside.join("deep")).expect("the sandbox is ours");
    fs::write(outside.join("deep/canary"), "alive").expect("it is ours");
    let snapshot = Snapshot::of(&outside);
    (outside, snapshot)
}

#[test]
fn case_b31_a_link_goes_as_a_link() {
    let scene = Scene::anywhere();
    let (outside, before) = canary(&scene);
    let tree = scene.create(&["t"]);
    tree.link("x", &outside);
    tree.link("target/y", &outside);
    scene.fwt().run(scene.root(), ["rm", "t"]).failure(4, "unsaved-work");
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    Snapshot::of(&outside).assert_same(&before, Detail::Full, "outside");
    scene.assert_nothing("at the end");
}

#[test]
fn case_b31_a_mount_inside_is_refused_with_its_path() {
    if !can_mount() {
        return;
    }
    let scene = Scene::anywhere();
    let (outside, before) = canary(&scene);
    let tree = scene.create(&["t", "--at", "../a \\ b"]);
    // In a directory that the project writes off: no look into it would find the mount.
    fs::create_dir_all(tree.path("target/y z")).expect("the tree is ours");
    tree.write("target/file", "of the tree");
    let refuse = |what: &str, place: PathBuf| {
        let whole = Snapshot::filtered(&tree.root, |_| true);
        for words in [&["rm", "t"][..], &["rm", "t", "--discard"]] {
            let answer = scene.fwt().run(scene.root(), words);
            let error = answer.failure(4, "mount-inside");
            let shown = place.to_str().expect("it is text");
            assert!(error["message"].as_str().expect("text").contains(shown), "{answer}");
            Snapshot::of(&outside).assert_same(&before, Detail::Full, "outside");
            let now = Snapshot::filtered(&tree.root, |_| true);
            now.assert_same(&whole, Detail::Full, what);
        }
    };
    let bind = Bind::new(&outside, &tree.path("target/y z"));
    refuse("a directory", tree.path("target/y z"));
    drop(bind);
    let bind = Bind::new(&outside.join("deep/canary"), &tree.path("target/file"));
    refuse("a file", tree.path("target/file"));
    drop(bind);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    Snapshot::of(&outside).assert_same(&before, Detail::Full, "outside");
    scene.assert_nothing("at the end");
}

/// The tree itself is a directory that somebody mounts something on.
#[test]
fn case_b31_a_mount_on_the_tree_is_refused() {
    if !can_mount() {
        return;
    }
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t"]);
    let bind = Bind::new(&tree.root, &tree.root);
    for words in [&["rm", "t"][..], &["rm", "t", "--discard"]] {
        let error = scene.fwt().run(scene.root(), words).failure(4, "mount-inside");
        let shown = tree.root.to_str().expect("it is text");
        assert!(error["message"].as_str().expect("text").contains(shown), "{error}");
    }
    drop(bind);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}

/// What has become of `T/.git` is refused, and the repository has all its files.
fn not_ours(scene: &Scene, tree: &Repository) {
    let before = State::of(scene.root(), &scene.common_dir);
    let objects = Snapshot::of(&scene.common_dir);
    for words in [&["rm", "t", "--discard"][..], &["rm", "t"]] {
        scene.fwt().run(scene.root(), words).failure(4, "not-ours");
        before.assert_unchanged("by a removal that is refused");
        Snapshot::of(&scene.common_dir).assert_same(&objects, Detail::Full, "the repository");
        assert!(tree.path("file").exists());
    }
    scene.assert_sound();
}

#[test]
fn case_b40_dot_git_is_a_link_to_the_repository() {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t"]);
    fs::remove_file(tree.path(".git")).expect("it is a file");
    tree.link(".git", &scene.common_dir);
    not_ours(&scene, &tree);
}

#[test]
fn case_b40_dot_git_is_a_mount_of_the_repository() {
    if !can_mount() {
        return;
    }
    let scene = Scene::anywhere();
    let tree = scene.create(&["t"]);
    fs::remove_file(tree.path(".git")).expect("it is a file");
    fs::create_dir(tree.path(".git")).expect("the tree is ours");
    let bind = Bind::new(&scene.common_dir, &tree.path(".git"));
    not_ours(&scene, &tree);
    drop(bind);
}

#[test]
fn case_b40_dot_git_names_another_worktree() {
    let scene = Scene::anywhere();
    let (tree, other) = (scene.create(&["t"]), scene.create(&["other"]));
    fs::copy(other.path(".git"), tree.path(".git")).expect("both are there");
    not_ours(&scene, &tree);
    assert_eq!(other.git(["status", "--porcelain"]), "");
}

#[test]
fn case_b40_the_tree_is_a_link_to_another() {
    let scene = Scene::anywhere();
    let (tree, other) = (scene.create_directory(&["t"]), scene.create(&["other"]));
    fs::remove_dir_all(&tree.root).expect("it is ours");
    succeed(scene.sandbox.command("ln").arg("-s").args([&other.root, &tree.root]));
    not_ours(&scene, &tree);
    assert_eq!(other.git(["status", "--porcelain"]), "");
}
