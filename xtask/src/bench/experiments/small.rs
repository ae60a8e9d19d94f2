//! A repository of 5,000 files, where what every create costs weighs most.

use super::{Findings, Ground};
use crate::bench::corpus::{Content, Layout, Shape, Sizes};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::paired_ratio;

const FILES: usize = 5_000;
const BY_FILE: Maker = Maker::Fwt(Means::ByFile);

pub(super) fn run(ground: Ground<'_>, _: &mut Section) -> anyhow::Result<Findings> {
    let shape = Shape { files: FILES, layout: Layout::Spread, sizes: Sizes::Real };
    let corpus = ground.corpus(Content::Generated(shape))?;
    let name = |maker: &Maker| format!("{}, {FILES} files", maker.name());
    let makers = vec![BY_FILE, Maker::Git];
    let rounds = interleave(ground.plan.rounds, makers, |maker, record| {
        let Made { sample, tree, .. } = maker.make(ground.environment, &corpus)?;
        record.note(&name(maker), sample);
        maker.remove(ground.environment, &corpus, &tree).map(drop)
    })?;
    let mut findings = Findings::of(rounds, name);
    let walls = |maker| findings.record.walls(&name(&maker));
    findings.figures = vec![Figure::new(
        &format!("{} / git worktree add, {FILES} files", BY_FILE.name()),
        paired_ratio(&walls(BY_FILE), &walls(Maker::Git)),
        Unit::Ratio,
        Target::AtMost(0.8),
    )];
    Ok(findings)
}
