//! Branches that cannot be made.

use super::refused;
use crate::scene::Scene;

#[test]
fn a_branch_that_is_there() {
    let scene = Scene::anywhere();
    scene.source.git(["branch", "there"]);
    for branch in ["there", "main"] {
        refused(&scene, &["t", "--branch", branch], 4, "branch-exists");
    }
}

#[test]
fn a_branch_that_another_one_is_in_the_way_of() {
    let scene = Scene::anywhere();
    scene.source.git(["branch", "a"]);
    scene.source.git(["branch", "b/c"]);
    for branch in ["a/b", "b"] {
        let message = refused(&scene, &["t", "--branch", branch], 4, "branch-exists");
        assert!(message.contains(branch), "{message}");
    }
}

#[test]
fn a_name_that_git_takes_for_no_branch() {
    let scene = Scene::anywhere();
    for branch in ["-x", "a..b", "a b", "a~", "", "a.lock", "@{1}", "a/", "HEAD"] {
        refused(&scene, &["t", &format!("--branch={branch}")], 2, "bad-name");
    }
}

/// As `git checkout --orphan` leaves it: the branch is checked out, and is no ref. Made here, it would
/// give the other worktree a commit.
#[test]
fn a_branch_without_a_commit_that_is_checked_out_elsewhere() {
    for format in ["files", "reftable"] {
        let scene = Scene::anywhere();
        let arguments = [format!("--ref-format={format}")];
        let source = scene.sandbox.repository_with("other", &[&arguments[0]]);
        source.write("file", "one\n");
        source.commit("one");
        source.git(["worktree", "add", "--quiet", "--orphan", "-b", "unborn", "../linked"]);
        source.git(["checkout", "--quiet", "--orphan", "own"]);
        for branch in ["unborn", "own"] {
            let words = ["create", "t", "--rev", "main", "--branch", branch];
            let answer = scene.fwt().run(&source.root, words);
            super::assert_clean(&answer, 4, "branch-exists");
            assert!(answer.to_string().contains(branch), "{answer}");
            let heads = source.git(["for-each-ref", "--format=%(refname)"]);
            assert_eq!(heads, "refs/heads/main", "{format}");
        }
        assert_eq!(scene.fwt().list_all(&source.root), Vec::<serde_json::Value>::new());
        // In a repository of its own it is nobody's.
        let words = ["t", "--rev", "main", "--branch", "unborn", "--mode", "standalone"];
        if format == "files" {
            let made = scene.fwt().create(&source.root, &words);
            let tree = scene.sandbox.existing(made.path());
            assert_eq!(tree.git(["branch", "--show-current"]), "unborn");
        }
    }
}
