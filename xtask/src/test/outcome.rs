//! What came of the runs.

use anyhow::bail;

use crate::talk::say;

/// What came of one run of the suite.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Which run, such as `as root`.
    pub(crate) run: String,
    /// What it came to.
    pub(crate) verdict: Verdict,
}

impl Outcome {
    /// Fails the run if what came after it failed.
    pub(crate) fn also_require(mut self, after: anyhow::Result<()>) -> Self {
        if let Err(error) = after {
            let before = match self.verdict {
                Verdict::Passed(what) => format!("passed {what}"),
                Verdict::Skipped(why) => format!("skipped, {why}"),
                Verdict::Failed(what) => what,
            };
            self.verdict = Verdict::Failed(format!("{before}; {error:#}"));
        }
        self
    }
}

/// The three ends of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything passed; the text says what.
    Passed(String),
    /// Something failed; the text says what.
    Failed(String),
    /// Nothing was run; the text says why.
    Skipped(String),
}

/// Prints a line for each run; a failed one is an error.
pub(crate) fn report(outcomes: &[Outcome]) -> anyhow::Result<()> {
    say("");
    for outcome in outcomes {
        say(&line(outcome));
    }
    if outcomes.iter().any(|outcome| matches!(outcome.verdict, Verdict::Failed(_))) {
        bail!("tests failed");
    }
    Ok(())
}

fn line(Outcome { run, verdict }: &Outcome) -> String {
    match verdict {
        Verdict::Passed(what) => format!("tests {run}: passed ({what})"),
        Verdict::Failed(what) => format!("tests {run}: FAILED ({what})"),
        Verdict::Skipped(why) => format!("tests {run}: skipped ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Verdict, report};

    fn outcome(verdict: Verdict) -> Outcome {
        Outcome { run: "as root".to_owned(), verdict }
    }

    #[test]
    fn one_failed_run_fails_the_command() {
        let passed = outcome(Verdict::Passed("all".to_owned()));
        let failed = outcome(Verdict::Failed("one".to_owned()));
        assert!(report(&[passed, failed]).is_err());
    }

    #[test]
    fn what_a_test_leaves_behind_fails_its_run() {
        let run = outcome(Verdict::Passed("all".to_owned()));
        let run = run.also_require(Err(anyhow::anyhow!("still mounted")));
        assert_eq!(run.verdict, Verdict::Failed("passed all; still mounted".to_owned()));
    }

    #[test]
    fn a_skipped_run_is_no_failure() {
        assert!(report(&[outcome(Verdict::Skipped("not root".to_owned()))]).is_ok());
    }
}
