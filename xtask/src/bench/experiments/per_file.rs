//! What a file costs: in repositories of several sizes, and in one huge directory. The files are
//! small ones, so that it is files and not bytes that cost.

use super::{Findings, Ground};
use crate::bench::corpus::{Content, Corpus, Layout, Shape, Sizes, huge_share};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::record::Record;
use crate::bench::report::Section;
use crate::bench::rounds::interleave;
use crate::bench::statistics::paired_ratio;

/// Over a sealed tree a file costs nothing.
const BY_FILE: Maker = Maker::Fwt(Means::ByFile);

/// A file of a large repository against one of a small.
pub(super) fn run_scale(ground: Ground<'_>, _: &mut Section) -> anyhow::Result<Findings> {
    let sizes = ground.plan.scale.iter();
    let shapes = sizes.map(|files| small_files(*files, Layout::Mixed)).collect::<Vec<_>>();
    compare(ground, &shapes, Target::AtMost(1.3))
}

/// A file of a huge directory against one of many small directories.
pub(super) fn run_huge(ground: Ground<'_>, _: &mut Section) -> anyhow::Result<Findings> {
    let files = huge_share(ground.plan.files);
    let shapes = [Layout::Spread, Layout::Huge].map(|layout| small_files(files, layout));
    compare(ground, &shapes, Target::AtMost(1.0))
}

fn small_files(files: usize, layout: Layout) -> Shape {
    Shape { files, layout, sizes: Sizes::Small }
}

/// The cost of a file in each against that in the first.
fn compare(ground: Ground<'_>, shapes: &[Shape], target: Target) -> anyhow::Result<Findings> {
    let mut contenders = Vec::new();
    for shape in shapes {
        contenders.push((*shape, ground.corpus(Content::Generated(*shape))?));
    }
    let rounds = interleave(ground.plan.rounds, contenders, |(shape, corpus), record| {
        create_and_remove(ground, *shape, corpus, record)
    })?;
    let mut findings = Findings::of(rounds, |(shape, _)| series_name(*shape));
    let (first, others) = shapes.split_first().expect("there is something to compare with");
    findings.figures = others
        .iter()
        .map(|other| {
            let costs = |shape| per_file(&findings.record, shape);
            let value = paired_ratio(&costs(*other), &costs(*first));
            let name = format!("cost per file, {} / {}", describe(*other), describe(*first));
            Figure::new(&name, value, Unit::Ratio, target)
        })
        .collect();
    Ok(findings)
}

fn create_and_remove(
    ground: Ground<'_>,
    shape: Shape,
    corpus: &Corpus,
    record: &mut Record,
) -> anyhow::Result<()> {
    let Made { sample, tree, .. } = BY_FILE.make(ground.environment, corpus)?;
    record.note(&series_name(shape), sample);
    BY_FILE.remove(ground.environment, corpus, &tree).map(drop)
}

#[expect(clippy::cast_precision_loss, reason = "a count of files")]
fn per_file(record: &Record, shape: Shape) -> Vec<f64> {
    let walls = record.walls(&series_name(shape));
    walls.into_iter().map(|wall_s| wall_s / shape.files as f64).collect()
}

fn series_name(shape: Shape) -> String {
    format!("{}, {}", BY_FILE.name(), describe(shape))
}

fn describe(shape: Shape) -> String {
    let files = shape.files;
    match shape.layout {
        Layout::Mixed => format!("{files} small files"),
        Layout::Spread => format!("{files} in many directories"),
        Layout::Huge => format!("{files} in one directory"),
    }
}
