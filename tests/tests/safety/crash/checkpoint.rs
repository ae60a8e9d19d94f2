//! Checkpoints that are killed, or that fail, at any call: what was acknowledged is there, what was
//! not counts for nothing, and the next try takes it.

use std::cell::Cell;

use fwt_tests::{Answer, Fwt};
use serde_json::Value;

use super::faults::{at_some_calls, count, run};
use crate::scene::Scene;

/// A tree whose prompts change one file, from one number to the next.
struct Trial {
    scene: Scene,
    faulty: Fwt,
    prompt: Cell<u64>,
}

impl Trial {
    fn new() -> Self {
        let scene = Scene::in_memory();
        let faulty = scene.sandbox.fwt_with_faults();
        let trial = Self { scene, faulty, prompt: Cell::new(0) };
        trial.begin_next();
        trial
    }

    /// Begins a prompt and lets it write its number into the file.
    fn begin_next(&self) {
        self.prompt.set(self.prompt.get() + 1);
        self.checkpoint(&["begin", "--prompt", &self.number()]).success();
        self.scene.source.write("file", format!("{}\n", self.number()));
    }

    fn number(&self) -> String {
        self.prompt.get().to_string()
    }

    fn checkpoint(&self, arguments: &[&str]) -> Answer {
        let arguments = [&["checkpoint"], arguments].concat();
        self.scene.fwt().run(self.scene.root(), arguments)
    }

    /// How many calls the longest of the runs makes.
    fn calls(&self) -> u64 {
        let calls = |words: &[&str]| count(&self.faulty, self.scene.root(), words);
        let number = self.number();
        let end = calls(&["checkpoint", "end", "--prompt", &number]);
        self.prompt.set(self.prompt.get() + 1);
        let begin = calls(&["checkpoint", "begin", "--prompt", &self.number()]);
        self.scene.source.write("file", format!("{}\n", self.number()));
        end.max(begin)
    }

    /// Ends the prompt and begins another, each with a fault first.
    fn meet(&self, fault: &str, expected: &[Option<i32>]) {
        let number = self.number();
        self.run(&["checkpoint", "end", "--prompt", &number], fault, expected);
        self.checkpoint(&["end", "--prompt", &number]).success();
        self.check(&number, fault);
        self.prompt.set(self.prompt.get() + 1);
        let next = self.number();
        self.run(&["checkpoint", "begin", "--prompt", &next], fault, expected);
        let begun = self.checkpoint(&["begin", "--prompt", &next]).success();
        assert_eq!(begun["state"], "open", "{fault}: {begun}");
        self.scene.source.write("file", format!("{next}\n"));
    }

    fn run(&self, arguments: &[&str], fault: &str, expected: &[Option<i32>]) {
        let answer = run(&self.faulty, self.scene.root(), arguments, fault);
        assert!(expected.contains(&answer.code), "{fault}: {answer}");
        // Whatever happened, the log reads, and nothing is taken for what it is not.
        let list = self.checkpoint(&["list"]).success();
        let states = list["checkpoints"].as_array().expect("a list").iter();
        let states: Vec<_> = states.map(|point| point["state"].clone()).collect();
        let (last, before) = states.split_last().expect("there is one");
        assert!(before.iter().all(|state| state == "complete"), "{fault}: {list}");
        assert!(["open", "failed", "complete"].contains(&last.as_str().expect("a name")), "{list}");
    }

    /// The prompt is complete, and both states of the file come out of the store.
    fn check(&self, number: &str, fault: &str) {
        let shown = self.checkpoint(&["show", number]).success();
        assert_eq!(shown["checkpoint"]["state"], "complete", "{fault}: {shown}");
        let diff = self.checkpoint(&["diff", &format!("{number}.."), "-p"]).success();
        let patch = diff["files"][0]["patch"].as_str().unwrap_or_default();
        assert!(patch.ends_with(&format!("+{number}\n")), "{fault}: {diff}");
        assert_eq!(diff["files"].as_array().map(Vec::len), Some(1), "{fault}: {diff}");
    }
}

/// Runs of each test: the two begin at another call, and each look at the tree has many calls alike.
const MOST: u64 = 16;

fn at_calls(first: u64, fault: impl Fn(u64) -> String + Sync, expected: &[Option<i32>]) {
    at_some_calls(
        (first, MOST),
        || Some(Trial::new()),
        Trial::calls,
        |trial, nth| trial.meet(&fault(nth), expected),
    );
}

/// CASES C43, C58.
#[test]
fn case_c43_a_killed_checkpoint_counts_for_nothing_and_the_next_try_takes_it() {
    at_calls(1, |nth| format!("abort:{nth}"), &[None, Some(0)]);
}

/// CASES C15: a full disk, a device that fails.
#[test]
fn case_c15_a_checkpoint_that_fails_is_marked_and_can_be_taken_again() {
    at_calls(3, |nth| format!("fail:{nth}:28"), &[Some(0), Some(1), Some(6)]);
}

/// CASES C66: whatever a killed collection leaves, the next one finishes, and nothing is lost.
#[test]
fn case_c66_a_killed_collection_takes_nothing_that_is_needed() {
    let trial = Trial::new();
    let first = trial.number();
    trial.checkpoint(&["end", "--prompt", &first]).success();
    let objects = trial.scene.sandbox.state().join("checkpoints/objects");
    let calls = count(&trial.faulty, trial.scene.root(), &["checkpoint", "gc"]);
    for nth in (1..=calls).step_by(usize::try_from(calls.div_ceil(MOST)).expect("it is small")) {
        std::fs::write(objects.join("tmp/dead"), "half").expect("tmp is there");
        let answer =
            run(&trial.faulty, trial.scene.root(), &["checkpoint", "gc"], &format!("abort:{nth}"));
        assert!(matches!(answer.code, None | Some(0)), "{nth}: {answer}");
        let collected: Value = trial.checkpoint(&["gc"]).success();
        assert_eq!(collected["condemned"], 0, "{nth}: {collected}");
        assert!(!objects.join("tmp/dead").exists(), "{nth}");
        trial.check(&first, &format!("gc killed at {nth}"));
    }
}
