//! `rm` of trees of every way, killed at any call: the doctor names what is left and finishes it.

use std::cell::Cell;

use fwt_tests::Fwt;
use serde_json::Value;

use super::faults::{at_some_calls, count, run};
use super::ways::debris;
use crate::leftovers::id_of;
use crate::scene::{Scene, State};
use crate::ways::Way;

struct Trial {
    scene: Scene,
    faulty: Fwt,
    before: State,
    way: Way,
    /// How many were killed, and how many of them the doctor has finished.
    killed: Cell<usize>,
    finished: Cell<usize>,
}

impl Trial {
    fn new(way: Way) -> Option<Self> {
        let scene = way.scene()?;
        let (faulty, before) = (scene.sandbox.fwt_with_faults(), scene.state());
        Some(Self { scene, faulty, before, way, killed: Cell::new(0), finished: Cell::new(0) })
    }

    fn make(&self) {
        self.scene.fwt().run(self.scene.root(), self.way.arguments()).success();
    }

    fn calls(&self) -> u64 {
        self.make();
        let calls = count(&self.faulty, self.scene.root(), &["rm", "t"]);
        self.assert_nothing("after the count");
        calls
    }

    fn kill(&self, nth: u64) {
        let when = format!("rm of {:?} killed at call {nth}", self.way);
        self.make();
        let first = run(&self.faulty, self.scene.root(), &["rm", "t"], &format!("abort:{nth}"));
        assert!(matches!(first.code, None | Some(0)), "{when}: {first}");
        self.before.assert_unchanged(&when);
        let rows = self.scene.fwt().list_all(self.scene.root());
        match rows.first() {
            None => {}
            // It was killed before it had begun.
            Some(row) if row["state"] == "held" => self.check_and_remove(self.way, row, &when),
            Some(row) => {
                self.killed.set(self.killed.get() + 1);
                if self.killed.get().is_multiple_of(2) {
                    self.repair(row, &when);
                } else {
                    self.make_again(&when);
                }
            }
        }
        self.assert_nothing(&when);
    }

    fn check_and_remove(&self, way: Way, row: &Value, when: &str) {
        let tree = self.scene.sandbox.existing(row["path"].as_str().expect("a path"));
        way.assert_whole(&self.scene, &tree, when);
        self.scene.fwt().run(self.scene.root(), ["rm", "t"]).success();
    }

    fn repair(&self, row: &Value, when: &str) {
        let fwt = self.scene.fwt();
        let named = debris(&fwt, &self.scene, &[]);
        let kinds: Vec<_> = named.iter().map(|one| (id_of(one), one["kind"].clone())).collect();
        assert_eq!(kinds, [(id_of(row), "half-removed".into())], "{when}");
        let repaired = debris(&fwt, &self.scene, &["--fix"]);
        assert!(repaired.iter().all(|one| one["is_repaired"] == true), "{when}: {repaired:?}");
        assert_eq!(debris(&fwt, &self.scene, &[]), Vec::<Value>::new(), "{when}");
        self.finished.set(self.finished.get() + 1);
    }

    /// The name and the place are free at once; the branch stays, as after any removal.
    fn make_again(&self, when: &str) {
        let way = Way { branch: None, ..self.way };
        let second = self.scene.fwt().run(self.scene.root(), way.arguments());
        assert_eq!(second.code, Some(0), "{when}: {second}");
        self.check_and_remove(way, &second.json(), when);
    }

    fn delete_branch(&self) {
        if let Some(branch) = self.way.branch.filter(|_| self.way.is_linked()) {
            self.scene.source.git(["branch", "--quiet", "-D", branch]);
        }
    }

    fn assert_nothing(&self, when: &str) {
        self.delete_branch();
        self.scene.assert_nothing(when);
        self.before.assert_unchanged(when);
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_ne!(self.finished.get(), 0, "{:?}: nothing was ever left", self.way);
            self.scene.assert_sound();
        }
    }
}

fn killed(first: u64, way: Way) {
    const MOST: u64 = 25;
    at_some_calls((first, MOST), || Trial::new(way), Trial::calls, Trial::kill);
}

#[test]
fn case_b32_a_killed_removal_of_carried_work() {
    killed(1, Way::new("all", "linked", "copy").on_branch("made"));
}

#[test]
fn case_b32_a_killed_removal_from_a_place() {
    killed(2, Way::new("dirty", "linked", "copy").at("../there/deep/t"));
}

#[test]
fn case_b32_a_killed_removal_of_a_repository() {
    killed(3, Way::new("dirty", "standalone", "copy").at("../there/t"));
}

#[test]
fn case_b32_a_killed_removal_of_an_overlay() {
    killed(1, Way::new("clean", "linked", "overlay").at("../there/t"));
}

#[test]
fn case_b32_a_killed_removal_of_an_overlay_with_a_repository() {
    killed(3, Way::new("clean", "standalone", "overlay"));
}

#[test]
fn case_b32_a_killed_removal_of_a_snapshot() {
    killed(2, Way::new("clean", "linked", "btrfs").on_branch("made"));
}
