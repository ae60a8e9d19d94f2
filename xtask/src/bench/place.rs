//! The directories to measure in, each on a file system of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::{Options, Plan};
use crate::filesystems::{self, Filesystems, Room, VARIABLES};
use crate::talk::say;
use crate::workspace::Workspace;

/// A directory of ours on a file system.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Where everything goes.
    pub(crate) directory: PathBuf,
    /// The file system's type, such as `xfs`.
    pub(crate) kind: String,
}

/// All of them; dropping this takes down what was brought up for them.
#[derive(Debug)]
pub(crate) struct Places {
    places: Vec<Place>,
    _mounted: Option<Filesystems>,
}

/// The tests fill this one up; nothing large fits.
const FULL_VARIABLE: &str = "FWT_TEST_FULL";

impl Place {
    /// Where the corpora are kept for the next run.
    pub(crate) fn corpora(&self) -> PathBuf {
        self.directory.join("corpora")
    }
}

impl Places {
    /// Those that there are.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.places.iter()
    }
}

/// Those that were asked for, else those that the environment names, else fresh images.
pub(crate) fn find(
    workspace: &Workspace,
    options: &Options,
    plan: &Plan,
) -> anyhow::Result<Places> {
    let named = if options.directories.is_empty() { by_variables() } else { Vec::new() };
    let known = [options.directories.as_slice(), &named].concat();
    if !known.is_empty() {
        return Ok(Places { places: usable(&known, plan)?, _mounted: None });
    }
    let directory = workspace.target_directory().join("bench-filesystems");
    // Twice what is needed: a file system that is nearly full is a slow one.
    let room = Room::Bytes(2 * plan.needed_bytes());
    let mounted = filesystems::bring_up(workspace, Some(&directory), room)?;
    let known = mounted.available().iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    Ok(Places { places: usable(&known, plan)?, _mounted: Some(mounted) })
}

fn by_variables() -> Vec<PathBuf> {
    let variables = VARIABLES.iter().filter(|name| **name != FULL_VARIABLE);
    variables.filter_map(std::env::var_os).map(PathBuf::from).collect()
}

/// Those with enough room; one without is named, and an error if there is no other.
fn usable(directories: &[PathBuf], plan: &Plan) -> anyhow::Result<Vec<Place>> {
    let mut places = Vec::new();
    for directory in directories {
        match prepare(directory, plan) {
            Ok(place) => places.push(place),
            Err(reason) => say(&format!("not in {}: {reason:#}", directory.display())),
        }
    }
    ensure!(!places.is_empty(), "there is nowhere to measure");
    Ok(places)
}

fn prepare(directory: &Path, plan: &Plan) -> anyhow::Result<Place> {
    let own = directory.join("fwt-bench");
    fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
    let own = fs::canonicalize(own)?;
    let (free, needed) = (free_bytes(&own)?, plan.needed_bytes());
    ensure!(free >= needed, "{} MB are free and {} MB are needed", free >> 20, needed >> 20);
    let kind = filesystems::load_kind_at(&own).unwrap_or_else(|| "unknown".to_owned());
    Ok(Place { directory: own, kind })
}

fn free_bytes(directory: &Path) -> anyhow::Result<u64> {
    let statistics = rustix::fs::statvfs(directory)
        .with_context(|| format!("cannot ask for the room in {}", directory.display()))?;
    Ok(statistics.f_bavail.saturating_mul(statistics.f_frsize))
}
