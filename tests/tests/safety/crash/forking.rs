//! A tree is made from another tree, and killed at any call: the parent loses nothing, and nothing is left.

use fwt_tests::Snapshot;
use fwt_tests::snapshot::Detail;

use super::faults::{count, run};
use crate::eviction::doctor;
use crate::fork::{parent, scenes, work_in};
use crate::scene::Scene;

fn killed_while_forking(scene: &Scene, backend: &str) {
    /// Calls that are tried, evenly spread.
    const MOST: u64 = 40;
    let parent = parent(scene, backend, "dirty");
    work_in(&parent);
    let before = Snapshot::of(&parent.root);
    let status = parent.git(["status", "--porcelain"]);
    let faulty = scene.sandbox.fwt_with_faults();
    let arguments = ["create", "child", "--backend", backend, "--carry", "dirty"];
    let calls = count(&faulty, &parent.root, &arguments);
    scene.fwt().run(scene.root(), ["rm", "child"]).success();
    let step = usize::try_from(calls.div_ceil(MOST)).expect("it is small");
    for (turn, nth) in (1..=calls).step_by(step).enumerate() {
        let when = format!("{backend}, killed at call {nth}");
        let killed = run(&faulty, &parent.root, &arguments, &format!("abort:{nth}"));
        Snapshot::of(&parent.root).assert_same(&before, Detail::Full, &when);
        let rows = scene.fwt().list_all(scene.root());
        let is_held = |name: &str| rows.iter().any(|r| r["name"] == name && r["state"] == "held");
        // It may have been killed when all was done and only the answer was missing.
        if killed.code != Some(0) && !is_held("child") {
            if turn.is_multiple_of(2) {
                assert!(doctor(scene).iter().all(|(_, is_repaired)| *is_repaired), "{when}");
                assert_eq!(doctor(scene), [], "{when}");
                assert_eq!(scene.fwt().list_all(scene.root()).len(), 1, "{when}");
                let store = scene.sandbox.state();
                let uppers = std::fs::read_dir(store.join("uppers")).into_iter().flatten().count();
                assert_eq!(uppers, usize::from(backend == "overlay"), "{when}");
            }
            let second = scene.fwt().run(&parent.root, arguments).success();
            let child = scene.sandbox.existing(second["path"].as_str().expect("a path"));
            assert_eq!(child.git(["status", "--porcelain"]), status, "{when}");
        }
        scene.fwt().run(scene.root(), ["rm", "child"]).success();
    }
    scene.fwt().run(scene.root(), ["rm", "parent", "--discard"]).success();
    scene.assert_nothing(backend);
}

#[test]
fn case_b32_killed_while_a_tree_is_made_from_a_tree() {
    let mut done = Vec::new();
    for (scene, backend) in scenes() {
        if backend != "reflink" && !done.contains(&backend) {
            killed_while_forking(&scene, backend);
            done.push(backend);
        }
    }
}
