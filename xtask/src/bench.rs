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
    let (_directory, binary) = build(workspace)?;
    let exclusive = exclusive::wait(workspace, "bench")?;
    let places = place::find(workspace, options, &options.plan)?;
    let mut sections = Vec::new();
    for place in places.iter() {
        let section = experiments::run_all(place, &options.plan, &binary)?;
        // Each at once: a run is long, and may be stopped.
        print_data(&report::table(&section));
        sections.push(section);
    }
    drop(places);
    drop(exclusive);
    write_files(&Report::new(&options.plan, sections)?, options)
}

/// A copy, since a build meanwhile may replace the original.
fn build(workspace: &Workspace) -> anyhow::Result<(TempDir, PathBuf)> {
    say("building fwt");
    require_success(cargo(workspace).args(["build", "--release", "--package", "fwt"]))?;
    let directory = tempfile::tempdir()?;
    let copy = directory.path().join("fwt");
    let built = workspace.release_binary();
    fs::copy(&built, &copy).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok((directory, copy))
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
