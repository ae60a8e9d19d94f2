//! Trees that were moved or removed without fwt.

use std::fs;

use crate::scene::Scene;

#[test]
fn a_tree_that_git_removed() {
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t", "--branch", "work"]);
    scene.source.git(["worktree", "remove", tree.root.to_str().expect("it is text")]);
    assert_eq!(scene.fwt().run(scene.root(), ["show", "t"]).success()["state"], "missing");
    scene.fwt().run(scene.root(), ["create", "t"]).failure(4, "name-taken");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
    scene.create_directory(&["t"]);
}

#[test]
fn a_tree_whose_directory_was_deleted() {
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t"]);
    fs::remove_dir_all(&tree.root).expect("it is ours");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}

#[test]
fn case_b23_work_that_git_still_has_of_a_deleted_directory() {
    let check = |code: &str, work: &dyn Fn(&Scene, &fwt_tests::Repository)| {
        let scene = Scene::anywhere();
        let tree = scene.create_directory(&["t"]);
        work(&scene, &tree);
        fs::remove_dir_all(&tree.root).expect("it is ours");
        scene.fwt().run(scene.root(), ["rm", "t"]).failure(4, code);
        assert_eq!(fs::read_dir(scene.common_dir.join("worktrees")).expect("there").count(), 1);
        scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
        scene.assert_nothing("at the end");
    };
    check("unsaved-work", &|_, tree| tree.commit("work"));
    check("unsaved-work", &|_, tree| {
        tree.write("new", "staged");
        tree.git(["add", "new"]);
    });
    check("locked-by-git", &|scene, tree| {
        scene.source.git(["worktree", "lock", tree.root.to_str().expect("it is text")]);
    });
}

#[test]
fn a_tree_that_git_moved() {
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t"]);
    let moved = scene.sandbox.path("moved");
    let words = ["worktree", "move"].map(std::ffi::OsStr::new);
    scene.source.git(words.into_iter().chain([tree.root.as_os_str(), moved.as_os_str()]));
    for words in [&["rm", "t"][..], &["rm", "t", "--discard"]] {
        let answer = scene.fwt().run(scene.root(), words);
        let error = answer.failure(4, "not-ours");
        assert!(error["message"].to_string().contains("moved to"), "{answer}");
    }
    // Not even if something that claims to be it is at the old place.
    fwt_tests::environment::succeed(
        scene.sandbox.command("cp").arg("-a").args([&moved, &tree.root]),
    );
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).failure(4, "not-ours");
    assert!(tree.path("file").exists());
    let moved = scene.sandbox.existing(moved);
    assert_eq!(moved.git(["status", "--porcelain"]), "");
    fs::remove_dir_all(&tree.root).expect("it is ours");
    scene.source.git(words_of_move(&moved.root, &tree.root));
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}

fn words_of_move<'a>(
    from: &'a std::path::Path,
    to: &'a std::path::Path,
) -> [&'a std::ffi::OsStr; 4] {
    ["worktree".as_ref(), "move".as_ref(), from.as_os_str(), to.as_os_str()]
}

#[test]
fn case_b29_a_tree_that_is_only_absent_for_now() {
    let scene = Scene::anywhere();
    let (one, two) = (scene.create_directory(&["one"]), scene.create_directory(&["two"]));
    let away = scene.sandbox.path("away");
    fs::rename(&two.root, &away).expect("it is ours");
    scene.fwt().run(scene.root(), ["rm", "one"]).success();
    scene.create_directory(&["three"]);
    assert!(!one.root.exists());
    fs::rename(&away, &two.root).expect("it is ours");
    assert_eq!(two.git(["status", "--porcelain"]), "");
    scene.fwt().run(scene.root(), ["rm", "two"]).success();
}
