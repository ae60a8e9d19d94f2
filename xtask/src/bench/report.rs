//! What a run found, and the forms it is shown in.

mod json;
mod svg;
mod table;

use std::process::Command;

pub(crate) use self::json::json;
pub(crate) use self::svg::svg;
pub(crate) use self::table::table;
use super::figure::Figure;
use super::place::Place;
use super::plan::Plan;
use super::record::Record;
use crate::command::require_output;

/// All that was found.
#[derive(Debug)]
pub(crate) struct Report {
    /// How often everything was measured.
    pub(crate) rounds: usize,
    /// What it was measured on.
    pub(crate) machine: Machine,
    /// One for each file system.
    pub(crate) sections: Vec<Section>,
}

/// What it was measured on.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Machine {
    /// How many threads run at once.
    pub(crate) processors: usize,
    /// The kernel's name and version.
    pub(crate) kernel: String,
    /// git's version.
    pub(crate) git: String,
}

/// What was found on one file system.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// The file system's type.
    pub(crate) kind: String,
    /// How many files the large repository has.
    pub(crate) files: usize,
    /// The way that fwt chose for it.
    pub(crate) backend: String,
    /// The one for it among those that clone or copy each file.
    pub(crate) by_file: String,
    /// The samples.
    pub(crate) record: Record,
    /// What follows from them.
    pub(crate) figures: Vec<Figure>,
    /// What was not measured, each with its reason.
    pub(crate) skipped: Vec<String>,
}

impl Section {
    /// Nothing found yet.
    pub(crate) fn new(place: &Place) -> Self {
        Self {
            kind: place.kind.clone(),
            files: 0,
            backend: String::new(),
            by_file: String::new(),
            record: Record::default(),
            figures: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

impl Section {
    /// Whether fwt makes trees over a sealed one here.
    pub(crate) fn is_over_sealed(&self) -> bool {
        ["overlay", "btrfs"].contains(&self.backend.as_str())
    }
}

impl Report {
    /// The sections, and what is known of the machine.
    pub(crate) fn new(plan: &Plan, sections: Vec<Section>) -> anyhow::Result<Self> {
        let line = |command: &mut Command| {
            let output = require_output(command)?;
            anyhow::Ok(String::from_utf8_lossy(&output).trim().to_owned())
        };
        let machine = Machine {
            processors: std::thread::available_parallelism()?.get(),
            kernel: line(Command::new("uname").arg("-sr"))?,
            git: line(Command::new("git").arg("--version"))?,
        };
        Ok(Self { rounds: plan.rounds, machine, sections })
    }
}

#[cfg(test)]
mod samples {
    //! A small report for the tests of its forms.

    use super::{Machine, Report, Section};
    use crate::bench::figure::{Figure, Target, Unit};
    use crate::bench::measure::Sample;
    use crate::bench::record::Record;

    pub(super) fn section() -> Section {
        let mut record = Record::default();
        for (name, walls) in
            [("fwt create", [1.0, 0.5]), ("git worktree add", [2.0, 2.0]), ("rsync -a", [3.0, 6.0])]
        {
            for wall_s in walls {
                let sample = Sample { wall_s, processor_s: 0.0125, memory_bytes: 9_400_000 };
                record.note(name, sample);
            }
        }
        let reached =
            Figure::new("fwt / git", Some(0.375), Unit::Ratio, Target::AtMost(0.5)).unwrap();
        let unjudged = Figure::new("fwt / rsync", Some(0.2), Unit::Ratio, Target::None).unwrap();
        Section {
            kind: "xfs".to_owned(),
            files: 92_000,
            backend: "overlay".to_owned(),
            by_file: "reflink".to_owned(),
            record,
            figures: vec![reached, unjudged],
            skipped: vec!["xcp: xcp is not installed".to_owned()],
        }
    }

    pub(super) fn report() -> Report {
        let machine =
            Machine { processors: 2, kernel: "Linux 6".to_owned(), git: "git 2".to_owned() };
        Report { rounds: 2, machine, sections: vec![section()] }
    }
}
