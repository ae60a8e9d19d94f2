//! What making a tree costs a program that has the service in its own process.

use anyhow::Context as _;

use super::Ground;
use crate::bench::corpus::Corpus;
use crate::bench::measure::{self, Measured, Sample};
use crate::bench::record::Record;

/// What the samples are called.
pub(super) const SERIES: &str = "create, library call, sealed";

/// In one process, after one that does not count.
const CALLS: u32 = 10;

/// Notes the time of each call.
pub(super) fn run(ground: Ground<'_>, corpus: &Corpus, record: &mut Record) -> anyhow::Result<()> {
    let mut command = ground.environment.library(&corpus.repository);
    let Measured { sample, output } =
        measure::run(command.arg(&corpus.repository).arg(CALLS.to_string()))?;
    let walls: Vec<f64> =
        serde_json::from_slice(&output).context("cannot read the example's answer")?;
    for wall_s in walls {
        let processor_s = sample.processor_s / f64::from(CALLS);
        record.note(SERIES, Sample { wall_s, processor_s, ..sample });
    }
    Ok(())
}
