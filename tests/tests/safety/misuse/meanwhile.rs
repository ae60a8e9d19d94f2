//! What comes into the way while a create is already at work, and locks on what it is about to write.

use std::fs;
use std::time::{Duration, Instant};

use fwt_tests::environment::write_script;
use fwt_tests::{Repository, Sandbox};

use super::{assert_clean, refused};
use crate::scene::Scene;
use crate::ways::{Way, spoil};

/// A create must not wait longer than this for what somebody else holds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A scene in which git runs a script of ours in the middle of each create: it is a filter, of a file
/// that has to be written by git.
fn with_script(sandbox: &Sandbox, source: &Repository, text: &str) {
    let script = sandbox.path("script");
    write_script(&script, &format!("#!/bin/sh\n{text}\nexec cat\n"));
    source.write(".gitattributes", "filtered filter=script\n");
    source.write("filtered", "one\n");
    source.commit("filtered");
    source.settle();
    source.git(["config", "filter.script.smudge", &format!("'{}'", script.display())]);
    fs::remove_file(source.path("filtered")).expect("it is there");
}

#[test]
fn case_g3_a_destination_that_appears_meanwhile_stays() {
    for mode in ["linked", "standalone"] {
        for what in
            ["mkdir \"$P\"; echo keep >\"$P/f\"", "echo keep >\"$P\"", "ln -s nowhere \"$P\""]
        {
            let scene = Scene::in_memory();
            let place = scene.sandbox.path("place");
            let at = place.to_str().expect("it is text");
            with_script(&scene.sandbox, &scene.source, &format!("P='{at}'\n{what} 2>/dev/null"));
            let words = ["t", "--mode", mode, "--at", at, "--branch", "made"];
            let message = refused(&scene, &words, 4, "destination-exists");
            assert!(message.contains(at), "{message}");
            let found = fs::symlink_metadata(&place).expect("what appeared is still there");
            if found.is_dir() {
                assert_eq!(fs::read(place.join("f")).expect("it is whole"), b"keep\n");
            } else if found.is_file() {
                assert_eq!(fs::read(&place).expect("it is whole"), b"keep\n");
            }
            assert!(!scene.common_dir.join("refs/heads/made").exists(), "{mode} {what}");
        }
    }
}

#[test]
fn case_b42_a_branch_that_appears_meanwhile_stays() {
    let scene = Scene::in_memory();
    let git_dir = scene.common_dir.display().to_string();
    let commit = scene.source.commit_of("HEAD");
    let text = format!("env -i PATH=\"$PATH\" git --git-dir='{git_dir}' branch made {commit}");
    with_script(&scene.sandbox, &scene.source, &format!("{text} 2>/dev/null"));
    let answer = scene.fwt().run(scene.root(), ["create", "t", "--branch", "made"]);
    assert_clean(&answer, 4, "branch-exists");
    assert_eq!(scene.source.commit_of("refs/heads/made"), commit, "it is not ours to delete");
    scene.assert_nothing("a branch that appeared");
}

/// A repository of its own needs nothing of its source any more by then, or the create fails.
#[test]
fn case_g3_a_source_that_vanishes_meanwhile() {
    let scene = Scene::in_memory();
    let [from, to] = [scene.root().to_owned(), scene.sandbox.path("away")];
    let text = format!("mv '{}' '{}'", from.display(), to.display());
    with_script(&scene.sandbox, &scene.source, &text);
    let words = ["create", "t", "--mode", "standalone", "--source", "src", "--backend", "checkout"];
    let answer = scene.fwt().run(&scene.sandbox.path(""), words);
    fs::rename(&to, &from).expect("the script has moved it");
    if answer.code == Some(0) {
        let tree = scene.sandbox.existing(answer.json()["path"].as_str().expect("it is text"));
        tree.git(["fsck", "--no-progress"]);
        scene.fwt().run(scene.root(), ["rm", "--discard", "t"]).success();
    } else {
        assert_eq!(answer.code, Some(1), "{answer}");
    }
    scene.assert_nothing("a source that was away");
}

/// The one lock that a create of a branch needs. The wait is bounded, and the answer names it.
#[test]
fn case_b42_a_lock_on_the_branch_is_named() {
    let scene = Scene::in_memory();
    spoil(&scene.source);
    let lock = scene.common_dir.join("refs/heads/made.lock");
    fs::write(&lock, "").expect("the source is ours");
    for way in [
        Way::new("clean", "linked", "copy"),
        Way::new("clean", "linked", "checkout"),
        Way::new("all", "linked", "copy"),
    ] {
        let way = way.on_branch("made");
        let start = Instant::now();
        let message = refused(&scene, &way.arguments()[1..], 4, "lock-held");
        assert!(message.contains("made.lock"), "{message}");
        assert!(start.elapsed() < PATIENCE, "it waited for {:?}", start.elapsed());
    }
    // In a repository of its own it is not in the way.
    let own = Way::new("dirty", "standalone", "copy").on_branch("made");
    let made = scene.fwt().run(scene.root(), own.arguments()).success();
    let tree = scene.sandbox.existing(made["path"].as_str().expect("it is text"));
    own.assert_whole(&scene, &tree, "beside a lock");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    fs::remove_file(lock).expect("it is ours");
    scene.fwt().create(scene.root(), &["t", "--branch", "made"]);
}

/// Reftables have one lock for all refs.
#[test]
fn case_b42_a_lock_on_all_refs_is_named() {
    let scene = Scene::in_memory();
    let source = scene.sandbox.repository_with("tables", &["--ref-format=reftable"]);
    source.write("file", "one\n");
    source.commit("one");
    let lock = source.path(".git/reftable/tables.list.lock");
    fs::write(&lock, "").expect("the source is ours");
    let words = ["create", "t", "--branch", "made"];
    let answer = scene.fwt().run(&source.root, words);
    assert_clean(&answer, 4, "lock-held");
    assert!(answer.to_string().contains("tables.list.lock"), "{answer}");
    assert_eq!(scene.fwt().list_all(&source.root), Vec::<serde_json::Value>::new());
    assert!(!source.path(".git/worktrees").exists());
    fs::remove_file(lock).expect("it is ours");
    let made = scene.fwt().create(&source.root, &["t", "--branch", "made"]);
    let tree = scene.sandbox.existing(made.path());
    assert_eq!(tree.git(["branch", "--show-current"]), "made");
}
