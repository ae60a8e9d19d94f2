//! `cargo xtask bench`: how long fwt takes beside the other ways to make a tree.

mod arguments;
mod corpus;
mod environment;
mod experiments;
mod figure;
mod maker;
mod measure;
mod place;
mod plan;
mod record;
mod report;
mod rounds;
mod statistics;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

pub(crate) use self::arguments::Arguments;
use self::environment::Programs;
use self::plan::Plan;
use self::report::Report;
use crate::command::{cargo, require_success};
use crate::exclusive;
use crate::talk::{print_data, say};
use crate::workspace::Workspace;

/// What to measure, where, and where the results go.
#[derive(Debug)]
pub(crate) struct Options {
    /// How much is measured.
    pub(crate) plan: Plan,
    /// Where; if there are none, wherever this machine can.
    pub(crate) directories: Vec<PathBuf>,
    /// A file for all samples.
    pub(crate) json: Option<PathBuf>,
    /// A file for the chart.
    pub(crate) svg: Option<PathBuf>,
}

/// Measures everything and prints a table. A missed target is said, and is no failure.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let (_directory, programs) = build(workspace)?;
    let exclusive = exclusive::wait(workspace, "bench")?;
    let places = place::find(workspace, options, &options.plan)?;
    let mut sections = Vec::new();
    for place in places.iter() {
        let section = experiments::run_all(place, &options.plan, &programs)?;
        // Each at once: a run is long, and may be stopped.
        print_data(&report::table(&section));
        sections.push(section);
    }
    drop(places);
    drop(exclusive);
    write_files(&Report::new(&options.plan, sections)?, options)
}

/// Copies, since a build meanwhile may replace the originals.
fn build(workspace: &Workspace) -> anyhow::Result<(TempDir, Programs)> {
    say("building fwt");
    let words = ["build", "--release", "--package", "fwt", "--bins", "--examples"];
    require_success(cargo(workspace).args(words))?;
    let directory = tempfile::tempdir()?;
    let copy = |built: PathBuf| {
        let copy = directory.path().join(built.file_name().unwrap_or_default());
        fs::copy(&built, &copy).with_context(|| format!("cannot copy {}", built.display()))?;
        anyhow::Ok(copy)
    };
    let fwt = workspace.release_binary();
    let library = copy(fwt.with_file_name("examples").join("in_process"))?;
    let programs = Programs { fwt: copy(fwt)?, library };
    Ok((directory, programs))
}

fn write_files(report: &Report, options: &Options) -> anyhow::Result<()> {
    if let Some(path) = &options.json {
        write(path, &report::json(report)?)?;
    }
    if let Some(path) = &options.svg {
        write(path, &report::svg(report))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}
