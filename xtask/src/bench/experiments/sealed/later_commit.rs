//! The first tree of a commit that is a few files away from one that is sealed.

use super::{Findings, Ground, not_here};
use crate::bench::corpus::{self, Corpus};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::record::Record;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::median;
use crate::command::require_output;

const CHANGED_FILES: usize = 20;
const SERIES: &str = "fwt create, 20 files after a sealed commit";
const CHAIN: Maker = Maker::Fwt(Means::Chain);

/// Runs it.
pub(in super::super) fn run(ground: Ground<'_>, section: &mut Section) -> anyhow::Result<Findings> {
    if !section.is_over_sealed() {
        return Ok(not_here());
    }
    let corpus = ground.corpus(ground.plan.large)?;
    let git =
        |words: &[&str]| require_output(ground.environment.git(&corpus.repository).args(words));
    let first = String::from_utf8(git(&["rev-parse", "HEAD"])?)?;
    let Made { tree, .. } = CHAIN.make(ground.environment, &corpus)?;
    CHAIN.remove(ground.environment, &corpus, &tree)?;
    let rounds = interleave(ground.plan.rounds, vec![()], |(), record| {
        commit_and_create(ground, &corpus, record)
    });
    git(&["reset", "--quiet", "--hard", first.trim()])?;
    corpus::settle(&corpus.repository, ground.environment)?;
    let mut findings = Findings::of(rounds?, |()| SERIES.to_owned());
    let wall_ms = median(&findings.record.walls(SERIES)).map(|wall_s| wall_s * 1e3);
    findings.figures = vec![Figure::new(SERIES, wall_ms, Unit::Milliseconds, Target::AtMost(60.0))];
    Ok(findings)
}

fn commit_and_create(
    ground: Ground<'_>,
    corpus: &Corpus,
    record: &mut Record,
) -> anyhow::Result<()> {
    corpus.change(ground.environment, CHANGED_FILES)?;
    let mut commit = ground.environment.git(&corpus.repository);
    require_output(commit.args(["commit", "--quiet", "--all", "--message=later"]))?;
    let Made { sample, tree, .. } = CHAIN.make(ground.environment, corpus)?;
    record.note(SERIES, sample);
    CHAIN.remove(ground.environment, corpus, &tree).map(drop)
}
