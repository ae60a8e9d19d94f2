//! SIGINT and SIGTERM at any call of `create` and of `rm`.

use std::cell::Cell;

use fwt_tests::{Answer, Fwt};

use super::faults::{at_some_calls, count, run};
use crate::leftovers::id_of;
use crate::scene::{Scene, State};
use crate::ways::Way;

/// Numbers and the exit codes that a shell reports of them.
const SIGNALS: [(i32, i32); 2] = [(2, 130), (15, 143)];

/// Calls that meet a signal. Each way begins with another one, so that what they have in common is met
/// everywhere.
const MOST: u64 = 25;

struct Trial {
    scene: Scene,
    faulty: Fwt,
    before: State,
    way: Way,
    /// How many were interrupted in time.
    hits: Cell<usize>,
}

impl Trial {
    fn new(way: Way) -> Option<Self> {
        let scene = way.scene()?;
        let (faulty, before) = (scene.sandbox.fwt_with_faults(), scene.state());
        Some(Self { scene, faulty, before, way, hits: Cell::new(0) })
    }

    /// Runs it with a signal at the call; says whether it was interrupted.
    fn interrupted(&self, words: &[&str], nth: u64) -> (Answer, bool) {
        let (number, exit) = SIGNALS[usize::try_from(nth / 2).expect("it is small") % 2];
        let answer = run(&self.faulty, self.scene.root(), words, &format!("signal:{nth}:{number}"));
        match answer.code {
            // It came too late to stop anything, or before there was anything to clean up.
            Some(0) | None => (answer, false),
            Some(_) => {
                answer.failure(exit, "interrupted");
                self.hits.set(self.hits.get() + 1);
                (answer, true)
            }
        }
    }

    fn calls_of_create(&self) -> u64 {
        let calls = count(&self.faulty, self.scene.root(), &self.way.arguments());
        self.clear("after the count");
        calls
    }

    fn create(&self, nth: u64) {
        let when = format!("{:?} interrupted at call {nth}", self.way);
        let (answer, is_interrupted) = self.interrupted(&self.way.arguments(), nth);
        self.before.assert_unchanged(&when);
        if answer.code == Some(0) {
            self.check(&when);
            return self.clear(&when);
        }
        self.assert_nothing(&when);
        assert!(is_interrupted || answer.code.is_none(), "{when}: {answer}");
    }

    fn calls_of_rm(&self) -> u64 {
        self.scene.fwt().run(self.scene.root(), self.way.arguments()).success();
        let calls = count(&self.faulty, self.scene.root(), &["rm", "t"]);
        self.delete_branch();
        self.assert_nothing("after the count");
        calls
    }

    /// The tree is gone, or whole and held; nothing is between.
    fn rm(&self, nth: u64) {
        let when = format!("rm of {:?} interrupted at call {nth}", self.way);
        self.scene.fwt().run(self.scene.root(), self.way.arguments()).success();
        let (answer, _) = self.interrupted(&["rm", "t"], nth);
        self.before.assert_unchanged(&when);
        if !self.scene.fwt().list_all(self.scene.root()).is_empty() {
            assert_ne!(answer.code, Some(0), "{when}: {answer}");
            self.check(&when);
            self.scene.fwt().run(self.scene.root(), ["rm", "t"]).success();
        }
        self.delete_branch();
        self.assert_nothing(&when);
    }

    fn check(&self, when: &str) {
        let held = self.scene.fwt().run(self.scene.root(), ["show", "t"]).success();
        assert_eq!(held["state"], "held", "{when}");
        let tree = self.scene.sandbox.existing(held["path"].as_str().expect("a path"));
        self.way.assert_whole(&self.scene, &tree, when);
        if self.way.is_linked() {
            self.scene.assert_only(&[&id_of(&held)], when);
        }
    }

    fn clear(&self, when: &str) {
        self.scene.fwt().run(self.scene.root(), ["rm", "t"]).success();
        self.delete_branch();
        self.assert_nothing(when);
    }

    fn delete_branch(&self) {
        if let Some(branch) = self.way.branch.filter(|_| self.way.is_linked()) {
            self.scene.source.git(["branch", "--quiet", "-D", branch]);
        }
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

fn create_interrupted(first: u64, way: Way) {
    let meet = |trial: &Trial, nth: u64| trial.create(nth);
    at_some_calls((first, MOST), || Trial::new(way), Trial::calls_of_create, meet);
}

fn rm_interrupted(first: u64, way: Way) {
    let meet = |trial: &Trial, nth: u64| trial.rm(nth);
    at_some_calls((first, MOST), || Trial::new(way), Trial::calls_of_rm, meet);
}

#[test]
fn case_b15_a_signal_while_a_commit_is_copied() {
    create_interrupted(1, Way::new("clean", "linked", "copy").on_branch("made"));
}

#[test]
fn case_b15_a_signal_while_git_checks_out() {
    create_interrupted(2, Way::new("clean", "linked", "checkout").at("../there/deep/t"));
}

#[test]
fn case_b15_a_signal_while_everything_is_carried() {
    create_interrupted(3, Way::new("all", "linked", "copy").on_branch("made"));
}

#[test]
fn case_b15_a_signal_while_bytes_are_shared() {
    create_interrupted(1, Way::new("dirty", "linked", "reflink"));
}

#[test]
fn case_b15_a_signal_while_a_repository_is_made() {
    let way = Way::new("dirty", "standalone", "copy");
    create_interrupted(2, way.on_branch("made").at("../there/t"));
}

#[test]
fn case_b32_a_signal_while_a_tree_is_removed() {
    rm_interrupted(1, Way::new("clean", "linked", "copy"));
}

#[test]
fn case_b32_a_signal_while_carried_work_is_removed() {
    rm_interrupted(2, Way::new("all", "linked", "copy").on_branch("made"));
}

#[test]
fn case_b32_a_signal_while_a_repository_is_removed() {
    rm_interrupted(3, Way::new("dirty", "standalone", "copy").at("../there/t"));
}

#[test]
fn case_b15_a_signal_while_work_is_carried_over_a_sealed_tree() {
    create_interrupted(1, Way::new("dirty", "linked", "overlay").on_branch("made"));
}

#[test]
fn case_b15_a_signal_while_everything_is_carried_into_a_snapshot() {
    create_interrupted(2, Way::new("all", "standalone", "btrfs"));
}

#[test]
fn case_b32_a_signal_while_an_overlay_is_removed() {
    rm_interrupted(1, Way::new("dirty", "linked", "overlay"));
}

#[test]
fn case_b32_a_signal_while_a_snapshot_is_removed() {
    rm_interrupted(2, Way::new("clean", "standalone", "btrfs"));
}
