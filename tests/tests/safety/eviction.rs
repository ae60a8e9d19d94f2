//! Sealed trees come, are stood on, and go: never one that somebody needs, and nothing is left of one.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use fwt_tests::binary::Made;
use fwt_tests::{Answer, Filesystem, Sandbox};

use crate::mount::can_mount;
use crate::scene::Scene;

/// A scene for each backend over sealed trees.
pub(crate) fn scenes() -> Vec<(Scene, &'static str)> {
    let overlay = can_mount().then(|| (Scene::in_memory(), "overlay"));
    let btrfs = Sandbox::on(Filesystem::Btrfs).map(|sandbox| (Scene::within(sandbox), "btrfs"));
    overlay.into_iter().chain(btrfs).collect()
}

pub(crate) fn configure(scene: &Scene, text: &str) {
    let directory = scene.sandbox.home().join(".config/fwt");
    fs::create_dir_all(&directory).expect("the home is ours");
    fs::write(directory.join("fwt.toml"), text).expect("it is ours");
}

/// What is in the directory of sealed trees.
pub(crate) fn sealed(scene: &Scene) -> Vec<PathBuf> {
    let entries = fs::read_dir(scene.sandbox.state().join("sealed")).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("ours").path()).collect();
    found.sort();
    found
}

fn next_commit(scene: &Scene, text: &str) {
    scene.source.write("file", text);
    scene.source.commit("next");
    scene.source.settle();
}

pub(crate) fn doctor(scene: &Scene) -> Vec<(String, bool)> {
    let answer = scene.fwt().run(scene.root(), ["doctor", "--fix"]).success();
    let debris = answer["debris"].as_array().expect("a list").iter();
    let kind = |one: &serde_json::Value| one["kind"].as_str().expect("text").to_owned();
    debris.map(|one| (kind(one), one["is_repaired"] == true)).collect()
}

/// A second has gone by since what was done before was done.
pub(crate) fn let_a_second_pass() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
fn what_nobody_uses_goes_and_what_somebody_stands_on_stays() {
    for (scene, backend) in scenes() {
        configure(&scene, "[sealed]\nmax_age = '0s'\n");
        let first = scene.create(&["first", "--backend", backend]);
        next_commit(&scene, "two\n");
        let second = scene.create(&["second", "--backend", backend]);
        next_commit(&scene, "three\n");
        scene.create(&["third", "--backend", backend]);
        scene.fwt().run(scene.root(), ["rm", "third"]).success();
        let_a_second_pass();
        assert_eq!(doctor(&scene), []);
        assert_eq!(sealed(&scene).len(), 4, "two sealed trees and their locks");
        for tree in [&first, &second] {
            assert_eq!(tree.git(["status", "--porcelain"]), "");
        }
        assert_eq!(fs::read_to_string(first.path("file")).expect("tracked"), "one\n");
        assert_eq!(fs::read_to_string(second.path("file")).expect("tracked"), "two\n");
        scene.fwt().run(scene.root(), ["rm", "first"]).success();
        let_a_second_pass();
        doctor(&scene);
        // On overlayfs the second is made up of the first.
        let left = if backend == "overlay" { 4 } else { 2 };
        assert_eq!(sealed(&scene).len(), left, "{backend}");
        assert_eq!(second.git(["status", "--porcelain"]), "");
        scene.fwt().run(scene.root(), ["rm", "second"]).success();
        let_a_second_pass();
        doctor(&scene);
        assert_eq!(sealed(&scene), Vec::<PathBuf>::new());
        scene.assert_nothing("at the end");
        scene.create(&["again", "--backend", backend]);
    }
}

#[test]
fn no_more_are_kept_than_the_configuration_says() {
    for (scene, backend) in scenes() {
        configure(&scene, "[sealed]\nmax_count = 3\n");
        for number in 0..24 {
            next_commit(&scene, &format!("{number}\n"));
            let tree = scene.create(&["t", "--backend", backend]);
            assert_eq!(tree.git(["status", "--porcelain"]), "");
            let text = fs::read_to_string(tree.path("file")).expect("it is tracked");
            assert_eq!(text, format!("{number}\n"));
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
            let count = sealed(&scene).len() / 2;
            // A stack is as high as it may be before what is in it can go.
            assert!(count <= if backend == "overlay" { 18 } else { 3 }, "{backend}: {count}");
        }
        if backend == "overlay" {
            assert!(sealed(&scene).len() / 2 < 16, "the stack was not flattened");
        }
        scene.assert_nothing("at the end");
    }
}

#[test]
fn the_trees_of_another_home_count() {
    for (scene, backend) in scenes() {
        let store = scene.sandbox.path("store");
        let text = format!("store = '{}'\n[sealed]\nmax_age = '0s'\n", store.display());
        configure(&scene, &text);
        let other_home = scene.sandbox.path("other-home");
        let by_other = |words: &[&str]| {
            let mut command = scene.fwt().command(scene.root(), words.iter().copied());
            Answer::of(command.env("FWT_HOME", &other_home).arg("--json")).success()
        };
        let made = Made { json: by_other(&["create", "theirs", "--backend", backend]) };
        let theirs = scene.sandbox.existing(made.path());
        let_a_second_pass();
        assert_eq!(doctor(&scene), []);
        assert_eq!(theirs.git(["status", "--porcelain"]), "");
        let count = || fs::read_dir(store.join("sealed")).expect("it is there").count();
        assert_eq!(count(), 2);
        by_other(&["rm", "theirs"]);
        let_a_second_pass();
        doctor(&scene);
        assert_eq!(count(), 0);
    }
}

#[test]
fn a_name_of_a_worktree_that_is_gone_is_debris() {
    for (scene, backend) in scenes() {
        let tree = scene.create(&["t", "--backend", backend]);
        let directory = sealed(&scene).remove(0);
        let stray = directory.join("trees/aaaaaaaaaaaaa");
        let home = scene.sandbox.state();
        fs::write(&stray, home.as_os_str().as_encoded_bytes()).expect("it is ours");
        assert_eq!(doctor(&scene), [("stale-name".to_owned(), true)]);
        assert!(!stray.exists());
        // Of another home's snapshot nobody here can tell; an overlay would have left its layer.
        fs::write(&stray, "/another/home").expect("it is ours");
        let is_known = backend == "overlay";
        assert_eq!(doctor(&scene).len(), usize::from(is_known), "{backend}");
        assert_eq!(stray.exists(), !is_known, "{backend}");
        assert_eq!(
            fs::read_dir(directory.join("trees")).expect("ours").count(),
            1 + usize::from(!is_known)
        );
        assert_eq!(tree.git(["status", "--porcelain"]), "");
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
    }
}

/// Only what a sealing could have left is debris of one.
#[test]
fn what_others_put_among_sealed_trees_stays() {
    for (scene, backend) in scenes() {
        scene.create(&["t", "--backend", backend]);
        let directory = scene.sandbox.state().join("sealed");
        let key = "0123456789abcdef".repeat(3)[..40].to_owned();
        let (theirs, ours) =
            (["mine", "mine.part", &key[1..], "other-mine"], [key.clone(), format!("{key}.part")]);
        for name in theirs.iter().copied().chain(ours.iter().map(String::as_str)) {
            fs::create_dir(directory.join(name)).expect("it is ours");
            fs::write(directory.join(name).join("file"), "work").expect("it is ours");
        }
        assert_eq!(doctor(&scene), vec![("half-sealed".to_owned(), true); ours.len()]);
        assert!(ours.iter().all(|name| !directory.join(name).exists()));
        for name in theirs {
            assert_eq!(fs::read(directory.join(name).join("file")).expect("it stays"), b"work");
        }
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
    }
}

#[test]
fn two_new_commits_at_once() {
    for (scene, backend) in scenes() {
        scene.create(&["base", "--backend", backend]);
        next_commit(&scene, "two\n");
        next_commit(&scene, "three\n");
        let start = |name: &str, revision: &str| -> Child {
            let words = ["create", name, "--backend", backend, "--rev", revision, "--json"];
            let mut command = scene.fwt().command(scene.root(), words);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("fwt starts")
        };
        let children: Vec<_> = ["HEAD", "HEAD~1"]
            .into_iter()
            .flat_map(|revision| [0, 1].map(|number| (revision, number)))
            .map(|(revision, number)| {
                (revision, start(&format!("{}-{number}", revision.len()), revision))
            })
            .collect();
        for (revision, child) in children {
            let output = child.wait_with_output().expect("fwt ends");
            let made = Made { json: Answer::from_output("create".to_owned(), output).success() };
            let tree = scene.sandbox.existing(made.path());
            assert_eq!(tree.git(["status", "--porcelain"]), "");
            assert_eq!(tree.commit_of("HEAD"), scene.source.commit_of(revision));
            let text = fs::read_to_string(tree.path("file")).expect("it is tracked");
            assert_eq!(text, if revision == "HEAD" { "three\n" } else { "two\n" });
            scene.fwt().run(scene.root(), ["rm", made.id()]).success();
        }
        assert_eq!(sealed(&scene).len(), 6, "three sealed trees and their locks");
        scene.fwt().run(scene.root(), ["rm", "base"]).success();
        scene.assert_nothing("at the end");
    }
}

#[test]
fn case_b47_no_room_to_seal_what_differs() {
    if !can_mount() {
        return;
    }
    let Some(room) = Sandbox::on(Filesystem::Full) else { return };
    let scene = Scene::anywhere();
    let store = room.path("store");
    configure(&scene, &format!("store = '{}'\n", store.display()));
    let first = scene.create(&["first", "--backend", "overlay"]);
    let before = fs::read_dir(store.join("sealed")).expect("it is there").count();
    let mut noise = vec![0; 16 << 20];
    blake3::Hasher::new().update(b"noise").finalize_xof().fill(&mut noise);
    scene.source.write("big", &noise);
    scene.source.commit("big");
    scene.source.settle();
    let filler = room.path("filler");
    crate::misuse::fill(&filler, 6 << 20);
    let answer = scene.fwt().run(scene.root(), ["create", "second", "--backend", "overlay"]);
    let error = answer.failure(6, "no-space");
    let message = error["message"].as_str().expect("text");
    assert!(message.contains(&*room.path("").to_string_lossy()), "{message}");
    let after = fs::read_dir(store.join("sealed")).expect("it is there").count();
    assert_eq!(after, before, "something is left");
    assert_eq!(first.git(["status", "--porcelain"]), "");
    fs::remove_file(filler).expect("it is ours");
    let second = scene.create(&["second", "--backend", "overlay"]);
    assert_eq!(second.git(["status", "--porcelain"]), "");
    assert_eq!(fs::read(second.path("big")).expect("it is there"), noise);
    for name in ["first", "second"] {
        scene.fwt().run(scene.root(), ["rm", name]).success();
    }
    scene.assert_nothing("at the end");
}

#[test]
fn what_is_sealed_ahead_is_used_and_counted() {
    for (scene, backend) in scenes() {
        next_commit(&scene, "two\n");
        let words = ["seal", "--rev", "HEAD", "--rev", "HEAD~1", "--backend", backend];
        let answer = scene.fwt().run(scene.root(), words).success();
        assert_eq!(answer["backend"], backend);
        let sealed = answer["sealed"].as_array().expect("a list");
        assert!(sealed.iter().all(|one| one["was_sealed"] == false), "{answer}");
        assert_eq!(sealed[0]["commit"], scene.source.commit_of("HEAD").as_str());
        assert_eq!(sealed[1]["layers"], if backend == "overlay" { 2 } else { 1 });
        let again = scene.fwt().run(scene.root(), words).success();
        assert_eq!(again["sealed"][1]["was_sealed"], true, "{again}");
        scene.assert_nothing("after sealing ahead");

        let made = scene.fwt().create(scene.root(), &["t", "--backend", backend]);
        let tree = scene.sandbox.existing(made.path());
        assert_eq!(tree.git(["status", "--porcelain"]), "");
        tree.write("new", vec![b'x'; 100_000]);
        let usage = scene.fwt().run(scene.root(), ["du"]).success();
        let found = usage["stores"][0]["sealed"].as_array().expect("a list");
        assert_eq!(found.len(), 2, "{usage}");
        let of = |path: &serde_json::Value| {
            found.iter().find(|one| one["path"] == *path).expect("it is listed").clone()
        };
        let (head, before) = (of(&sealed[0]["path"]), of(&sealed[1]["path"]));
        assert_eq!(head["worktrees"], serde_json::json!([made.id()]));
        assert_eq!(before["worktrees"], serde_json::json!([]));
        assert_eq!(head["sealed_over_it"], u64::from(backend == "overlay"));
        // The earlier commit has one other file.
        assert_eq!(
            (&before["files"], &before["own_files"]),
            (&head["files"], &1.into()),
            "{usage}"
        );
        let own = &usage["worktrees"][0]["own_bytes"];
        if backend == "overlay" {
            let own = own.as_u64().expect("a number");
            assert!((100_000..1_000_000).contains(&own), "{usage}");
        } else {
            assert!(own.is_null(), "{usage}");
        }
        scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    }
}

#[test]
fn what_cannot_be_sealed_for_is_refused_with_reasons() {
    let scene = Scene::in_memory();
    let seal = |backend| scene.fwt().run(scene.root(), ["seal", "--backend", backend]);
    seal("copy").failure(5, "backend-unavailable");
    let error = seal("btrfs").failure(5, "backend-unavailable");
    assert!(error["message"].to_string().contains("not-btrfs"), "{error}");
    let unknown = scene.fwt().run(scene.root(), ["seal", "--rev", "HEAD", "--rev", "no-such"]);
    unknown.failure(3, "no-such-revision");
    assert_eq!(sealed(&scene), Vec::<PathBuf>::new());
}
