//! What is measured on a file system, one experiment after another.

mod carry;
mod instant;
mod large;
mod per_file;
mod sealed;
mod small;

use super::Plan;
use super::corpus::{self, Content, Corpus};
use super::environment::{Environment, Programs};
use super::figure::Figure;
use super::place::Place;
use super::record::Record;
use super::report::Section;
use super::rounds::Rounds;
use crate::talk::say;

/// Where an experiment runs.
#[derive(Clone, Copy, Debug)]
struct Ground<'bench> {
    environment: &'bench Environment,
    place: &'bench Place,
    plan: &'bench Plan,
}

/// What came of an experiment.
#[derive(Debug, Default)]
struct Findings {
    record: Record,
    figures: Vec<Option<Figure>>,
    skipped: Vec<String>,
}

type Experiment = fn(Ground<'_>, &mut Section) -> anyhow::Result<Findings>;

const EXPERIMENTS: &[(&str, Experiment)] = &[
    ("large repository", large::run),
    ("uncommitted changes", carry::run),
    ("small repository", small::run),
    ("cost per file", per_file::run_scale),
    ("huge directory", per_file::run_huge),
    ("list and version", instant::run),
    ("over sealed trees", sealed::run),
    ("a later commit", sealed::run_later_commit),
    ("disk of a tree", sealed::run_disk),
    ("a thousand trees", sealed::run_many),
];

/// Runs them all. One that fails is named in the report, and the others still count.
pub(crate) fn run_all(place: &Place, plan: &Plan, programs: &Programs) -> anyhow::Result<Section> {
    let environment = Environment::make(&place.directory, programs)?;
    let ground = Ground { environment: &environment, place, plan };
    let mut section = Section::new(place);
    for (name, experiment) in EXPERIMENTS {
        say(&format!("{}: {name}", place.kind));
        match experiment(ground, &mut section) {
            Ok(findings) => {
                section.record.append(findings.record);
                section.figures.extend(findings.figures.into_iter().flatten());
                section.skipped.extend(findings.skipped);
            }
            Err(error) => section.skipped.push(format!("{name}: {error:#}")),
        }
    }
    Ok(section)
}

impl Ground<'_> {
    fn corpus(self, content: Content) -> anyhow::Result<Corpus> {
        corpus::require(content, &self.place.corpora(), self.environment)
    }

    fn kind_is(self, kind: &str) -> bool {
        self.place.kind == kind
    }
}

impl Findings {
    /// The samples of the rounds, and what was left out of them.
    fn of<C>(rounds: Rounds<C>, name: impl Fn(&C) -> String) -> Self {
        let skipped = rounds
            .left_out
            .iter()
            .map(|(contender, error)| format!("{}: {error:#}", name(contender)))
            .collect();
        Self { record: rounds.record, figures: Vec::new(), skipped }
    }
}
