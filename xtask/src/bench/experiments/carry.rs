//! What ten changed files add to a create that carries them.

use super::{Findings, Ground};
use crate::bench::corpus::{self, Corpus};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::measure;
use crate::bench::record::Record;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::{differences, paired_ratio};

const CHANGED_FILES: usize = 10;
const STATUS: &str = "git status, source with changes";

#[derive(Clone, Copy, Debug)]
enum Contender {
    Make(Maker),
    Status,
}

/// Runs it.
pub(super) fn run(ground: Ground<'_>, section: &mut Section) -> anyhow::Result<Findings> {
    let corpus = ground.corpus(ground.plan.large)?;
    corpus.change(ground.environment, CHANGED_FILES)?;
    let findings = measure_carrying(ground, &corpus, section);
    corpus::settle(&corpus.repository, ground.environment)?;
    findings
}

fn measure_carrying(
    ground: Ground<'_>,
    corpus: &Corpus,
    section: &Section,
) -> anyhow::Result<Findings> {
    let mut contenders = vec![Contender::Status];
    for means in [Means::Chain, Means::ByFile] {
        contenders.push(Contender::Make(Maker::Fwt(means)));
        contenders.push(Contender::Make(Maker::FwtDirty(means)));
    }
    let rounds = interleave(ground.plan.rounds, contenders, |contender, record| match contender {
        Contender::Make(maker) => {
            let Made { sample, tree, .. } = maker.make(ground.environment, corpus)?;
            record.note(&series_name(*maker), sample);
            maker.remove(ground.environment, corpus, &tree).map(drop)
        }
        Contender::Status => {
            let mut status = ground.environment.git(&corpus.repository);
            let status = measure::run(status.args(["status", "--porcelain"]))?;
            record.note(STATUS, status.sample);
            Ok(())
        }
    })?;
    let mut findings = Findings::of(rounds, |contender| match contender {
        Contender::Make(maker) => series_name(*maker),
        Contender::Status => STATUS.to_owned(),
    });
    let dirty = series_name(Maker::FwtDirty(Means::Chain));
    let statuses = findings.record.walls(STATUS);
    findings.figures = vec![
        Figure::new(
            &format!("{dirty} / git status"),
            paired_ratio(&findings.record.walls(&dirty), &statuses),
            Unit::Ratio,
            if section.is_over_sealed() { Target::AtMost(1.3) } else { Target::None },
        ),
        extra_in_statuses(&findings.record, Means::Chain, Target::None),
        extra_in_statuses(&findings.record, Means::ByFile, Target::AtMost(1.0)),
    ];
    Ok(findings)
}

/// What carrying adds, in runs of `git status`.
fn extra_in_statuses(record: &Record, means: Means, target: Target) -> Option<Figure> {
    let [dirty, clean] = [Maker::FwtDirty(means), Maker::Fwt(means)].map(series_name);
    let extra = differences(&record.walls(&dirty), &record.walls(&clean));
    let value = paired_ratio(&extra, &record.walls(STATUS));
    Figure::new(&format!("({dirty} - clean) / git status"), value, Unit::Ratio, target)
}

fn series_name(maker: Maker) -> String {
    format!("{}, {CHANGED_FILES} changes", maker.name())
}
