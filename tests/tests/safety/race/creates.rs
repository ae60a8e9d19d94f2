//! Worktrees that are made and removed at once.

use std::path::PathBuf;

use fwt_tests::Answer;

use super::beside;
use crate::leftovers::id_of;
use crate::scene::Scene;

pub(super) fn at_once<T: Send>(count: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let act = &act;
        let all: Vec<_> = (0..count).map(|number| scope.spawn(move || act(number))).collect();
        all.into_iter().map(|one| one.join().expect("it ends")).collect()
    })
}

#[test]
fn case_b42_many_creates_of_different_names() {
    const COUNT: usize = 32;
    let scene = Scene::anywhere();
    let answers = at_once(COUNT, |number| {
        let (name, backend) = (format!("t{number}"), ["copy", "checkout"][number % 2]);
        let branch = format!("made/{number}");
        let words = ["create", &name, "--branch", &branch, "--backend", backend];
        scene.fwt().run(scene.root(), words)
    });
    let before = scene.state();
    let ids: Vec<String> = answers.iter().map(|answer| id_of(&answer.success())).collect();
    scene.assert_only(&ids.iter().map(String::as_str).collect::<Vec<_>>(), "32 at once");
    for answer in &answers {
        let path = answer.json()["path"].as_str().expect("it is text").to_owned();
        let tree = scene.sandbox.existing(path);
        assert_eq!(tree.git(["status", "--porcelain"]), "");
    }
    let config = scene.source.git(["config", "--local", "--list"]);
    assert!(!config.contains("branch."), "no upstream is set: {config}");
    before.assert_unchanged("at the end");
    let answers =
        at_once(COUNT, |number| scene.fwt().run(scene.root(), ["rm", &format!("t{number}")]));
    for answer in answers {
        answer.success();
    }
    scene.assert_nothing("at the end");
    scene.assert_sound();
}

#[test]
fn case_b42_many_creates_of_one_name() {
    let scene = Scene::anywhere();
    for round in 0..4 {
        let answers = at_once(8, |_| scene.fwt().run(scene.root(), ["create", "t"]));
        let (won, lost): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.code == Some(0));
        assert_eq!(won.len(), 1, "round {round}");
        for answer in lost {
            assert_eq!(answer.code, Some(4), "{answer}");
            let code = answer.json()["error"]["code"].as_str().expect("text").to_owned();
            // One that came when the tree was in its place already saw that first.
            assert!(["name-taken", "destination-exists"].contains(&&*code), "{answer}");
        }
        scene.assert_only(&[&id_of(&won[0].json())], "one name");
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing("one name");
    }
}

#[test]
fn case_b42_many_creates_of_one_branch_and_one_place() {
    let scene = Scene::anywhere();
    for words in [&["--branch", "made"][..], &["--at", "../there"]] {
        let answers = at_once(8, |_| {
            let create = ["create"].into_iter().chain(words.iter().copied());
            scene.fwt().run(scene.root(), create)
        });
        let won: Vec<&Answer> = answers.iter().filter(|answer| answer.code == Some(0)).collect();
        assert_eq!(won.len(), 1, "{words:?}");
        for answer in answers.iter().filter(|answer| answer.code != Some(0)) {
            assert_eq!(answer.code, Some(4), "{answer}");
        }
        let id = id_of(&won[0].json());
        scene.assert_only(&[&id], "one of them");
        scene.fwt().run(scene.root(), ["rm", &id]).success();
    }
    scene.assert_nothing("at the end");
}

#[test]
fn two_stores_of_one_repository() {
    let scene = Scene::anywhere();
    let stores = ["one", "two"].map(|name| scene.fwt().with_state(scene.sandbox.path(name)));
    let answers = at_once(16, |number| {
        stores[number % 2].run(scene.root(), ["create", &format!("t{}", number / 2)])
    });
    let paths: Vec<PathBuf> = answers
        .iter()
        .map(|answer| answer.success()["path"].as_str().expect("it is text").into())
        .collect();
    for path in &paths {
        assert_eq!(scene.sandbox.existing(path).git(["status", "--porcelain"]), "");
    }
    let answers = at_once(16, |number| {
        stores[number % 2].run(scene.root(), ["rm", &format!("t{}", number / 2)])
    });
    for answer in answers {
        answer.success();
    }
    scene.assert_nothing("at the end");
}

#[test]
fn creates_beside_removals() {
    const ROUNDS: usize = 6;
    let scene = Scene::anywhere();
    let kept = scene.create(&["kept"]);
    at_once(4, |number| {
        for round in 0..ROUNDS {
            let name = format!("t{number}");
            let backend = ["copy", "checkout"][(number + round) % 2];
            let made = scene.fwt().create(scene.root(), &[&name, "--backend", backend]);
            let tree = scene.sandbox.existing(made.path());
            assert_eq!(tree.git(["status", "--porcelain"]), "");
            scene.fwt().run(scene.root(), ["rm", &name]).success();
        }
    });
    assert_eq!(kept.git(["status", "--porcelain"]), "");
    scene.fwt().run(scene.root(), ["rm", "kept"]).success();
    scene.assert_nothing("at the end");
    scene.assert_sound();
}

/// A create that fails takes the directories away that it had made: not from under another one.
#[test]
fn creates_beside_failures() {
    const ROUNDS: usize = 10;
    let scene = Scene::anywhere();
    let failing = ["create", "--at", "../a/b/x", "--backend", "reflink", "--cow", "require"];
    beside(
        |_| {
            let answer = scene.fwt().run(scene.root(), failing);
            if answer.code == Some(0) {
                scene.fwt().run(scene.root(), ["rm", &id_of(&answer.json())]).success();
            }
        },
        || {
            for _ in 0..ROUNDS {
                let tree = scene.create(&["t", "--at", "../a/b/t"]);
                assert_eq!(tree.git(["status", "--porcelain"]), "");
                scene.fwt().run(scene.root(), ["rm", "t"]).success();
            }
        },
    );
    scene.assert_nothing("at the end");
}
