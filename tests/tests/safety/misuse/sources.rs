//! Sources that are none, and revisions that name nothing.

use std::os::unix::fs::chown;

use super::{assert_clean, refused};
use crate::mount::is_root;
use crate::scene::Scene;

#[test]
fn a_source_that_is_none() {
    let scene = Scene::anywhere();
    let fwt = scene.fwt();
    std::fs::create_dir(scene.sandbox.path("plain")).expect("the sandbox is ours");
    scene.sandbox.repository_with("unborn.git", &["--bare"]);
    scene.sandbox.repository("unborn");
    let check = |source: &str, exit, code| {
        let answer = fwt.run(&scene.sandbox.path(""), ["create", "t", "--source", source]);
        assert_clean(&answer, exit, code);
        assert!(answer.to_string().contains(source), "the message names it: {answer}");
        scene.assert_nothing(source);
    };
    check("nowhere", 3, "no-such-source");
    check("nowhere/deep", 3, "no-such-source");
    check("src/file", 3, "no-such-source");
    check("src/file/below", 3, "no-such-source");
    check("plain", 3, "not-a-repository");
    check("unborn.git", 5, "unborn-head");
    check("unborn", 5, "unborn-head");
}

#[test]
fn a_git_directory_is_no_source() {
    let scene = Scene::anywhere();
    let answer = scene.fwt().run(&scene.common_dir, ["create", "t"]);
    assert!(matches!(answer.code, Some(3 | 5)), "{answer}");
    scene.assert_nothing("in .git");
}

#[test]
fn a_revision_that_names_nothing() {
    let scene = Scene::anywhere();
    let blob = scene.source.git(["rev-parse", "HEAD:file"]);
    for rev in ["nothing", "--all", "-x", "", "HEAD~5", "HEAD:file", &blob, "a\nb", "HEAD..HEAD"] {
        refused(&scene, &["t", &format!("--rev={rev}")], 3, "no-such-revision");
    }
}

#[test]
fn a_source_of_another_owner() {
    if !is_root() {
        return;
    }
    let scene = Scene::anywhere();
    // The sandbox's own configuration trusts every directory.
    let config = scene.sandbox.home().join(".gitconfig");
    std::fs::write(config, "[user]\n\tname = a\n\temail = a@example.org\n").expect("it is ours");
    for path in [scene.root(), &scene.common_dir] {
        chown(path, Some(12_345), Some(12_345)).expect("root may");
    }
    let answer = scene.fwt().run(scene.root(), ["create", "t"]);
    for path in [scene.root(), &scene.common_dir] {
        chown(path, Some(0), Some(0)).expect("root may");
    }
    assert_clean(&answer, 5, "another-owner");
    scene.assert_nothing("another owner");
}
