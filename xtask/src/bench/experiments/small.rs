//! A repository of 5,000 files, where what every create costs weighs most.

use super::{Findings, Ground};
use crate::bench::corpus::{Content, Layout, Shape, Sizes};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker};
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::paired_ratio;

const FILES: usize = 5_000;

pub(super) fn run(ground: Ground<'_>, _: &mut Section) -> anyhow::Result<Findings> {
    let shape = Shape { files: FILES, layout: Layout::Spread, sizes: Sizes::Real };
    let corpus = ground.corpus(Content::Generated(shape))?;
    let name = |maker: &Maker| format!("{}, {FILES} files", maker.name());
    let makers = vec![Maker::Fwt, Maker::Git];
    let rounds = interleave(ground.plan.rounds, makers, |maker, record| {
        let Made { sample, tree, .. } = maker.make(ground.environment, &corpus)?;
        record.note(&name(maker), sample);
        maker.remove(ground.environment, &corpus, &tree).map(drop)
    })?;
    let mut findings = Findings::of(rounds, name);
    let walls = |maker| findings.record.walls(&name(&maker));
    findings.figures = vec![Figure::new(
        &format!("fwt create / git worktree add, {FILES} files"),
        paired_ratio(&walls(Maker::Fwt), &walls(Maker::Git)),
        Unit::Ratio,
        Target::AtMost(0.8),
    )];
    Ok(findings)
}
