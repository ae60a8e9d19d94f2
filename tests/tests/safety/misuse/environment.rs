//! What the caller's environment and other programs' locks must not change.

use fwt_tests::snapshot::Detail;
use fwt_tests::{Answer, Snapshot};

use super::assert_clean;
use crate::scene::{Scene, State};

#[test]
fn case_b33_variables_that_point_at_another_repository() {
    let scene = Scene::anywhere();
    let other = scene.sandbox.repository("other");
    other.write("other", "one\n");
    other.commit("one");
    let git_dir = other.path(".git");
    let (before, others) = (scene.state(), State::of(&other.root, &git_dir));
    let others_files = Snapshot::of(&git_dir);
    let run = |directory: &std::path::Path, arguments: &[&str]| {
        let mut command = scene.fwt().command(directory, arguments);
        command
            .env("GIT_DIR", &git_dir)
            .env("GIT_WORK_TREE", &other.root)
            .env("GIT_INDEX_FILE", git_dir.join("index"))
            .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
            .env("GIT_COMMON_DIR", &git_dir)
            .env("GIT_PREFIX", "dir/")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "core.bare")
            .env("GIT_CONFIG_VALUE_0", "true");
        Answer::of(command.arg("--json")).success()
    };
    for backend in ["copy", "checkout"] {
        let words = ["create", "t", "--backend", backend, "--branch", "made"];
        let made = run(scene.root(), &words);
        let tree = scene.sandbox.existing(made["path"].as_str().expect("it is text"));
        assert_eq!(tree.git(["status", "--porcelain"]), "");
        assert_eq!(tree.commit_of("HEAD"), scene.source.commit_of("HEAD"));
        assert_eq!(run(scene.root(), &["list"])["worktrees"][0]["name"], "t");
        assert_eq!(run(&tree.root, &["show", "."])["name"], "t");
        run(scene.root(), &["rm", "t"]);
        scene.source.git(["branch", "-D", "made"]);
    }
    before.assert_unchanged("by foreign variables");
    others.assert_unchanged("that the variables name");
    Snapshot::of(&git_dir).assert_same(&others_files, Detail::Full, "the other git directory");
    scene.assert_nothing("at the end");
}

#[test]
fn case_b42_locks_in_the_source_are_nobodys_business() {
    let scene = Scene::anywhere();
    for lock in ["index.lock", "config.lock", "HEAD.lock", "packed-refs.lock"] {
        scene.source.write(format!(".git/{lock}"), "");
    }
    let before = scene.state();
    for backend in ["copy", "checkout"] {
        let tree = scene.create(&["t", "--branch", "made", "--backend", backend]);
        assert_eq!(tree.git(["status", "--porcelain"]), "", "{backend}");
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        // git itself does not delete a branch while these are there.
        std::fs::remove_file(scene.common_dir.join("refs/heads/made")).expect("it is there");
        before.assert_unchanged(backend);
    }
}

#[test]
fn without_git() {
    let scene = Scene::anywhere();
    let mut command = scene.fwt().command(scene.root(), ["create", "t", "--json"]);
    let answer = Answer::of(command.env("PATH", scene.sandbox.path("empty")));
    assert_clean(&answer, 1, "git-failed");
    assert!(answer.to_string().contains("PATH"), "a hint says what to do: {answer}");
    scene.assert_nothing("without git");
}
