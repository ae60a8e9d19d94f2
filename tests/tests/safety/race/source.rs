//! The source changes while worktrees are made from it.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Filesystem, Repository, Sandbox, Snapshot};

use super::beside;
use crate::scene::Scene;

const CHANGING: usize = 50;
const STEADY: usize = 50;
const CREATES: usize = 50;

/// A source with files that will change and files that will not.
fn many_files(sandbox: Sandbox) -> Scene {
    let scene = Scene::within(sandbox);
    for number in 0..CHANGING + STEADY {
        scene.source.write(file(number), content(number, 0));
    }
    scene.source.commit("many");
    scene.source.settle();
    scene
}

fn file(number: usize) -> String {
    format!("many/{}/{number}", number % 5)
}

/// Always of the same size.
fn content(number: usize, version: usize) -> String {
    format!("{number:8} {version:8}\n").repeat(40)
}

/// Whether a change can be seen in a file's mtime.
#[derive(Clone, Copy)]
enum Times {
    Move,
    PutBack,
}

fn rewrite(source: &Repository, version: usize, times: Times) {
    for number in 0..CHANGING {
        let path = source.path(file(number));
        let before = fs::metadata(&path).and_then(|found| found.modified()).expect("it is there");
        // Every third time what was committed.
        fs::write(&path, content(number, version % 3)).expect("the source is ours");
        if let Times::PutBack = times {
            set_time(&path, before);
        }
    }
}

fn set_time(path: &Path, time: SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("it is there");
    file.set_modified(time).expect("it is ours");
}

/// No entry is clean for git whose bytes are others, and the tree is that of the commit.
fn assert_honest(tree: &Repository, reference: &Snapshot) {
    assert_eq!(assert_clean_is_clean(tree), HashSet::new(), "nothing of a clean worktree is dirty");
    let found = Snapshot::of(&tree.root);
    found.assert_same(reference, Detail::Git, "a worktree of a commit");
}

/// No entry is clean for git whose bytes are others. Returns what is dirty.
pub(super) fn assert_clean_is_clean(tree: &Repository) -> HashSet<Vec<u8>> {
    let dirty: HashSet<Vec<u8>> = names(&tree.git_bytes(["diff-files", "--name-only", "-z"]));
    let mut paths = Vec::new();
    let mut ids = Vec::new();
    for entry in tree.git(["ls-files", "--stage"]).lines() {
        let (record, path) = entry.split_once('\t').expect("git's format");
        if record.starts_with("100") && !dirty.contains(path.as_bytes()) {
            paths.push(path.to_owned());
            ids.push(record.split(' ').nth(1).expect("git's format").to_owned());
        }
    }
    assert_eq!(hashes(tree, &paths), ids, "what git calls clean is what it should be");
    dirty
}

fn names(output: &[u8]) -> HashSet<Vec<u8>> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(<[u8]>::to_vec).collect()
}

fn hashes(tree: &Repository, paths: &[String]) -> Vec<String> {
    let mut command = tree.command(["hash-object", "--no-filters", "--stdin-paths"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git runs");
    let mut input = child.stdin.take().expect("it is ours");
    let lines = paths.join("\n") + "\n";
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(lines.as_bytes()).expect("git reads it"));
        child.wait_with_output().expect("git ends")
    });
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn rewritten_meanwhile(sandbox: Sandbox, times: Times) {
    let scene = many_files(sandbox);
    let reference = scene.source.reference(&scene.sandbox.path("reference"), "HEAD");
    let reference = Snapshot::of(&reference.root);
    beside(
        |version| rewrite(&scene.source, version, times),
        || {
            for _ in 0..CREATES {
                let tree = scene.create(&["t"]);
                assert_honest(&tree, &reference);
                scene.fwt().run(scene.root(), ["rm", "t"]).success();
            }
        },
    );
}

fn in_memory() -> Sandbox {
    Filesystem::Tmpfs.directory().map_or_else(|_| Sandbox::anywhere(), |path| Sandbox::below(&path))
}

#[test]
fn case_g1_files_are_rewritten() {
    rewritten_meanwhile(in_memory(), Times::Move);
}

#[test]
fn case_g1_files_are_rewritten_and_their_times_put_back() {
    rewritten_meanwhile(in_memory(), Times::PutBack);
}

#[test]
fn case_g1_files_are_rewritten_where_bytes_are_shared() {
    let Some(sandbox) = Sandbox::on(Filesystem::Xfs) else { return };
    rewritten_meanwhile(sandbox, Times::PutBack);
}

/// What is carried is, file by file, what was there at some moment; or the create says that it could not
/// be had.
fn carried_meanwhile(sandbox: Sandbox, arguments: &[&str], times: Times) {
    let scene = many_files(sandbox);
    let words = [&["create", "t", "--carry", "dirty"], arguments].concat();
    let mut made = 0;
    beside(
        |version| rewrite(&scene.source, version, times),
        || {
            for _ in 0..CREATES {
                let answer = scene.fwt().run(scene.root(), &words);
                if answer.code != Some(0) {
                    answer.failure(1, "keeps-changing");
                    scene.assert_nothing("after a create that failed");
                    continue;
                }
                made += 1;
                let path = answer.json()["path"].as_str().expect("it is text").to_owned();
                let tree = scene.sandbox.existing(path);
                for number in 0..CHANGING + STEADY {
                    let text = fs::read_to_string(tree.path(file(number))).expect("it was carried");
                    // The writer empties a file first.
                    let is_whole = (0..3).any(|version| text == content(number, version));
                    assert!(is_whole || text.is_empty(), "{number}: {text}");
                }
                assert_clean_is_clean(&tree);
                scene.fwt().run(scene.root(), ["rm", "--discard", "t"]).success();
            }
        },
    );
    assert_ne!(made, 0, "no create ever came through");
}

#[test]
fn case_g1_carried_files_are_rewritten_and_their_times_put_back() {
    carried_meanwhile(in_memory(), &["--backend", "copy"], Times::PutBack);
}

#[test]
fn case_g1_carried_files_are_rewritten_where_bytes_are_shared() {
    let Some(sandbox) = Sandbox::on(Filesystem::Xfs) else { return };
    let words = ["--backend", "reflink", "--mode", "standalone"];
    carried_meanwhile(sandbox, &words, Times::Move);
}

/// Beside git at work in the source each worktree is that of the commit that was asked for.
fn beside_git(backends: &[&str], disturb: impl Fn(&Scene, usize) + Send + Sync) {
    const CREATES: usize = 12;
    let scene = many_files(in_memory());
    scene.source.git(["branch", "fixed"]);
    for number in 0..CHANGING {
        scene.source.write(file(number), content(number, 1));
    }
    scene.source.write("only-here", "x");
    scene.source.commit("other");
    scene.source.git(["branch", "other"]);
    let reference = scene.source.reference(&scene.sandbox.path("reference"), "fixed");
    let reference = Snapshot::of(&reference.root);
    beside(
        |round| disturb(&scene, round),
        || {
            for backend in backends.iter().cycle().take(CREATES) {
                let tree = scene.create(&["t", "--rev", "fixed", "--backend", backend]);
                assert_honest(&tree, &reference);
                scene.fwt().run(scene.root(), ["rm", "t"]).success();
            }
        },
    );
    scene.source.git(["worktree", "remove", "--force", "../reference"]);
    scene.source.git(["checkout", "--quiet", "--force", "main"]);
    scene.assert_nothing("at the end");
    scene.assert_sound();
}

#[test]
fn case_g1_beside_commits() {
    beside_git(&["copy", "checkout"], |scene, round| {
        scene.source.write(file(round % CHANGING), content(1, round + 2));
        scene.source.git(["commit", "--quiet", "--all", "--allow-empty", "--message", "more"]);
    });
}

#[test]
fn case_g1_beside_checkouts() {
    beside_git(&["copy", "checkout"], |scene, round| {
        let branch = if round % 2 == 0 { "fixed" } else { "other" };
        scene.source.git(["checkout", "--quiet", branch]);
    });
}

#[test]
fn case_g1_beside_housekeeping() {
    beside_git(&["copy", "checkout"], |scene, _| {
        let words = ["-c", "gc.worktreePruneExpire=now", "gc", "--quiet", "--prune=now"];
        // git itself fails if a worktree it has seen is removed before it has looked into it.
        drop(scene.source.command(words).output().expect("git runs"));
    });
}
