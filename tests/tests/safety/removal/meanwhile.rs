//! Somebody works in a tree while it is being removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::scene::Scene;

const ROUNDS: usize = 12;

/// Writes new files by their paths until it is told to stop; returns those that were written whole.
fn write_on(tree: &Path, stop: &AtomicBool) -> BTreeSet<String> {
    let mut written = BTreeSet::new();
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("new-{number}");
        if fs::write(tree.join(&name), &name).is_ok() {
            written.insert(name);
        }
    }
    written
}

/// Either the removal was refused and the tree is back with every byte, or it was done before the
/// first of them was written. What root writes to a mount point in the moment before that goes stays there.
#[test]
fn case_b25_files_that_are_written_meanwhile() {
    let scene = Scene::in_memory();
    for round in 0..ROUNDS {
        let tree = scene.create(&["t"]);
        let (stop, begin) = (AtomicBool::new(false), AtomicBool::new(false));
        let (answer, written) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                while !begin.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                // A little later each time.
                std::thread::sleep(std::time::Duration::from_millis(2 * round as u64));
                write_on(&tree.root, &stop)
            });
            begin.store(true, Ordering::SeqCst);
            let answer = scene.fwt().run(scene.root(), ["rm", "t"]);
            stop.store(true, Ordering::SeqCst);
            (answer, writer.join().expect("the writer ends"))
        });
        if answer.code == Some(0) {
            for name in &written {
                let bytes = fs::read(tree.path(name)).expect("it was written");
                assert_eq!(bytes, name.as_bytes());
            }
            if !written.is_empty() {
                fs::remove_dir_all(&tree.root).expect("nothing else is in it");
            }
        } else {
            answer.failure(4, "unsaved-work");
            for name in &written {
                let bytes = fs::read(tree.path(name)).expect("it was written");
                assert_eq!(bytes, name.as_bytes());
            }
            scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
        }
        scene.assert_nothing("at the end of a round");
    }
}

/// Something has taken the tree's place when it is to be put back: the message says where it is, and
/// the next removal finds it there.
#[test]
fn case_b25_a_place_that_is_taken_when_the_tree_comes_back() {
    let scene = Scene::anywhere();
    let tree = scene.create_directory(&["t"]);
    let bin = scene.sandbox.path("bin");
    fs::create_dir(&bin).expect("the sandbox is ours");
    let rest = std::env::var("PATH").expect("there is one");
    let script = format!(
        "#!/bin/sh\nPATH='{rest}'\ncase \"$GIT_WORK_TREE\" in *.fwt-trash-*)\n\
         mkdir -p '{0}'; echo new >'{0}/new'; echo work >\"$GIT_WORK_TREE/work\";;\nesac\n\
         exec git \"$@\"\n",
        tree.root.display()
    );
    fwt_tests::environment::write_script(&bin.join("git"), &script);
    let mut command = scene.fwt().command(scene.root(), ["rm", "t", "--json"]);
    command.env("PATH", format!("{}:{rest}", bin.display()));
    let answer = fwt_tests::Answer::of(&mut command);
    let error = answer.failure(4, "not-ours");
    let message = error["message"].as_str().expect("it is text");
    let trash = message.rsplit(' ').next().expect("it ends with the path");
    assert_eq!(fs::read(Path::new(trash).join("work")).expect("it is there"), b"work\n");
    for words in [&["rm", "t"][..], &["rm", "t", "--discard"]] {
        scene.fwt().run(scene.root(), words).failure(4, "not-ours");
    }
    assert_eq!(fs::read(tree.path("new")).expect("it stays"), b"new\n");
    fs::remove_dir_all(&tree.root).expect("it is ours");
    scene.fwt().run(scene.root(), ["rm", "t"]).failure(4, "unsaved-work");
    assert_eq!(fs::read(tree.path("work")).expect("it is back"), b"work\n");
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    scene.assert_nothing("at the end");
}

/// Of many who remove the same tree one does it.
#[test]
fn many_removals_at_once() {
    let scene = Scene::in_memory();
    for _ in 0..3 {
        scene.create(&["t"]);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let remove = || scene.fwt().run(scene.root(), ["rm", "t"]);
            let all: Vec<_> = (0..8).map(|_| scope.spawn(remove)).collect();
            all.into_iter().map(|one| one.join().expect("it ends")).collect()
        });
        assert_eq!(answers.iter().filter(|answer| answer.code == Some(0)).count(), 1);
        for answer in answers.iter().filter(|answer| answer.code != Some(0)) {
            let code = answer.json()["error"]["code"].as_str().expect("text").to_owned();
            let is_known = ["wrong-state", "no-such-worktree"].contains(&&*code);
            assert!(is_known, "{answer}");
        }
        scene.assert_nothing("at the end of a round");
    }
}
