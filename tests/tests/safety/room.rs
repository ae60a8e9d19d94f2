//! A store without room: what cannot be sealed, or written over what is sealed, leaves nothing, and the message
//! says where there is no room.

use std::fs;
use std::path::{Path, PathBuf};

use fwt_tests::{Filesystem, Sandbox};

use crate::eviction::configure;
use crate::misuse;
use crate::mount::can_mount;
use crate::scene::Scene;

/// Bytes that are free, and fewer than anything here takes.
const FREE_BYTES: usize = 6 << 20;
const BIG_BYTES: usize = 16 << 20;

/// A scene whose store is on the small file system.
fn scene() -> Option<(Scene, Sandbox)> {
    if !can_mount() {
        return None;
    }
    let room = Sandbox::on(Filesystem::Full)?;
    let scene = Scene::anywhere();
    configure(&scene, &format!("store = '{}'\n", room.path("store").display()));
    Some((scene, room))
}

fn noise() -> Vec<u8> {
    let mut noise = vec![0; BIG_BYTES];
    blake3::Hasher::new().update(b"noise").finalize_xof().fill(&mut noise);
    noise
}

/// Everything in the store but a database, by its path.
fn kept(store: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![store.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                pending.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Runs it while the store is all but full, which must fail so; and then with room.
#[track_caller]
fn check(scene: &Scene, room: &Sandbox, words: &[&str]) {
    let (store, before) = (room.path("store"), scene.state());
    let kept_before = kept(&store);
    let filler = room.path("filler");
    misuse::fill(&filler, FREE_BYTES);
    let answer = scene.fwt().run(scene.root(), words);
    let error = answer.failure(6, "no-space");
    let message = error["message"].as_str().expect("text");
    assert!(message.contains(&*room.path("").to_string_lossy()), "{words:?}: {message}");
    fs::remove_file(filler).expect("it is ours");
    let is_new = |path: &&PathBuf| !kept_before.contains(path);
    // Directories that are empty are made for whatever comes next.
    let left: Vec<PathBuf> =
        kept(&store).iter().filter(is_new).filter(|path| !path.is_dir()).cloned().collect();
    let allowed = |path: &PathBuf| path.ends_with("fwt.store");
    assert!(left.iter().all(allowed), "{words:?} left {left:?}");
    before.assert_unchanged(&format!("{words:?}"));
    assert_eq!(scene.fwt().list_all(scene.root()), Vec::<serde_json::Value>::new());
    let answer = scene.fwt().run(scene.root(), words);
    answer.success();
}

/// The commit is sealed while there is room.
fn seal(scene: &Scene) {
    scene.create(&["first", "--backend", "overlay"]);
    scene.fwt().run(scene.root(), ["rm", "first"]).success();
}

#[test]
fn case_b47_no_room_to_seal_the_first_commit() {
    for words in [&["create", "t", "--backend", "overlay"][..], &["seal", "--backend", "overlay"]] {
        let Some((scene, room)) = scene() else { return };
        scene.source.write("big", noise());
        scene.source.commit("big");
        scene.source.settle();
        check(&scene, &room, words);
        if words[0] == "create" {
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
        }
        scene.assert_nothing("at the end");
    }
}

#[test]
fn case_b47_no_room_for_what_is_carried() {
    let Some((scene, room)) = scene() else { return };
    seal(&scene);
    scene.source.write("untracked", noise());
    for mode in ["linked", "standalone"] {
        let words = ["create", "t", "--backend", "overlay", "--carry", "dirty", "--mode", mode];
        check(&scene, &room, &words);
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing(mode);
    }
}

#[test]
fn case_b47_no_room_to_seal_an_ignored_directory() {
    let Some((scene, room)) = scene() else { return };
    seal(&scene);
    for number in 0..80 {
        scene.source.write(format!("target/{number}"), vec![7; 1000]);
    }
    scene.source.write("target/big", noise());
    check(&scene, &room, &["create", "t", "--backend", "overlay", "--carry", "all"]);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}
