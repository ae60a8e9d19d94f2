//! `create` in each of its ways, killed at any call: the doctor names what is left and takes it away.

use std::cell::Cell;

use fwt_tests::Fwt;
use serde_json::Value;

use super::faults::{at_some_calls, count, run};
use crate::leftovers::id_of;
use crate::scene::{Scene, State};
use crate::ways::Way;

struct Trial {
    scene: Scene,
    faulty: Fwt,
    before: State,
    way: Way,
    /// How many were killed, and of how many the doctor was asked and has seen something: a trial that
    /// never leaves anything is noticed.
    killed: Cell<usize>,
    seen: Cell<usize>,
}

/// What the doctor says is out of order.
pub(super) fn debris(fwt: &Fwt, scene: &Scene, more: &[&str]) -> Vec<Value> {
    let words = [&["doctor"], more].concat();
    let answer = fwt.run(scene.root(), words).success();
    answer["debris"].as_array().expect("it is a list").clone()
}

impl Trial {
    fn new(way: Way) -> Option<Self> {
        let scene = way.scene()?;
        let (faulty, before) = (scene.sandbox.fwt_with_faults(), scene.state());
        Some(Self { scene, faulty, before, way, killed: Cell::new(0), seen: Cell::new(0) })
    }

    fn calls(&self) -> u64 {
        let calls = count(&self.faulty, self.scene.root(), &self.way.arguments());
        self.clear("after the count");
        calls
    }

    fn kill(&self, nth: u64) {
        let when = format!("{:?} killed at call {nth}", self.way);
        let fault = format!("abort:{nth}");
        let first = run(&self.faulty, self.scene.root(), &self.way.arguments(), &fault);
        assert!(matches!(first.code, None | Some(0)), "{when}: {first}");
        self.before.assert_unchanged(&when);
        if self.is_held() {
            return self.check_and_clear(&when);
        }
        self.killed.set(self.killed.get() + 1);
        if self.killed.get().is_multiple_of(2) {
            self.repair(&when);
        }
        // With or without the doctor: the name, the branch and the place are free.
        let second = self.scene.fwt().run(self.scene.root(), self.way.arguments());
        assert_eq!(second.code, Some(0), "{when}: {second}");
        self.check_and_clear(&when);
    }

    /// It was killed when all was done and only the answer was missing.
    fn is_held(&self) -> bool {
        let rows = self.scene.fwt().list_all(self.scene.root());
        rows.iter().any(|row| row["state"] == "held")
    }

    fn repair(&self, when: &str) {
        let fwt = self.scene.fwt();
        let rows = fwt.list_all(self.scene.root());
        let named = debris(&fwt, &self.scene, &[]);
        let ids = |list: &[Value]| list.iter().map(id_of).collect::<Vec<_>>();
        assert_eq!(ids(&named), ids(&rows), "{when}: what the doctor names");
        self.seen.set(self.seen.get() + named.len());
        assert!(named.iter().all(|one| one["kind"] == "half-made"), "{when}: {named:?}");
        assert!(named.iter().all(|one| one["is_repaired"] == false), "{when}: {named:?}");
        // Naming it changes nothing.
        assert_eq!(debris(&fwt, &self.scene, &[]), named, "{when}");
        let repaired = debris(&fwt, &self.scene, &["--fix"]);
        assert!(repaired.iter().all(|one| one["is_repaired"] == true), "{when}: {repaired:?}");
        assert_eq!(debris(&fwt, &self.scene, &[]), Vec::<Value>::new(), "{when}");
        self.assert_nothing(when);
    }

    fn check_and_clear(&self, when: &str) {
        let held = self.scene.fwt().run(self.scene.root(), ["show", "t"]).success();
        let tree = self.scene.sandbox.existing(held["path"].as_str().expect("a path"));
        self.way.assert_whole(&self.scene, &tree, when);
        if self.way.is_linked() {
            self.scene.assert_only(&[&id_of(&held)], when);
        }
        self.before.assert_unchanged(when);
        self.clear(when);
    }

    fn clear(&self, when: &str) {
        self.scene.fwt().run(self.scene.root(), ["rm", "t"]).success();
        if let Some(branch) = self.way.branch.filter(|_| self.way.is_linked()) {
            self.scene.source.git(["branch", "--quiet", "-D", branch]);
        }
        self.assert_nothing(when);
    }

    fn assert_nothing(&self, when: &str) {
        self.scene.assert_nothing(when);
        if let Some(branch) = self.way.branch {
            let branches = self.scene.common_dir.join("refs/heads");
            assert!(!branches.join(branch).exists(), "{when}: the branch is left");
        }
        self.before.assert_unchanged(when);
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_ne!(self.seen.get(), 0, "{:?}: nothing was ever left", self.way);
            self.scene.assert_sound();
        }
    }
}

/// Of these ways each begins with another call, so that what they have in common is met everywhere.
fn killed(first: u64, way: Way) {
    const MOST: u64 = 35;
    at_some_calls((first, MOST), || Trial::new(way), Trial::calls, Trial::kill);
}

#[test]
fn case_b32_killed_with_work_carried() {
    killed(1, Way::new("dirty", "linked", "copy").on_branch("made"));
}

#[test]
fn case_b32_killed_with_everything_carried_to_a_place() {
    killed(2, Way::new("all", "linked", "copy").at("../there/deep/t"));
}

#[test]
fn case_b32_killed_with_bytes_shared_and_carried() {
    killed(3, Way::new("all", "linked", "reflink"));
}

#[test]
fn case_b32_killed_with_a_repository_of_its_own() {
    killed(4, Way::new("clean", "standalone", "checkout").on_branch("made"));
}

#[test]
fn case_b32_killed_with_a_repository_of_its_own_and_work_carried() {
    killed(5, Way::new("dirty", "standalone", "copy").at("../there/t"));
}

#[test]
fn case_b32_killed_over_a_sealed_tree() {
    killed(1, Way::new("clean", "linked", "overlay").on_branch("made"));
}

#[test]
fn case_b32_killed_over_a_sealed_tree_with_a_repository_of_its_own() {
    killed(3, Way::new("clean", "standalone", "overlay").at("../there/t"));
}

#[test]
fn case_b32_killed_with_a_snapshot() {
    killed(2, Way::new("clean", "linked", "btrfs").on_branch("made"));
}

#[test]
fn case_b32_killed_with_work_carried_over_a_sealed_tree() {
    killed(2, Way::new("dirty", "linked", "overlay").on_branch("made"));
}

#[test]
fn case_b32_killed_with_everything_carried_over_a_sealed_tree() {
    killed(4, Way::new("all", "standalone", "overlay"));
}

#[test]
fn case_b32_killed_with_everything_carried_into_a_snapshot() {
    killed(1, Way::new("all", "linked", "btrfs").at("../there/t"));
}
