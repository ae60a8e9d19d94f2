//! What fwt did not make stays, wherever it is.

use std::fs;

use fwt_tests::Snapshot;
use fwt_tests::snapshot::Detail;

use crate::leftovers::id_of;
use crate::scene::Scene;

#[test]
fn case_b27_what_others_put_beside_our_trees() {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t"]);
    let managed = tree.root.parent().expect("it is in a store");
    let mine = managed.join("mine");
    let path = mine.to_str().expect("it is text");
    scene.source.git(["worktree", "add", "--quiet", "--detach", path]);
    fs::create_dir(managed.join("notes")).expect("it is ours");
    fs::write(managed.join("notes/note"), "keep").expect("it is ours");
    fs::write(managed.join(".fwt-trash-of-somebody"), "keep").expect("it is ours");
    let foreign = |path: &std::path::Path| !path.starts_with("t");
    let before = Snapshot::filtered(managed, foreign);
    for what in ["mine", path, managed.join("notes").to_str().expect("text")] {
        let answer = scene.fwt().run(scene.root(), ["rm", what, "--discard"]);
        answer.failure(3, "no-such-worktree");
    }
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.create(&["t"]);
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    Snapshot::filtered(managed, foreign).assert_same(&before, Detail::Full, "what is not ours");
    assert_eq!(scene.sandbox.existing(&mine).git(["status", "--porcelain"]), "");
    scene.assert_sound();
}

#[test]
fn a_successor_at_the_same_path_is_never_hit() {
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t"]);
    let path = tree.root.to_str().expect("it is text");
    scene.source.git(["worktree", "remove", path]);
    scene.source.git(["worktree", "add", "--quiet", "--detach", path]);
    tree.write("work", "of somebody else");
    let before = Snapshot::filtered(&tree.root, |_| true);
    // The row is all that is left of ours, and goes.
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    Snapshot::filtered(&tree.root, |_| true).assert_same(&before, Detail::Full, "the successor");
    assert_eq!(tree.git(["status", "--porcelain"]), "?? work");
    scene.fwt().run(scene.root(), ["rm", path, "--discard"]).failure(3, "no-such-worktree");
    scene.fwt().run(scene.root(), ["create", "t"]).failure(4, "destination-exists");
}

#[test]
fn a_directory_that_took_the_place_of_a_tree_stays() {
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t"]);
    fs::rename(&tree.root, scene.sandbox.path("elsewhere")).expect("it is ours");
    tree.write("work", "of somebody else");
    for words in [&["rm", "t", "--discard"][..], &["rm", "t"]] {
        scene.fwt().run(scene.root(), words).failure(4, "not-ours");
        assert_eq!(fs::read(tree.path("work")).expect("it stays"), b"of somebody else");
    }
}

#[test]
fn another_repository_with_a_tree_of_the_same_name() {
    let scene = Scene::anywhere();
    let other = scene.sandbox.repository("other");
    other.write("file", "x");
    other.commit("one");
    let tree = scene.create(&["t"]);
    let made = scene.fwt().create(&other.root, &["t"]);
    let outside = scene.sandbox.path("");
    scene.fwt().run(&outside, ["rm", "t"]).failure(3, "ambiguous-worktree");
    let removed = scene.fwt().run(&other.root, ["rm", "t"]).success();
    assert_eq!(removed["id"], made.id());
    assert_eq!(tree.git(["status", "--porcelain"]), "");
    let rows = scene.fwt().list_all(&outside);
    assert_eq!(rows.iter().map(id_of).collect::<Vec<_>>().len(), 1);
}
