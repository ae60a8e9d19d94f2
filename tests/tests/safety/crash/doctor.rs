//! `doctor --fix` that is killed at any call: the next one finishes what it began.

use fwt_tests::Fwt;
use serde_json::Value;

use super::faults::{at_some_calls, count, run};
use super::ways::debris;
use crate::scene::{Scene, State};
use crate::ways::Way;

/// Three that died: a making with its branch, one with a repository of its own, and a removal.
struct Trial {
    scene: Scene,
    faulty: Fwt,
    before: State,
    /// The call of each of the makings to be killed at.
    makings: [u64; 2],
}

const MAKINGS: [(&str, Way); 2] = [
    ("linked", Way::new("all", "linked", "copy").on_branch("made")),
    ("standalone", Way::new("dirty", "standalone", "copy").at("../there/deep/t")),
];

impl Trial {
    fn new() -> Option<Self> {
        let scene = MAKINGS[0].1.scene()?;
        let (faulty, before) = (scene.sandbox.fwt_with_faults(), scene.state());
        // The first of all makes directories that the others find.
        scene.create(&["first"]);
        scene.fwt().run(scene.root(), ["rm", "first"]).success();
        let makings = MAKINGS.map(|(name, way)| late_call(&scene, &faulty, name, way));
        Some(Self { scene, faulty, before, makings })
    }

    /// Leaves all three behind.
    fn litter(&self) {
        let root = self.scene.root();
        for ((name, way), nth) in MAKINGS.into_iter().zip(self.makings) {
            let killed = run(&self.faulty, root, &way.arguments_for(name), &format!("abort:{nth}"));
            assert_eq!(killed.code, None, "{killed}");
        }
        self.scene.fwt().create(root, &["removed"]);
        let killed = run(&self.faulty, root, &["rm", "removed"], "abort:1:remove");
        assert_eq!(killed.code, None, "{killed}");
        let left = debris(&self.scene.fwt(), &self.scene, &[]);
        assert_eq!(left.len(), 3, "{left:?}");
    }

    fn calls(&self) -> u64 {
        self.litter();
        let calls = count(&self.faulty, self.scene.root(), &["doctor", "--fix"]);
        self.assert_nothing("after the count");
        calls
    }

    fn kill(&self, nth: u64) {
        let when = format!("doctor --fix killed at call {nth}");
        self.litter();
        let first =
            run(&self.faulty, self.scene.root(), &["doctor", "--fix"], &format!("abort:{nth}"));
        assert!(matches!(first.code, None | Some(0)), "{when}: {first}");
        self.before.assert_unchanged(&when);
        let repaired = debris(&self.scene.fwt(), &self.scene, &["--fix"]);
        assert!(repaired.iter().all(|one| one["is_repaired"] == true), "{when}: {repaired:?}");
        assert_eq!(debris(&self.scene.fwt(), &self.scene, &[]), Vec::<Value>::new(), "{when}");
        self.assert_nothing(&when);
    }

    /// A removal may have been taken back before it was decided: then its tree is whole and held.
    fn assert_nothing(&self, when: &str) {
        for row in self.scene.fwt().list_all(self.scene.root()) {
            assert_eq!(
                (&row["name"], &row["state"]),
                (&"removed".into(), &"held".into()),
                "{when}"
            );
            let tree = self.scene.sandbox.existing(row["path"].as_str().expect("a path"));
            assert_eq!(tree.git(["status", "--porcelain"]), "", "{when}");
            self.scene.fwt().run(self.scene.root(), ["rm", "removed"]).success();
        }
        self.scene.assert_nothing(when);
        let branch = self.scene.common_dir.join("refs/heads/made");
        assert!(!branch.exists(), "{when}: the branch is left");
        self.before.assert_unchanged(when);
    }
}

/// A call of a making at which its tree is at its place, and not yet finished: about the last of which
/// the doctor says so.
fn late_call(scene: &Scene, faulty: &Fwt, name: &str, way: Way) -> u64 {
    let clear = || {
        scene.fwt().run(scene.root(), ["rm", name]).success();
        if let Some(branch) = way.branch {
            scene.source.git(["branch", "--quiet", "-D", branch]);
        }
    };
    let arguments = way.arguments_for(name);
    // The first of a kind asks git what the later ones remember.
    count(faulty, scene.root(), &arguments);
    clear();
    let calls = count(faulty, scene.root(), &arguments);
    clear();
    let leaves_something = |nth: &u64| {
        run(faulty, scene.root(), &arguments, &format!("abort:{nth}"));
        let is_left = !debris(&scene.fwt(), scene, &["--fix"]).is_empty();
        if !is_left {
            clear();
        }
        is_left
    };
    (1..calls).rev().step_by(4).find(leaves_something).expect("a killed making leaves something")
}

#[test]
fn case_b32_a_killed_repair_is_finished_by_the_next() {
    at_some_calls((1, 30), Trial::new, Trial::calls, Trial::kill);
}

/// A failing call leaves what the next one repairs.
#[test]
fn case_b32_a_failing_repair_is_finished_by_the_next() {
    let fail = |trial: &Trial, nth: u64| {
        let when = format!("EIO at call {nth} of doctor --fix");
        trial.litter();
        let root = trial.scene.root();
        run(&trial.faulty, root, &["doctor", "--fix"], &format!("fail:{nth}:5"));
        trial.before.assert_unchanged(&when);
        let repaired = debris(&trial.scene.fwt(), &trial.scene, &["--fix"]);
        assert!(repaired.iter().all(|one| one["is_repaired"] == true), "{when}: {repaired:?}");
        trial.assert_nothing(&when);
    };
    at_some_calls((2, 15), Trial::new, Trial::calls, fail);
}
