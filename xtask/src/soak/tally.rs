//! Counts what was done and what came of it, so that a run shows what it covered.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How often each outcome came about; shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<String, u64>>);

impl Tally {
    /// Counts one.
    pub(crate) fn note(&self, outcome: impl Into<String>) {
        *self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(outcome.into())
            .or_default() += 1;
    }

    /// One outcome a line.
    pub(crate) fn table(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = counts.iter().map(|(outcome, count)| format!("{count:>8}  {outcome}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
