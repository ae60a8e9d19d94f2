//! What should take no time: the list of a hundred trees, and the version.

use super::{Findings, Ground};
use crate::bench::corpus::{Content, Layout, Shape, Sizes};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Maker, Means};
use crate::bench::measure;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::median;

const TREES: usize = 100;
/// The trees only have to be there.
const FILES: usize = 20;

const CHAIN: Maker = Maker::Fwt(Means::Chain);
const LIST: &str = "fwt list, 100 trees";
const VERSION: &str = "fwt --version";

pub(super) fn run(ground: Ground<'_>, _: &mut Section) -> anyhow::Result<Findings> {
    let shape = Shape { files: FILES, layout: Layout::Spread, sizes: Sizes::Small };
    let corpus = ground.corpus(Content::Generated(shape))?;
    let mut trees = Vec::with_capacity(TREES);
    for _ in 0..TREES {
        trees.push(CHAIN.make(ground.environment, &corpus)?.tree);
    }
    let commands = vec![(LIST, "list", 20.0), (VERSION, "--version", 5.0)];
    let rounds = interleave(ground.plan.rounds, commands.clone(), |(name, word, _), record| {
        let mut command = ground.environment.fwt(&corpus.repository);
        record.note(name, measure::run(command.arg(word))?.sample);
        Ok(())
    })?;
    for tree in trees {
        CHAIN.remove(ground.environment, &corpus, &tree)?;
    }
    let mut findings = Findings::of(rounds, |(name, ..)| (*name).to_owned());
    findings.figures = commands
        .iter()
        .map(|(name, _, limit_ms)| {
            let wall_ms = median(&findings.record.walls(name)).map(|wall_s| wall_s * 1e3);
            Figure::new(name, wall_ms, Unit::Milliseconds, Target::AtMost(*limit_ms))
        })
        .collect();
    Ok(findings)
}
