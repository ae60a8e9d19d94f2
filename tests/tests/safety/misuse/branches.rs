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
