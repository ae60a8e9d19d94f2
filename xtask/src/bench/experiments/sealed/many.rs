//! Whether trees become dearer when there are many.

use super::{Findings, Ground, not_here};
use crate::bench::corpus::{Content, Layout, Shape, Sizes};
use crate::bench::figure::{Figure, Target, Unit};
use crate::bench::maker::{Made, Maker, Means};
use crate::bench::measure;
use crate::bench::report::Section;
use crate::bench::statistics::median;

const CHAIN: Maker = Maker::Fwt(Means::Chain);
/// The trees only have to be there.
const SHAPE: Shape = Shape { files: 20, layout: Layout::Spread, sizes: Sizes::Small };
/// How many of the first and of the last are compared.
const SAMPLES: usize = 20;

/// Runs it.
pub(in super::super) fn run(ground: Ground<'_>, section: &mut Section) -> anyhow::Result<Findings> {
    if !section.is_over_sealed() {
        return Ok(not_here());
    }
    let corpus = ground.corpus(Content::Generated(SHAPE))?;
    let count = ground.plan.trees;
    let names = Names { count };
    let mut findings = Findings::default();
    let record = &mut findings.record;
    // The first seals.
    let Made { tree, .. } = CHAIN.make(ground.environment, &corpus)?;
    CHAIN.remove(ground.environment, &corpus, &tree)?;
    let mut trees = Vec::with_capacity(count);
    for number in 0..count {
        let Made { sample, tree, .. } = CHAIN.make(ground.environment, &corpus)?;
        if let Some(when) = names.when(number) {
            record.note(&names.of("fwt create", when), sample);
        }
        trees.push(tree);
    }
    for _ in 0..ground.plan.rounds {
        let mut list = ground.environment.fwt(&corpus.repository);
        let sample = measure::run(list.arg("list"))?.sample;
        record.note(&names.of("fwt list", When::Many), sample);
    }
    for (number, tree) in trees.iter().enumerate().rev() {
        let sample = CHAIN.remove(ground.environment, &corpus, tree)?;
        if let Some(when) = names.when(number) {
            record.note(&names.of("fwt rm", when), sample);
        }
    }
    for verb in ["fwt create", "fwt rm"] {
        let [few, many] = [When::Few, When::Many].map(|when| names.of(verb, when));
        let medians = [&many, &few].map(|name| median(&findings.record.walls(name)));
        let value = medians[0].zip(medians[1]).map(|(many, few)| many / few);
        let name = format!("{verb}, {count} trees / few");
        findings.figures.push(Figure::new(&name, value, Unit::Ratio, Target::AtMost(2.0)));
    }
    Ok(findings)
}

#[derive(Clone, Copy, Debug)]
enum When {
    Few,
    Many,
}

struct Names {
    count: usize,
}

impl Names {
    /// Which of the compared groups a tree belongs to, if to any.
    fn when(&self, number: usize) -> Option<When> {
        match number {
            number if number < SAMPLES => Some(When::Few),
            number if number + SAMPLES >= self.count => Some(When::Many),
            _ => None,
        }
    }

    fn of(&self, verb: &str, when: When) -> String {
        match when {
            When::Few => format!("{verb}, few trees"),
            When::Many => format!("{verb}, {} trees", self.count),
        }
    }
}
