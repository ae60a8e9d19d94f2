//! Trees over a sealed one: what making and removing them costs, whatever the repository's size.

mod disk;
mod later_commit;
mod library;
mod many;
mod raw;

use super::{Findings, Ground};
use crate::bench::corpus::{Content, Corpus, Layout, Shape, Sizes};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::measure::Sample;
use crate::bench::record::Record;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::{differences, median, paired_ratio};

const SMALL: Shape = Shape { files: 3_000, layout: Layout::Spread, sizes: Sizes::Real };
/// Each takes milliseconds, and the machine's other work as long.
const RUNS_A_ROUND: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Contender {
    Large(Means),
    Small(Means),
    Library,
    Raw(raw::Operation),
}

/// The whole program, the library alone, and the bare call of the kernel.
pub(super) fn run(ground: Ground<'_>, section: &mut Section) -> anyhow::Result<Findings> {
    if !section.is_over_sealed() {
        return Ok(not_here());
    }
    let large = ground.corpus(ground.plan.large)?;
    let small = ground.corpus(Content::Generated(SMALL))?;
    let ways = ways(ground);
    let mut contenders = vec![Contender::Library];
    for means in &ways {
        contenders.extend([Contender::Large(*means), Contender::Small(*means)]);
    }
    contenders.extend(raw::operations(ground).into_iter().map(Contender::Raw));
    let raw = raw::Scene::make(ground, &large)?;
    let rounds = interleave(ground.plan.rounds * RUNS_A_ROUND, contenders, |contender, record| {
        match contender {
            Contender::Large(means) => {
                let removed = make_and_remove(ground, &large, *means, "", record)?;
                record.note(&removal_series(*means), removed);
                Ok(())
            }
            Contender::Small(means) => {
                make_and_remove(ground, &small, *means, SMALL_SUFFIX, record).map(drop)
            }
            Contender::Library => library::run(ground, &large, record),
            Contender::Raw(operation) => raw.run(ground, *operation, record),
        }
    })?;
    let mut findings = Findings::of(rounds, |contender| format!("{contender:?}"));
    for means in ways {
        findings.figures.extend(figures(ground, &findings.record, means));
    }
    let library = median(&findings.record.walls(library::SERIES)).map(|wall_s| wall_s * 1e3);
    let target = if ground.kind_is("ext4") { Target::None } else { Target::AtMost(3.0) };
    findings.figures.push(Figure::new(library::SERIES, library, Unit::Milliseconds, target));
    Ok(findings)
}

pub(super) use self::disk::run as run_disk;
pub(super) use self::later_commit::run as run_later_commit;
pub(super) use self::many::run as run_many;

const SMALL_SUFFIX: &str = ", 3000 files";

fn not_here() -> Findings {
    let why = "trees over sealed ones: fwt does not make them here".to_owned();
    Findings { skipped: vec![why], ..Findings::default() }
}

/// The ways over a sealed tree that there are on this file system.
fn ways(ground: Ground<'_>) -> Vec<Means> {
    let btrfs = ground.kind_is("btrfs").then_some(Means::Btrfs);
    [Some(Means::Chain), btrfs].into_iter().flatten().collect()
}

fn make_and_remove(
    ground: Ground<'_>,
    corpus: &Corpus,
    means: Means,
    suffix: &str,
    record: &mut Record,
) -> anyhow::Result<Sample> {
    let maker = Maker::Fwt(means);
    let Made { sample, tree, .. } = maker.make(ground.environment, corpus)?;
    record.note(&series_name(means, suffix), sample);
    maker.remove(ground.environment, corpus, &tree)
}

fn series_name(means: Means, suffix: &str) -> String {
    format!("{}, sealed{suffix}", Maker::Fwt(means).name())
}

fn removal_series(means: Means) -> String {
    format!("{}, sealed", Maker::Fwt(means).removal_name())
}

fn figures(ground: Ground<'_>, record: &Record, means: Means) -> Vec<Option<Figure>> {
    let create = series_name(means, "");
    let milliseconds = |name: &str, target| {
        let wall_ms = median(&record.walls(name)).map(|wall_s| wall_s * 1e3);
        Figure::new(name, wall_ms, Unit::Milliseconds, Target::AtMost(target))
    };
    let ratio = |below: &str, target| {
        let value = paired_ratio(&record.walls(&create), &record.walls(below));
        Figure::new(&format!("{create} / {below}"), value, Unit::Ratio, target)
    };
    // Where bytes cannot be shared the index is copied, and it grows with the repository.
    let copies_the_index = ground.kind_is("ext4") || ground.kind_is("tmpfs");
    let small = if copies_the_index { Target::None } else { Target::AtMost(1.3) };
    let mut figures = vec![
        ratio(&series_name(means, SMALL_SUFFIX), small),
        milliseconds(&removal_series(means), 20.0),
    ];
    if means == Means::Btrfs {
        let snapshot = raw::Operation::Snapshot.name();
        let extra = differences(&record.walls(&create), &record.walls(snapshot));
        let extra_ms = median(&extra).map(|wall_s| wall_s * 1e3);
        let name = format!("{create} - {snapshot}");
        figures.push(Figure::new(&name, extra_ms, Unit::Milliseconds, Target::AtMost(10.0)));
    } else {
        figures.push(milliseconds(&create, if copies_the_index { 18.0 } else { 10.0 }));
        figures.push(ratio(raw::Operation::Mount.name(), Target::None));
    }
    figures
}
