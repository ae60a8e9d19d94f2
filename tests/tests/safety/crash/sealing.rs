//! Killed while a tree is sealed, as what differs from another one, and while one is evicted.

use std::fs;
use std::path::PathBuf;

use fwt_tests::{Filesystem, Sandbox};

use super::faults::{count, run};
use crate::eviction::{configure, doctor, let_a_second_pass, scenes, sealed};
use crate::scene::Scene;
use crate::sealed::overlay_scenes;

/// Each is killed over a commit that was never sealed.
fn killed_while_sealing(scene: &Scene, backend: &str) {
    /// Calls that are tried, evenly spread.
    const MOST: u64 = 24;
    let faulty = scene.sandbox.fwt_with_faults();
    let arguments = ["create", "t", "--backend", backend];
    let calls = count(&faulty, scene.root(), &arguments);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    let step = usize::try_from(calls.div_ceil(MOST)).expect("it is small");
    for (turn, nth) in (1..=calls).step_by(step).enumerate() {
        scene.source.write("file", format!("before call {nth}\n"));
        scene.source.commit("again");
        scene.source.settle();
        let killed = run(&faulty, scene.root(), &arguments, &format!("abort:{nth}"));
        let rows = scene.fwt().list_all(scene.root());
        // It may have been killed when all was done and only the answer was missing.
        if killed.code == Some(0) || rows.iter().any(|row| row["state"] == "held") {
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
            continue;
        }
        if turn.is_multiple_of(2) {
            let repaired = scene.fwt().run(scene.root(), ["doctor", "--fix"]).success();
            let debris = repaired["debris"].as_array().expect("a list");
            assert!(debris.iter().all(|one| one["is_repaired"] == true), "call {nth}: {repaired}");
            scene.assert_nothing(&format!("killed at call {nth}"));
        }
        let second = scene.fwt().run(scene.root(), arguments).success();
        let tree = scene.sandbox.existing(second["path"].as_str().expect("a path"));
        assert_eq!(tree.git(["status", "--porcelain"]), "", "call {nth}");
        assert_eq!(tree.git(["diff-files", "--name-only"]), "", "call {nth}");
        let text = fs::read_to_string(tree.path("file")).expect("it is tracked");
        assert_eq!(text, format!("before call {nth}\n"));
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
    }
    let sound = scene.fwt().run(scene.root(), ["doctor"]).success();
    assert_eq!(sound["debris"].as_array().map(Vec::len), Some(0), "{sound}");
}

/// Each is killed over an ignored directory that was never sealed as it is.
#[test]
fn case_b32_killed_while_sealing_an_ignored_directory() {
    const STEP: u64 = 29;
    let Some(scene) = overlay_scenes().into_iter().next() else { return };
    for number in 0..70 {
        scene.source.write(format!("target/deep/{number}"), "made\n");
    }
    let faulty = scene.sandbox.fwt_with_faults();
    let arguments = ["create", "t", "--backend", "overlay", "--carry", "all"];
    let calls = count(&faulty, scene.root(), &arguments);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    for nth in (1..=calls).step_by(usize::try_from(STEP).expect("small")) {
        scene.source.write("target/deep/0", format!("before call {nth}\n"));
        let killed = run(&faulty, scene.root(), &arguments, &format!("abort:{nth}"));
        let rows = scene.fwt().list_all(scene.root());
        if killed.code == Some(0) || rows.iter().any(|row| row["state"] == "held") {
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
            continue;
        }
        if nth.is_multiple_of(2) {
            let repaired = scene.fwt().run(scene.root(), ["doctor", "--fix"]).success();
            let debris = repaired["debris"].as_array().expect("a list");
            assert!(debris.iter().all(|one| one["is_repaired"] == true), "call {nth}: {repaired}");
            scene.assert_nothing(&format!("killed at call {nth}"));
        }
        let second = scene.fwt().run(scene.root(), arguments).success();
        let tree = scene.sandbox.existing(second["path"].as_str().expect("a path"));
        let text = fs::read_to_string(tree.path("target/deep/0")).expect("it was carried");
        assert_eq!(text, format!("before call {nth}\n"));
        assert_eq!(fs::read_dir(tree.path("target/deep")).expect("it was carried").count(), 70);
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
    }
    let sound = scene.fwt().run(scene.root(), ["doctor"]).success();
    assert_eq!(sound["debris"].as_array().map(Vec::len), Some(0), "{sound}");
}

#[test]
fn case_b32_killed_while_sealing_for_an_overlay() {
    let scenes = overlay_scenes();
    if let Some(scene) = scenes.first() {
        killed_while_sealing(scene, "overlay");
    }
}

#[test]
fn case_b32_killed_while_sealing_a_subvolume() {
    if let Some(sandbox) = Sandbox::on(Filesystem::Btrfs) {
        killed_while_sealing(&Scene::within(sandbox), "btrfs");
    }
}

#[test]
fn case_b32_killed_while_evicting() {
    for (scene, backend) in scenes() {
        configure(&scene, "[sealed]\nmax_age = '0s'\n");
        let faulty = scene.sandbox.fwt_with_faults();
        let seal = || {
            scene.create(&["t", "--backend", backend]);
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
            let_a_second_pass();
        };
        seal();
        let fix = ["doctor", "--fix"];
        let calls = count(&faulty, scene.root(), &fix);
        assert_eq!(sealed(&scene), Vec::<PathBuf>::new());
        // Before the eviction the doctor does nothing that matters here.
        let step = usize::try_from((calls / 2).div_ceil(12)).expect("it is small");
        for nth in (calls / 2..=calls).step_by(step) {
            seal();
            run(&faulty, scene.root(), &fix, &format!("abort:{nth}"));
            let repaired = doctor(&scene);
            assert!(repaired.iter().all(|(_, is_repaired)| *is_repaired), "{nth}: {repaired:?}");
            assert_eq!(sealed(&scene), Vec::<PathBuf>::new(), "call {nth}");
        }
        let tree = scene.create(&["t", "--backend", backend]);
        assert_eq!(tree.git(["status", "--porcelain"]), "");
    }
}
