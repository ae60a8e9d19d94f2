//! What ten changed files add to a create that carries them.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Context as _;

use super::{Findings, Ground};
use crate::bench::corpus::{self, Corpus};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker};
use crate::bench::measure;
use crate::bench::record::Record;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::{differences, paired_ratio};
use crate::command::require_output;

const CHANGED_FILES: usize = 10;
const STATUS: &str = "git status, source with changes";

#[derive(Clone, Copy, Debug)]
enum Contender {
    Make(Maker),
    Status,
}

/// Runs it, if this fwt can carry changes.
pub(super) fn run(ground: Ground<'_>, _: &mut Section) -> anyhow::Result<Findings> {
    let help = measure::run(ground.environment.fwt(&ground.place.directory).args(HELP))?.output;
    if !String::from_utf8_lossy(&help).contains("dirty") {
        let why = format!("{}: this fwt does not have it", Maker::FwtDirty.name());
        return Ok(Findings { skipped: vec![why], ..Findings::default() });
    }
    let corpus = ground.corpus(ground.plan.large)?;
    change_files(ground, &corpus)?;
    let findings = measure_carrying(ground, &corpus);
    corpus::settle(&corpus.repository, ground.environment)?;
    findings
}

const HELP: [&str; 2] = ["create", "--help"];

fn change_files(ground: Ground<'_>, corpus: &Corpus) -> anyhow::Result<()> {
    let mut list = ground.environment.git(&corpus.repository);
    let list = require_output(list.args(["ls-files", "-z"]))?;
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect::<Vec<_>>();
    for name in names.iter().step_by(names.len().div_ceil(CHANGED_FILES).max(1)) {
        let path = corpus.repository.join(Path::new(std::ffi::OsStr::from_bytes(name)));
        let file = OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(b"changed\n"))
            .with_context(|| format!("cannot change {}", path.display()))?;
    }
    Ok(())
}

fn measure_carrying(ground: Ground<'_>, corpus: &Corpus) -> anyhow::Result<Findings> {
    let contenders =
        vec![Contender::Make(Maker::Fwt), Contender::Make(Maker::FwtDirty), Contender::Status];
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
    findings.figures = vec![extra_in_statuses(&findings.record)];
    Ok(findings)
}

fn extra_in_statuses(record: &Record) -> Option<Figure> {
    let walls = |maker| record.walls(&series_name(maker));
    let extra = differences(&walls(Maker::FwtDirty), &walls(Maker::Fwt));
    let value = paired_ratio(&extra, &record.walls(STATUS));
    let name = format!("carry dirty - clean, {CHANGED_FILES} changes / git status");
    Figure::new(&name, value, Unit::Ratio, Target::AtMost(1.0))
}

fn series_name(maker: Maker) -> String {
    format!("{}, {CHANGED_FILES} changes", maker.name())
}
