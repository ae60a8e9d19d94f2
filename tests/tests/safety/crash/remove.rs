//! `rm` that is killed, or that fails, at any call.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use fwt_tests::environment::write_script;
use fwt_tests::snapshot::Detail;
use fwt_tests::{Answer, Fwt, Repository, Snapshot};

use super::faults::{at_each_call, count, run};
use crate::leftovers::id_of;
use crate::scene::{Scene, State};

struct Trial {
    scene: Scene,
    faulty: Fwt,
    before: State,
    /// Another worktree, which must not lose anything.
    other: Repository,
    other_id: String,
    other_files: Snapshot,
}

impl Trial {
    fn new() -> Self {
        let scene = Scene::in_memory();
        let made = scene.fwt().create(scene.root(), &["other"]);
        let other = scene.sandbox.existing(made.path());
        other.write("work", "of somebody");
        Self {
            faulty: scene.sandbox.fwt_with_faults(),
            before: scene.state(),
            other_files: Snapshot::of(&other.root),
            other,
            other_id: made.id().to_owned(),
            scene,
        }
    }

    /// The worktree to be removed; returns its place and its id.
    fn make(&self) -> (Repository, String) {
        self.make_with(&["t"])
    }

    /// The same as a directory like any other, about which git is asked while it is aside.
    fn make_directory(&self) -> (Repository, String) {
        self.make_with(&["t", "--backend", "copy"])
    }

    fn make_with(&self, arguments: &[&str]) -> (Repository, String) {
        let made = self.scene.fwt().create(self.scene.root(), arguments);
        (self.scene.sandbox.existing(made.path()), made.id().to_owned())
    }

    /// Removes it with a fault.
    fn rm(&self, fault: &str) -> Answer {
        run(&self.faulty, self.scene.root(), &["rm", "t"], fault)
    }

    fn assert_whole_if_held(&self, tree: &Repository, id: &str, when: &str) {
        let rows = self.scene.fwt().list_all(self.scene.root());
        if rows.iter().any(|row| row["id"] == id && row["state"] == "held") {
            assert_eq!(tree.git(["status", "--porcelain"]), "", "{when}");
            self.assert_others_whole(&[id], when);
        }
    }

    fn assert_others_whole(&self, ids: &[&str], when: &str) {
        let mut ids = ids.to_vec();
        ids.push(&self.other_id);
        self.scene.assert_only(&ids, when);
        Snapshot::of(&self.other.root).assert_same(&self.other_files, Detail::Full, when);
        self.before.assert_unchanged(when);
    }
}

/// Kills or fails the removal at each call.
fn at_each_call_of_rm(meet: impl Fn(&Trial, u64) + Sync) {
    at_each_call_of_rm_of(Trial::make, meet);
}

fn at_each_call_of_rm_of<T>(make: impl Fn(&Trial) -> T + Sync, meet: impl Fn(&Trial, u64) + Sync) {
    let calls = |trial: &Trial| {
        make(trial);
        count(&trial.faulty, trial.scene.root(), &["rm", "t"])
    };
    at_each_call(|| Some(Trial::new()), calls, meet);
}

/// After a kill the tree is whole and held, or somebody's next `rm` ends it.
#[test]
fn case_b32_a_killed_removal_is_finished_by_the_next() {
    at_each_call_of_rm(|trial, nth| {
        let when = format!("rm killed at call {nth}");
        let (root, fwt) = (trial.scene.root(), trial.scene.fwt());
        let (tree, id) = trial.make();
        let first = trial.rm(&format!("abort:{nth}"));
        assert!(matches!(first.code, None | Some(0)), "{when}: {first}");
        trial.assert_whole_if_held(&tree, &id, &when);
        let second = fwt.run(root, ["rm", "t"]);
        if first.code == Some(0) || second.code == Some(3) {
            // It was killed with nothing but the answer still to give.
            second.failure(3, "no-such-worktree");
        } else {
            assert_eq!(second.code, Some(0), "{when}: {second}");
        }
        trial.assert_others_whole(&[], &when);
    });
}

/// And a `create` of the same name has it at once, unless the tree is whole and held.
#[test]
fn case_b32_the_name_of_a_killed_removal_is_usable() {
    at_each_call_of_rm(|trial, nth| {
        let when = format!("rm killed at call {nth}");
        let (root, fwt) = (trial.scene.root(), trial.scene.fwt());
        let (tree, id) = trial.make();
        trial.rm(&format!("abort:{nth}"));
        let made = fwt.run(root, ["create", "t"]);
        let id = if made.code == Some(4) {
            assert_eq!(tree.git(["status", "--porcelain"]), "", "{when}");
            id
        } else {
            assert_eq!(made.code, Some(0), "{when}: {made}");
            id_of(&made.json())
        };
        trial.assert_others_whole(&[&id], &when);
        fwt.run(root, ["rm", "t"]).success();
        trial.assert_others_whole(&[], &when);
    });
}

/// Work that comes while the tree is being judged aside is found by the second look; and if that is
/// cut short, by the next `rm`, which first puts the tree back.
#[test]
fn case_b32_work_survives_a_killed_removal() {
    at_each_call_of_rm_of(Trial::make_directory, |trial, nth| {
        let when = format!("rm killed at call {nth}");
        let (root, fwt) = (trial.scene.root(), trial.scene.fwt());
        let (tree, id) = trial.make_directory();
        let writer = GitThatWrites::new(&trial.scene, &id);
        let mut command = trial.faulty.command(root, ["rm", "t", "--json"]);
        command.env("FWT_FAULTS", format!("abort:{nth}")).env("PATH", &writer.path);
        let first = Answer::of(&mut command);
        let written = writer.has_written();
        match first.code {
            None if !written => drop(fwt.run(root, ["rm", "t"]).success()),
            None | Some(4) => {
                fwt.run(root, ["rm", "t"]).failure(4, "unsaved-work");
                assert_eq!(fs::read(tree.path("new")).expect("it is there"), b"work\n", "{when}");
                fwt.run(root, ["rm", "t", "--discard"]).success();
            }
            _ => panic!("{when}: {first}"),
        }
        trial.assert_others_whole(&[], &when);
    });
}

/// A git that writes a file into the tree it is asked about, once, when that was moved aside.
struct GitThatWrites {
    path: OsString,
    note: PathBuf,
}

impl GitThatWrites {
    fn new(scene: &Scene, id: &str) -> Self {
        let bin = scene.sandbox.path(format!("bin-{id}"));
        fs::create_dir(&bin).expect("the sandbox is ours");
        let note = bin.join("written");
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let script = format!(
            "#!/bin/sh\n\
             PATH='{}'\n\
             case \"$GIT_WORK_TREE\" in *.fwt-trash-*)\n\
             test -e '{note}' || {{ echo work >\"$GIT_WORK_TREE/new\"; : >'{note}'; }};;\n\
             esac\n\
             exec git \"$@\"\n",
            rest.display(),
            note = note.display(),
        );
        write_script(&bin.join("git"), &script);
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(rest);
        Self { path, note }
    }

    fn has_written(&self) -> bool {
        self.note.exists()
    }
}

#[test]
fn a_failing_removal_keeps_the_tree_or_is_finished_by_the_next() {
    at_each_call_of_rm(|trial, nth| {
        let when = format!("EIO at call {nth} of rm");
        let (root, fwt) = (trial.scene.root(), trial.scene.fwt());
        let (tree, id) = trial.make();
        let first = trial.rm(&format!("fail:{nth}:5"));
        if first.code != Some(0) {
            // A file that cannot be read is, for all that is known, not what it should be.
            assert!(matches!(first.code, Some(1 | 4)), "{when}: {first}");
            trial.assert_whole_if_held(&tree, &id, &when);
            let second = fwt.run(root, ["rm", "t"]);
            assert_eq!(second.code, Some(0), "{when}: {second}");
        }
        trial.assert_others_whole(&[], &when);
    });
}

#[test]
fn nothing_is_left_of_the_last() {
    let trial = Trial::new();
    trial.scene.fwt().run(trial.scene.root(), ["rm", "other", "--discard"]).success();
    trial.scene.assert_nothing("at the end");
    trial.scene.assert_sound();
}
