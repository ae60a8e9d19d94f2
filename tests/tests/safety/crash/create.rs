//! `create` that is killed, or that fails, at any call.

use fwt_tests::Fwt;

use super::faults::{at_each_call, count, run, stage};
use crate::leftovers::id_of;
use crate::scene::{Scene, State};

struct Trial {
    scene: Scene,
    faulty: Fwt,
    before: State,
    backend: &'static str,
}

impl Trial {
    fn new(backend: &'static str) -> Option<Self> {
        let scene = stage(backend)?;
        let (faulty, before) = (scene.sandbox.fwt_with_faults(), scene.state());
        Some(Self { scene, faulty, before, backend })
    }

    fn arguments(&self) -> [&str; 6] {
        ["create", "t", "--branch", "made", "--backend", self.backend]
    }

    fn calls(&self) -> u64 {
        let calls = count(&self.faulty, self.scene.root(), &self.arguments());
        self.clear("after the count");
        calls
    }

    /// What a second create of the same name makes, after the first was killed. It may have been
    /// killed when all was done and only the answer was missing: then there is a worktree of the name.
    fn create_again(&self, when: &str) {
        let second = self.scene.fwt().run(self.scene.root(), self.arguments());
        if second.code == Some(0) {
            return self.check(&id_of(&second.json()), when);
        }
        second.failure(4, "branch-exists");
        let held = self.scene.fwt().run(self.scene.root(), ["show", "t"]).success();
        assert_eq!(held["state"], "held", "{when}: {second}");
        self.check(&id_of(&held), when);
    }

    fn check(&self, id: &str, when: &str) {
        let rows = self.scene.assert_only(&[id], when);
        let tree = self.scene.sandbox.existing(rows[0]["path"].as_str().expect("a path"));
        let status = tree.git(["status", "--porcelain=v2", "--branch"]);
        let commit = self.scene.source.commit_of("HEAD");
        assert_eq!(status, format!("# branch.oid {commit}\n# branch.head made"), "{when}");
        self.before.assert_unchanged(when);
    }

    /// Takes the worktree and its branch away.
    fn clear(&self, when: &str) {
        self.scene.fwt().run(self.scene.root(), ["rm", "t"]).success();
        self.scene.source.git(["branch", "--quiet", "-D", "made"]);
        self.scene.assert_nothing(when);
        self.before.assert_unchanged(when);
    }

    fn assert_rolled_back(&self, when: &str) {
        self.scene.assert_nothing(when);
        let branches = self.scene.common_dir.join("refs/heads");
        assert!(!branches.join("made").exists(), "{when}: the branch is left");
        self.before.assert_unchanged(when);
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.scene.assert_sound();
        }
    }
}

fn killed_at_every_call(backend: &'static str) {
    at_each_call(
        || Trial::new(backend),
        Trial::calls,
        |trial, nth| {
            let when = format!("{backend}: killed at call {nth}");
            let fault = format!("abort:{nth}");
            let first = run(&trial.faulty, trial.scene.root(), &trial.arguments(), &fault);
            assert!(matches!(first.code, None | Some(0)), "{when}: {first}");
            trial.before.assert_unchanged(&when);
            trial.create_again(&when);
            trial.clear(&when);
        },
    );
}

/// Each call fails for one of these reasons, with this exit code where the call matters. Backends
/// begin with another one each, and have most of their calls in common.
const ERRORS: [(i32, i32); 3] = [(28, 6), (24, 6), (5, 1)];

fn failing_at_every_call(backend: &'static str, first: u64) {
    at_each_call(
        || Trial::new(backend),
        Trial::calls,
        |trial, nth| {
            let turn = usize::try_from(first + nth).expect("it is small");
            let (errno, exit) = ERRORS[turn % ERRORS.len()];
            let when = format!("{backend}: errno {errno} at call {nth}");
            let fault = format!("fail:{nth}:{errno}");
            let answer = run(&trial.faulty, trial.scene.root(), &trial.arguments(), &fault);
            match answer.code {
                Some(0) => {
                    trial.check(&id_of(&answer.json()), &when);
                    trial.clear(&when);
                }
                Some(code) if code == exit => trial.assert_rolled_back(&when),
                _ => panic!("{when}: {answer}"),
            }
        },
    );
}

#[test]
fn case_b15_killed_copy_leaves_nothing_in_the_way() {
    killed_at_every_call("copy");
}

#[test]
fn case_b15_killed_checkout_leaves_nothing_in_the_way() {
    killed_at_every_call("checkout");
}

#[test]
fn case_b15_killed_reflink_leaves_nothing_in_the_way() {
    killed_at_every_call("reflink");
}

#[test]
fn case_b47_failing_copy_is_rolled_back() {
    failing_at_every_call("copy", 0);
}

#[test]
fn case_b47_failing_checkout_is_rolled_back() {
    failing_at_every_call("checkout", 1);
}

#[test]
fn case_b47_failing_reflink_is_rolled_back() {
    failing_at_every_call("reflink", 2);
}
