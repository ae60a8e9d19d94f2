//! Who holds a tree by a lease keeps it; nobody else's word counts.

use std::process::{Command, Stdio};

use crate::scene::Scene;

fn acquire(scene: &Scene, more: &[&str]) -> (String, String) {
    let words = [&["acquire", "held", "--holder", "an agent"], more].concat();
    let made = scene.fwt().run(scene.root(), words).success();
    assert_eq!(made["lease"]["holder"], "an agent", "{made}");
    let text = |value: &serde_json::Value| value.as_str().expect("it is text").to_owned();
    (text(&made["lease"]["id"]), text(&made["lease"]["expires_at"]))
}

#[test]
fn what_is_leased_is_not_removed() {
    let scene = Scene::anywhere();
    let (lease, expires_at) = acquire(&scene, &["--ttl", "2h"]);
    for words in [&["rm", "held"][..], &["rm", "held", "--discard"]] {
        let refused = scene.fwt().run(scene.root(), words).failure(4, "leased");
        let hint = refused["hints"][0].as_str().expect("it is text");
        assert!(hint.contains(&expires_at), "{refused}");
    }
    let listed = scene.fwt().list_all(scene.root());
    assert_eq!((&listed[0]["state"], &listed[0]["lease"]["id"]), (&"held".into(), &lease.into()));
    let shown = scene.fwt().run(scene.root(), ["show", "held"]).success();
    assert_eq!(shown["lease"], listed[0]["lease"]);
}

#[test]
fn a_lease_is_prolonged_and_given_back_by_who_has_it() {
    let scene = Scene::anywhere();
    let (lease, expires_at) = acquire(&scene, &["--ttl", "60s"]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let touched = scene.fwt().run(scene.root(), ["touch", "held", "--lease", &lease]).success();
    assert!(touched["lease"]["expires_at"].as_str() > Some(&expires_at), "{touched}");
    for wrong in ["nonsense", &"a".repeat(26)] {
        for verb in ["touch", "release"] {
            let answer = scene.fwt().run(scene.root(), [verb, "held", "--lease", wrong]);
            answer.failure(4, "stale-lease");
        }
    }
    for _ in 0..2 {
        scene.fwt().run(scene.root(), ["release", "held", "--lease", &lease]).success();
    }
    let late = scene.fwt().run(scene.root(), ["touch", "held", "--lease", &lease]);
    late.failure(4, "stale-lease");
    assert!(scene.fwt().list_all(scene.root())[0]["lease"].is_null());
    scene.fwt().run(scene.root(), ["rm", "held"]).success();
    let gone = scene.fwt().run(scene.root(), ["release", "held", "--lease", &lease]);
    gone.failure(3, "no-such-worktree");
    scene.assert_nothing("after the removal");
}

#[test]
fn an_expired_lease_keeps_nobody_away() {
    let scene = Scene::anywhere();
    acquire(&scene, &["--ttl", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    scene.fwt().run(scene.root(), ["rm", "held"]).success();
    scene.assert_nothing("after the removal");
}

#[test]
fn a_lease_for_a_process_needs_one() {
    let scene = Scene::anywhere();
    let mut process = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().expect("sleep");
    let pid = process.id().to_string();
    acquire(&scene, &["--pid", &pid]);
    process.kill().expect("it is ours");
    process.wait().expect("it is ours");
    let words = ["acquire", "other", "--pid", &pid];
    scene.fwt().run(scene.root(), words).failure(2, "bad-request");
    let listed = scene.fwt().list_all(scene.root());
    assert_eq!(listed.len(), 1, "a refused acquire leaves nothing: {listed:?}");
}
