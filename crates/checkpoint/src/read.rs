//! Reading what changed into the store, on several threads, until the time is up.

use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fs_sys::{Dir, ErrorKind, File, Kind, Place, stat_at};
use walk::run_tasks;

use crate::compare::Spot;
use crate::error::Result;
use crate::manifest::Print;
use crate::scan::{Listing, Why};
use crate::store::{ContentId, Origin, Writer};

/// An entry to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) spot: Spot,
    pub(crate) origin: Origin,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its bytes are kept, and this was its lstat.
    Kept(Print, ContentId),
    /// Nothing is there any more.
    Gone,
    /// Its bytes are not kept.
    Not(Why),
}

/// How it is read.
pub(crate) struct Reading<'r, 'w> {
    pub(crate) root: &'r Dir,
    pub(crate) listings: &'r [Listing],
    pub(crate) writer: &'r Writer<'w>,
    pub(crate) is_late: &'r (dyn Fn() -> bool + Sync),
    pub(crate) workers: NonZero<usize>,
}

/// Entries that a worker takes at once: they are often in one directory, which is opened once.
const BATCH: usize = 64;

/// What became of entries, in the order of their places: there may be half a million.
#[derive(Debug)]
pub(crate) struct Outcomes(Vec<(Spot, Outcome)>);

impl Outcomes {
    pub(crate) fn get(&self, spot: Spot) -> Option<Outcome> {
        let found = self.0.binary_search_by_key(&spot, |(spot, _)| *spot);
        found.ok().map(|at| self.0[at].1)
    }
}

/// So many are read even if the time was up before the first: else a tree that takes as long to be
/// looked at would never be kept.
const LEAST: usize = 512;

/// Reads what the jobs name, the first of them first.
pub(crate) fn read_all(reading: &Reading<'_, '_>, jobs: &[Job]) -> Result<Outcomes> {
    let begun = AtomicUsize::new(0);
    // The pool takes the last task first.
    let tasks: Vec<&[Job]> = jobs.chunks(BATCH).rev().collect();
    let done = run_tasks(reading.workers, tasks, Vec::new, |done, batch, _| {
        let mut open: Option<(u32, Dir)> = None;
        for job in batch {
            let is_due = begun.fetch_add(1, Ordering::Relaxed) < LEAST || !(reading.is_late)();
            let outcome =
                if is_due { reading.read(*job, &mut open)? } else { Outcome::Not(Why::Deadline) };
            done.push((job.spot, outcome));
        }
        Ok::<_, crate::Error>(())
    })?;
    let mut parts = done.into_iter();
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|part| all.extend(part));
    all.sort_unstable_by_key(|(spot, _)| *spot);
    Ok(Outcomes(all))
}

impl Reading<'_, '_> {
    fn read(&self, job: Job, open: &mut Option<(u32, Dir)>) -> Result<Outcome> {
        let number = job.spot.listing;
        let listing = &self.listings[number as usize];
        if open.as_ref().is_none_or(|(open, _)| *open != number) {
            let path = Path::new(OsStr::from_bytes(&listing.path));
            match self.root.open_beneath(path) {
                Ok(dir) => *open = Some((number, dir)),
                Err(error) => return refusal(error),
            }
        }
        let Some((_, dir)) = open else { return Ok(Outcome::Not(Why::KeepsChanging)) };
        let name = OsStr::from_bytes(&listing.entries[job.spot.entry as usize].name);
        self.read_entry(dir.at(name), job.origin)
    }

    fn read_entry(&self, place: Place<'_>, origin: Origin) -> Result<Outcome> {
        for _attempt in 0..ATTEMPTS {
            let before = match stat_at(place) {
                Err(error) => return refusal(error),
                Ok(stat) => stat,
            };
            let content = match before.kind {
                Kind::Symlink => match fs_sys::read_link(place) {
                    Err(error) => return refusal(error),
                    Ok(target) => self.writer.put_bytes(target.as_bytes())?,
                },
                Kind::File => {
                    let file = match File::open(place) {
                        Err(error) => return refusal(error),
                        Ok(file) => file,
                    };
                    if !file.stat()?.is_same_content(&before) {
                        continue;
                    }
                    self.writer.put_file(&file, origin)?
                }
                // What it was when it was seen is gone; the next boundary sees what it is.
                Kind::Directory | Kind::Special => return Ok(Outcome::Not(Why::KeepsChanging)),
            };
            match stat_at(place) {
                Err(error) => return refusal(error),
                Ok(after) if after.is_same_content(&before) => {
                    return Ok(Outcome::Kept(Print::of(&before), content));
                }
                Ok(_) => {}
            }
        }
        Ok(Outcome::Not(Why::KeepsChanging))
    }
}

/// A file that changes faster than this is not worth more.
const ATTEMPTS: u32 = 3;

/// What it means that an entry cannot be opened. What is not foreseen fails the boundary.
fn refusal(error: fs_sys::Error) -> Result<Outcome> {
    use ErrorKind::{Denied, IsADirectory, Link, NotADirectory, NotFound};
    if error.kind == NotFound {
        return Ok(Outcome::Gone);
    }
    if error.kind == Denied {
        return Ok(Outcome::Not(Why::Unreadable));
    }
    let is_replaced = matches!(error.kind, Link | NotADirectory | IsADirectory);
    if is_replaced { Ok(Outcome::Not(Why::KeepsChanging)) } else { Err(error.into()) }
}
