//! State directories that cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::assert_clean;
use crate::mount::{Bind, can_mount, is_root};
use crate::scene::Scene;

#[test]
fn a_state_directory_that_is_read_only() {
    if !can_mount() {
        return;
    }
    let scene = Scene::anywhere();
    scene.create(&["t"]);
    let before = scene.state();
    let bind = Bind::read_only(&scene.sandbox.state());
    for words in [&["create", "u"][..], &["rm", "t"]] {
        assert_clean(&scene.fwt().run(scene.root(), words), 5, "read-only");
    }
    assert_eq!(scene.fwt().list_all(scene.root()).len(), 1, "reading goes on");
    drop(bind);
    before.assert_unchanged("read-only state");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}

#[test]
fn a_state_directory_that_cannot_be_made() {
    let scene = Scene::anywhere();
    let before = scene.state();
    fs::write(scene.sandbox.path("file"), "mine").expect("the sandbox is ours");
    for state in ["file", "file/below"] {
        let fwt = scene.fwt().with_state(scene.sandbox.path(state));
        let answer = fwt.run(scene.root(), ["create", "t"]);
        assert_clean(&answer, 1, "failed");
        assert!(answer.to_string().contains(state), "{answer}");
    }
    assert_eq!(fs::read(scene.sandbox.path("file")).expect("it is there"), b"mine");
    before.assert_unchanged("no place for state");
}

#[test]
fn a_state_directory_that_may_not_be_written() {
    if is_root() {
        return;
    }
    let scene = Scene::anywhere();
    let closed = scene.sandbox.path("closed");
    fs::create_dir(&closed).expect("the sandbox is ours");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("it is ours");
    for state in ["closed", "closed/state"] {
        let fwt = scene.fwt().with_state(scene.sandbox.path(state));
        assert_clean(&fwt.run(scene.root(), ["create", "t"]), 5, "permission-denied");
    }
}

#[test]
fn a_damaged_registry_is_left_as_it_is() {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t"]);
    let database = scene.sandbox.state().join("fwt.db");
    for suffix in ["-wal", "-shm"] {
        // With its log the database would still be whole.
        fs::remove_file(scene.sandbox.state().join(format!("fwt.db{suffix}"))).expect("it stays");
    }
    let damaged = b"not a database, but somebody may still want to look at it".repeat(100);
    fs::write(&database, &damaged).expect("it is ours");
    for words in [&["create", "u"][..], &["list"], &["show", "t"], &["rm", "t", "--discard"]] {
        let answer = scene.fwt().run(scene.root(), words);
        assert_clean(&answer, 1, "registry");
        assert!(!answer.json()["error"]["hints"][0].is_null(), "{answer}");
        assert_eq!(fs::read(&database).expect("it is there"), damaged, "{words:?}");
    }
    assert_eq!(tree.git(["status", "--porcelain"]), "");
}
