//! The large repository: a tree made by every means, git's view of it, and its removal.

use super::{Findings, Ground};
use crate::bench::corpus::Corpus;
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::measure;
use crate::bench::record::Record;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::paired_ratio;

const SOURCE_STATUS: &str = "git status, source";
const MEGABYTE: f64 = 1e6;

#[derive(Clone, Copy, Debug)]
enum Contender {
    Make(Maker),
    SourceStatus,
}

/// Runs it, and tells the section what it runs on.
pub(super) fn run(ground: Ground<'_>, section: &mut Section) -> anyhow::Result<Findings> {
    let corpus = ground.corpus(ground.plan.large)?;
    section.files = corpus.files;
    let mut contenders =
        vec![Contender::SourceStatus, Contender::Make(CHAIN), Contender::Make(BY_FILE)];
    contenders.extend(ground.plan.peers.iter().copied().map(Contender::Make));
    let rounds = interleave(ground.plan.rounds, contenders, |contender, record| match contender {
        Contender::SourceStatus => {
            let mut status = ground.environment.git(&corpus.repository);
            record.note(SOURCE_STATUS, measure::run(status.args(STATUS))?.sample);
            Ok(())
        }
        Contender::Make(maker) => {
            let backend = make_and_remove(ground, &corpus, *maker, record)?;
            if *maker == CHAIN {
                section.backend = backend;
            } else if *maker == BY_FILE {
                section.by_file = backend;
            }
            Ok(())
        }
    })?;
    let mut findings = Findings::of(rounds, |contender| match contender {
        Contender::Make(maker) => maker.name().to_owned(),
        Contender::SourceStatus => SOURCE_STATUS.to_owned(),
    });
    findings.figures = figures(ground, &findings.record);
    Ok(findings)
}

const CHAIN: Maker = Maker::Fwt(Means::Chain);
const BY_FILE: Maker = Maker::Fwt(Means::ByFile);
const STATUS: [&str; 2] = ["status", "--porcelain"];

fn make_and_remove(
    ground: Ground<'_>,
    corpus: &Corpus,
    maker: Maker,
    record: &mut Record,
) -> anyhow::Result<String> {
    let Made { sample, tree, backend } = maker.make(ground.environment, corpus)?;
    record.note(maker.name(), sample);
    if maker.makes_worktree() {
        // What is still to be written belongs to the making, not to git's first look.
        rustix::fs::sync();
        for time in ["first", "second"] {
            let mut status = ground.environment.git(&tree);
            record.note(&status_name(time, maker), measure::run(status.args(STATUS))?.sample);
        }
    }
    let removal = maker.remove(ground.environment, corpus, &tree)?;
    // All copies are removed alike; the first of them stands for all.
    if maker.makes_worktree() || maker == Maker::Cp {
        record.note(maker.removal_name(), removal);
    }
    Ok(backend)
}

fn status_name(time: &str, maker: Maker) -> String {
    format!("git status, {time}, after {}", maker.name())
}

fn figures(ground: Ground<'_>, record: &Record) -> Vec<Option<Figure>> {
    let ratio = |above: &str, below: &str, target| {
        let value = paired_ratio(&record.walls(above), &record.walls(below));
        Figure::new(&format!("{above} / {below}"), value, Unit::Ratio, target)
    };
    let mut figures = Vec::new();
    for maker in [CHAIN, BY_FILE] {
        for peer in &ground.plan.peers {
            let target = if maker == BY_FILE { target(ground, *peer) } else { Target::None };
            figures.push(ratio(maker.name(), peer.name(), target));
        }
        // Through an overlay git looks each name up in the layers: that is the kernel's time, not ours.
        let status = if maker == BY_FILE { Target::AtMost(1.2) } else { Target::None };
        for time in ["first", "second"] {
            figures.push(ratio(&status_name(time, maker), SOURCE_STATUS, status));
        }
        for peer in [Maker::Git, Maker::Cp] {
            figures.push(ratio(maker.removal_name(), peer.removal_name(), Target::None));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
    let memory = record.memory_bytes(BY_FILE.name()).map(|bytes| bytes as f64 / MEGABYTE);
    figures.push(Figure::new(
        "memory of fwt create, file by file",
        memory,
        Unit::Megabytes,
        Target::AtMost(150.0),
    ));
    figures
}

/// What the project wants to reach against a peer; where nothing is said, nothing is judged.
fn target(ground: Ground<'_>, peer: Maker) -> Target {
    let is_xfs = ground.kind_is("xfs");
    let is_judged = is_xfs || ground.kind_is("btrfs") || ground.kind_is("ext4");
    match peer {
        Maker::Git if is_judged => Target::AtMost(0.5),
        Maker::CpAlways if is_xfs => Target::AtMost(0.65),
        Maker::Xcp if is_xfs => Target::AtMost(1.0),
        Maker::Fwt(_)
        | Maker::FwtDirty(_)
        | Maker::Git
        | Maker::Cp
        | Maker::CpAlways
        | Maker::Xcp
        | Maker::Rsync => Target::None,
    }
}
