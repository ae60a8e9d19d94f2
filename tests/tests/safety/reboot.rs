//! Nothing is mounted any more, as after a reboot: every overlay comes back with all that was in it, whatever it
//! carried and wherever it is, and git need not look into any file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fs_sys::Unmount;
use fwt_tests::environment::succeed;
use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::scene::Scene;
use crate::sealed::overlay_scenes;
use crate::ways::{Way, spoil};

const WAYS: [Way; 5] = [
    Way::new("clean", "linked", "overlay").on_branch("made/clean"),
    Way::new("dirty", "linked", "overlay"),
    Way::new("all", "linked", "overlay").at("../else where,a:b\\c/t"),
    Way::new("dirty", "standalone", "overlay"),
    Way::new("all", "standalone", "overlay"),
];

/// A source with work in it, and an ignored directory that is large enough to be shared.
fn fill(scene: &Scene) {
    spoil(&scene.source);
    for number in 0..80 {
        scene.source.write(format!("target/deep/{}/{number}", number % 7), format!("{number}\n"));
    }
}

/// Work of every sort: tracked and ignored files, a renamed directory, a file with two names.
fn work_in(tree: &Repository) {
    tree.write("dir/new", "new\n");
    fs::rename(tree.path("dir"), tree.path("renamed")).expect("it is ours");
    fs::remove_file(tree.path("link")).expect("it is there");
    fs::hard_link(tree.path("file"), tree.path("again")).expect("it is ours");
    tree.write("file", "work\n");
    if tree.path("target/deep").exists() {
        fs::rename(tree.path("target/deep"), tree.path("target/moved")).expect("it is ours");
        tree.write("target/moved/0/0", "work\n");
    }
}

/// All trees, what is in them, and what git says of them; at least one stays untouched.
fn make(scene: &Scene) -> BTreeMap<String, (PathBuf, Snapshot, String)> {
    let mut all = BTreeMap::new();
    for (number, way) in WAYS.iter().enumerate() {
        for is_worked_in in [false, true] {
            // A place and a branch are given once.
            if !is_worked_in && (way.at.is_some() || way.branch.is_some()) {
                continue;
            }
            let name = format!("t{number}-{is_worked_in}");
            let made = scene.fwt().create(scene.root(), &way.arguments_for(&name)[1..]);
            let tree = scene.sandbox.existing(made.path());
            if is_worked_in {
                work_in(&tree);
            }
            all.insert(name, (made.path(), Snapshot::of(&tree.root), told(&tree)));
        }
    }
    all
}

fn told(tree: &Repository) -> String {
    // First what the index says without any look into a file.
    let changed = tree.git(["--no-optional-locks", "diff-files", "--name-only"]);
    let status = tree.git(["--no-optional-locks", "status", "--porcelain", "--branch"]);
    format!("{changed}\n{status}")
}

fn unmount_all(trees: impl Iterator<Item = PathBuf>) {
    for path in trees {
        fs_sys::unmount(&path, Unmount::Now).expect("nobody is in it");
        assert_eq!(fs::read_dir(&path).expect("the place stays").count(), 0);
        fs::write(path.join("lost"), "lost").expect_err("nothing is written beneath a mount");
    }
}

#[track_caller]
fn check(scene: &Scene, trees: &BTreeMap<String, (PathBuf, Snapshot, String)>, what: &str) {
    for (name, (path, files, said)) in trees {
        let tree = scene.sandbox.existing(path);
        assert_eq!(told(&tree), *said, "{name} {what}");
        let when = format!("{name} {what}");
        Snapshot::of(path).assert_same(files, Detail::Full, &when);
    }
}

#[test]
fn every_way_comes_back_as_it_was() {
    for scene in overlay_scenes() {
        fill(&scene);
        let trees = make(&scene);
        let paths = || trees.values().map(|(path, ..)| path.clone());
        unmount_all(paths());
        let rows = scene.fwt().list_all(scene.root());
        assert!(rows.iter().all(|row| row["state"] == "missing"), "{rows:?}");
        scene.fwt().run(scene.root(), ["attach"]).success();
        check(&scene, &trees, "after a reboot");
        // The store was put back from a copy: other inodes, the same bytes.
        unmount_all(paths());
        copy_store(&scene);
        scene.fwt().run(scene.root(), ["attach"]).success();
        for (name, (path, files, _)) in &trees {
            Snapshot::of(path).assert_same(files, Detail::Full, &format!("{name} in a copy"));
        }
        for name in trees.keys() {
            scene.fwt().run(scene.root(), ["rm", name, "--discard"]).success();
        }
        fs::remove_dir(scene.sandbox.path("else where,a:b\\c")).expect("it is empty");
        scene.source.git(["branch", "--quiet", "-D", "made/clean"]);
        scene.assert_nothing("at the end");
    }
}

/// Puts a copy in the place of the state, as from a backup.
fn copy_store(scene: &Scene) {
    let (state, copy) = (scene.sandbox.state(), scene.sandbox.path("copy"));
    succeed(scene.sandbox.command("cp").arg("-a").args([&state, &copy]));
    // Mount points are protected from being written to.
    let open = |path: &Path| {
        let dir = fs_sys::open_dir(path).expect("it is there");
        drop(fs_sys::set_immutable(&dir, fs_sys::Immutable::No));
    };
    for repository in fs::read_dir(state.join("worktrees")).expect("it is there") {
        for tree in fs::read_dir(repository.expect("ours").path()).expect("it is there") {
            open(&tree.expect("ours").path());
        }
    }
    fs::remove_dir_all(&state).expect("it is ours");
    fs::rename(copy, state).expect("it is ours");
}
