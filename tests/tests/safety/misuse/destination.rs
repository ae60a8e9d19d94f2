//! Destinations that are taken, or that can be none.

use std::fs;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Filesystem, Sandbox, Snapshot};

use super::{assert_clean, fill, refused};
use crate::mount::{Bind, can_mount};
use crate::scene::Scene;

#[test]
fn case_g3_what_is_at_the_destination_stays() {
    let scene = Scene::anywhere();
    let taken = scene.sandbox.repository("taken");
    taken.write("file", "mine");
    taken.write("full/file", "mine");
    fs::create_dir(taken.path("empty")).expect("the sandbox is ours");
    taken.link("dangling", "nowhere");
    taken.link("to-empty", "empty");
    taken.link("to-itself", "to-itself");
    let before = Snapshot::of(&taken.root);
    for name in ["file", "full", "empty", "dangling", "to-empty", "to-itself"] {
        let place = taken.path(name);
        let at = place.to_str().expect("it is text");
        let message = refused(&scene, &["t", "--at", at], 4, "destination-exists");
        assert!(message.contains(at), "{message}");
        Snapshot::of(&taken.root).assert_same(&before, Detail::Full, name);
    }
}

#[test]
fn what_stands_above_the_destination_stays() {
    let scene = Scene::anywhere();
    let taken = scene.sandbox.repository("taken");
    taken.write("file", "mine");
    taken.link("dangling", "nowhere");
    let before = Snapshot::of(&taken.root);
    for below in ["file/t", "file/a/b", "dangling/t"] {
        let answer =
            scene.fwt().run(scene.root(), ["create", "t", "--at", &format!("../taken/{below}")]);
        assert_clean(&answer, 4, "destination-exists");
        scene.assert_nothing(below);
        Snapshot::of(&taken.root).assert_same(&before, Detail::Full, below);
    }
}

#[test]
fn case_b53_never_inside_the_source() {
    let scene = Scene::anywhere();
    scene.source.link("../way-in", "src/dir");
    let code = "destination-inside-source";
    for at in
        ["t", "dir/t", "a/b/t", ".git/t", ".git/worktrees/t", "../way-in/t", "../src/../src/t"]
    {
        refused(&scene, &["t", "--at", at], 2, code);
    }
    // Nor does the state of fwt go there.
    let before = scene.state();
    let fwt = scene.fwt().with_state(scene.source.path("state"));
    assert_clean(&fwt.run(scene.root(), ["create", "t"]), 2, code);
    before.assert_unchanged("with its state inside");
}

/// What else is there would be taken for debris of fwt's own.
#[test]
fn case_b53_never_among_what_fwt_keeps() {
    let scene = Scene::anywhere();
    scene.create(&["t"]);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    let marked = scene.sandbox.path("marked");
    fs::create_dir(&marked).expect("the sandbox is ours");
    fs::write(marked.join("fwt.store"), "").expect("it is ours");
    for at in ["sealed/t", "uppers/t", "worktrees/t", "worktrees/a/b/t", "git/t", "new/t"] {
        let at = format!("../state/{at}");
        let message = refused(&scene, &["t", "--at", &at], 2, "bad-request");
        assert!(message.contains("what fwt keeps"), "{message}");
    }
    // Whoever it belongs to, and though nothing is in it yet.
    for at in ["../marked/sealed/t", "../.fwt-4711/sealed/t"] {
        refused(&scene, &["t", "--at", at], 2, "bad-request");
    }
    let state = scene.sandbox.path("unmade");
    let fwt = scene.fwt().with_state(state.clone());
    let answer = fwt.run(scene.root(), ["create", "t", "--at", "../unmade/sealed/t"]);
    assert_clean(&answer, 2, "bad-request");
    assert!(!state.join("sealed").exists());
}

#[test]
fn case_b45_a_destination_that_is_too_long() {
    let scene = Scene::anywhere();
    let name = "n".repeat(256);
    let (path, deep) = ("/p".repeat(2040), format!("../not/there/{name}/t"));
    for at in [&format!("../{name}"), &deep, &path] {
        let message = refused(&scene, &["t", "--at", at], 2, "bad-request");
        assert!(message.contains("too long"), "{message}");
    }
    let longest = format!("../{}", &name[1..]);
    let tree = scene.create(&["t", "--at", &longest]);
    assert_eq!(tree.git(["status", "--porcelain"]), "");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("the longest name");
}

#[test]
fn missing_parents_are_made_and_taken_away_again() {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t", "--at", "../a/b/t"]);
    assert_eq!(tree.root, scene.sandbox.path("a/b/t"));
    let words = ["create", "u", "--at", "../c/d/u", "--backend", "reflink", "--cow", "require"];
    let answer = scene.fwt().run(scene.root(), words);
    // Where bytes can be shared, that is no failure.
    if answer.code == Some(0) {
        scene.fwt().run(scene.root(), ["rm", "u"]).success();
    } else {
        answer.failure(5, "backend-unavailable");
        assert!(!scene.sandbox.path("c").exists(), "{answer}");
    }
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}

#[test]
fn a_relative_destination_counts_from_where_one_is() {
    let scene = Scene::anywhere();
    let fwt = scene.fwt();
    let made = fwt.create(&scene.source.path("dir"), &["t", "--at", "../../t"]);
    assert_eq!(made.path(), scene.sandbox.path("t"));
    let made = fwt.create(&scene.sandbox.path("t"), &["u", "-C", "../src", "--at", "../u"]);
    assert_eq!(made.path(), scene.sandbox.path("u"));
    // And a worktree is found by any path in it, from anywhere.
    for (directory, path) in
        [("t", "."), ("t/dir", "."), ("t/dir", "script"), ("", "t"), ("src", "../t/dir")]
    {
        let shown = fwt.run(&scene.sandbox.path(directory), ["show", path]).success();
        assert_eq!(shown["name"], "t", "{path} in {directory}");
    }
}

#[test]
fn a_read_only_destination() {
    if !can_mount() {
        return;
    }
    let scene = Scene::anywhere();
    let place = scene.sandbox.path("place");
    fs::create_dir(&place).expect("the sandbox is ours");
    let bind = Bind::read_only(&place);
    refused(&scene, &["t", "--at", "../place/t"], 5, "read-only");
    refused(&scene, &["t", "--at", "../place/a/b/t"], 5, "read-only");
    drop(bind);
    scene.create(&["t", "--at", "../place/t"]);
}

#[test]
fn a_read_only_source_can_still_be_refused_or_read() {
    if !can_mount() {
        return;
    }
    let scene = Scene::anywhere();
    let bind = Bind::read_only(scene.root());
    refused(&scene, &["t"], 5, "read-only");
    drop(bind);
    scene.create(&["t"]);
}

#[test]
fn case_b47_a_full_file_system() {
    let Some(room) = Sandbox::on(Filesystem::Full) else { return };
    let scene = Scene::anywhere();
    let big: Vec<u8> = (0..4_000_000_u32).flat_map(u32::to_le_bytes).collect();
    scene.source.write("big", &big);
    scene.source.commit("big");
    scene.source.settle();
    for backend in ["copy", "checkout"] {
        let at = room.path(backend);
        let at = at.to_str().expect("it is text");
        let filler = room.path("filler");
        fill(&filler, 6 << 20);
        let words = ["t", "--backend", backend, "--branch", "made", "--at", at];
        refused(&scene, &words, 6, "no-space");
        let names: Vec<_> = fs::read_dir(room.path("")).expect("it is ours").collect();
        assert_eq!(names.len(), 2, "{names:?}");
        fs::remove_file(filler).expect("it is ours");
        let tree = scene.create(&words);
        assert_eq!(tree.git(["status", "--porcelain"]), "");
        assert_eq!(fs::read(tree.path("big")).expect("it is there").len(), big.len());
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.source.git(["branch", "-D", "made"]);
    }
}
