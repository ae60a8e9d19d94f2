//! How much of the disk a tree takes that nobody has written to yet.

use super::{Findings, Ground, not_here, ways};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::Maker;
use crate::bench::report::Section;

/// Enough that what the file system does for itself hardly counts.
const TREES: u32 = 20;

/// Runs it.
pub(in super::super) fn run(ground: Ground<'_>, section: &mut Section) -> anyhow::Result<Findings> {
    if !section.is_over_sealed() {
        return Ok(not_here());
    }
    let corpus = ground.corpus(ground.plan.large)?;
    let mut findings = Findings::default();
    for means in ways(ground) {
        let maker = Maker::Fwt(means);
        // The first may seal.
        let mut trees = vec![maker.make(ground.environment, &corpus)?.tree];
        let before = used_bytes(ground)?;
        for _ in 0..TREES {
            trees.push(maker.make(ground.environment, &corpus)?.tree);
        }
        let used = used_bytes(ground)?.saturating_sub(before);
        for tree in trees {
            maker.remove(ground.environment, &corpus, &tree)?;
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
        let each_kb = used as f64 / f64::from(TREES) / 1e3;
        let name = format!("disk of one tree, {}", maker.name());
        let target = Target::AtMost(100.0 + index_kb(ground, &corpus.repository)?);
        findings.figures.push(Figure::new(&name, Some(each_kb), Unit::Kilobytes, target));
    }
    Ok(findings)
}

/// What an index takes where it cannot be shared.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
fn index_kb(ground: Ground<'_>, repository: &std::path::Path) -> anyhow::Result<f64> {
    if ground.kind_is("xfs") || ground.kind_is("btrfs") {
        return Ok(0.0);
    }
    Ok(std::fs::metadata(repository.join(".git/index"))?.len() as f64 / 1e3)
}

fn used_bytes(ground: Ground<'_>) -> anyhow::Result<u64> {
    rustix::fs::sync();
    let statistics = rustix::fs::statvfs(&ground.place.directory)?;
    Ok((statistics.f_blocks - statistics.f_bfree) * statistics.f_frsize)
}
