//! The checkpoints of one tree: its log, its last known state, and the boundaries that add to them.
//!
//! ```text
//! lock         whoever adds to the log has it
//! log          what happened (`log`)
//! manifest-N   the last known state, found at boundary N (`manifest`)
//! ```

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_sys::{ErrorKind, FileLock, Mode, Sharing};

use crate::capture::{Capture, Manifests, capture};
use crate::changes::Changes;
use crate::error::{Error, Result};
use crate::keep::{Budget, first_kept};
use crate::log::{self, Edge, Event, PathText, Record, VERSION};
use crate::manifest::Manifest;
use crate::store::{Reader, Store, wait_for_lock};
use crate::turn::{Outcome, Parent, Point, PointState, TurnKey, points};

/// The checkpoints of one tree.
#[derive(Debug)]
pub struct Tree {
    dir: PathBuf,
    records: Vec<Record>,
}

/// The same, with the right to add to them.
#[derive(Debug)]
pub struct LockedTree {
    tree: Tree,
    _lock: FileLock,
}

/// What is said at the beginning of a prompt.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    /// What it is about.
    pub summary: Option<String>,
    /// What started its session.
    pub parent: Option<Parent>,
}

/// Whether a boundary was recorded by this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// It was.
    New,
    /// It had been before: nothing changed.
    Known,
}

/// Another process looks at the same tree for as long as a first look takes, at most.
const LOCK_WAIT: Duration = Duration::from_secs(15);

/// Uncovered paths that are named in the log.
const MOST_UNCOVERED: usize = 1000;

impl Tree {
    /// The checkpoints in `dir`; nothing is written. Where there is nothing, nothing happened yet.
    pub fn open(dir: &Path) -> Result<Self> {
        Ok(Self { dir: dir.to_owned(), records: log::load(&dir.join("log"))? })
    }

    /// All checkpoints, the oldest first.
    pub fn points(&self, store: &Store) -> Result<Vec<Point>> {
        let mut points = points(&self.records);
        points.iter_mut().try_for_each(|point| self.count_files(store, point))?;
        Ok(points)
    }

    /// The checkpoint of this prompt, as it is listed.
    pub fn point_with_files(&self, store: &Store, key: &TurnKey) -> Result<Point> {
        let mut point = self.point(key)?;
        self.count_files(store, &mut point)?;
        Ok(point)
    }

    /// Counts once what changed at several boundaries of a prompt. Where all of it was found at one,
    /// the log says how much it is.
    fn count_files(&self, store: &Store, point: &mut Point) -> Result<()> {
        let Some((begin, last)) = point.window() else { return Ok(()) };
        if point.state != PointState::Expired && self.changed_between(begin, last) > 1 {
            let changes = self.changes_between(&store.reader()?, begin, last)?;
            point.files = changes.0.len() as u64;
        }
        Ok(())
    }

    /// The checkpoint of this prompt.
    fn point(&self, key: &TurnKey) -> Result<Point> {
        let found = points(&self.records).into_iter().find(|point| point.key == *key);
        found.ok_or_else(|| Error::NoSuchTurn(key.clone()))
    }

    /// What changed in a prompt: from its beginning to its end, or until now.
    pub fn changes_in(&self, store: &Store, key: &TurnKey) -> Result<Changes> {
        let (begin, last) = self.require_usable(key)?;
        self.changes_between(&store.reader()?, begin, last)
    }

    /// What is different before prompt `to` from before prompt `from`; without `to`, in the last
    /// known state.
    pub fn changes_from(
        &self,
        store: &Store,
        from: &TurnKey,
        to: Option<&TurnKey>,
    ) -> Result<Changes> {
        let (from, _) = self.require_usable(from)?;
        let to = match to {
            Some(to) => self.require_usable(to)?.0,
            None => self.last_boundary(),
        };
        let reader = store.reader()?;
        if from <= to {
            self.changes_between(&reader, from, to)
        } else {
            Ok(self.changes_between(&reader, to, from)?.reversed())
        }
    }

    fn require_usable(&self, key: &TurnKey) -> Result<(u64, u64)> {
        let point = self.point(key)?;
        if point.state == PointState::Expired {
            return Err(Error::Expired(key.clone()));
        }
        point.window().ok_or_else(|| Error::Failed(key.clone()))
    }

    fn captures(&self) -> impl DoubleEndedIterator<Item = &log::Captured> {
        self.records.iter().filter_map(|record| record.capture.as_ref())
    }

    fn last_boundary(&self) -> u64 {
        self.captures().next_back().map_or(0, |capture| capture.boundary)
    }

    /// At how many boundaries something had changed.
    fn changed_between(&self, after: u64, until: u64) -> usize {
        let is_inside = |capture: &&log::Captured| {
            capture.boundary > after && capture.boundary <= until && capture.changes.is_some()
        };
        self.captures().filter(is_inside).count()
    }

    fn changes_between(&self, reader: &Reader<'_>, after: u64, until: u64) -> Result<Changes> {
        let mut all = Changes::default();
        for capture in self.captures() {
            if capture.boundary <= after || capture.boundary > until {
                continue;
            }
            let Some(id) = &capture.changes else { continue };
            let damaged = || Error::Damaged { path: self.dir.join("log") };
            all.then(Changes::decode(&reader.read(id)?).ok_or_else(damaged)?);
        }
        Ok(all)
    }
}

impl LockedTree {
    /// The checkpoints in `dir`, which is made if it is not there.
    pub fn open(dir: &Path) -> Result<Self> {
        fs_sys::make_dirs(dir, Mode(0o700))?;
        let lock = wait_for_lock(&dir.join("lock"), Sharing::Exclusive, LOCK_WAIT)?;
        Ok(Self { tree: Tree::open(dir)?, _lock: lock })
    }

    /// What is known.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The beginning of a prompt. One that has begun before changes nothing.
    pub fn begin(
        &mut self,
        store: &Store,
        key: &TurnKey,
        begin: Begin,
        look: &Capture<'_>,
    ) -> Result<Boundary> {
        if self.tree.point(key).is_ok_and(|point| point.begin.is_some()) {
            return Ok(Boundary::Known);
        }
        let TurnKey { session, prompt } = key.clone();
        let Begin { summary, parent } = begin;
        let event = Event::Begin { session, prompt, summary, parent };
        self.boundary(store, event, look)
            .map_err(|error| self.fail(key, Edge::Begin, look.now.seconds, error))
    }

    /// The end of a prompt. One that has ended before changes nothing, but where nobody had said how.
    pub fn end(
        &mut self,
        store: &Store,
        key: &TurnKey,
        outcome: Outcome,
        look: &Capture<'_>,
    ) -> Result<Boundary> {
        let point = self.tree.point(key)?;
        if point.begin.is_none() {
            return Err(Error::Failed(key.clone()));
        }
        let TurnKey { session, prompt } = key.clone();
        let event = Event::End { session, prompt, outcome };
        if point.is_open() {
            return self
                .boundary(store, event, look)
                .map_err(|error| self.fail(key, Edge::End, look.now.seconds, error));
        }
        if point.outcome.is_some() {
            return Ok(Boundary::Known);
        }
        // Its session has gone on: what is in the tree now is not what this prompt left.
        self.append(look.now.seconds, event, None)?;
        Ok(Boundary::New)
    }

    /// Says that the open prompt of a session writes to these paths below the root.
    pub fn record(&mut self, session: &str, paths: &[PathBuf], now: i64) -> Result<TurnKey> {
        let open = points(&self.tree.records)
            .into_iter()
            .rfind(|point| point.key.session == session && point.is_open())
            .ok_or_else(|| Error::NoOpenTurn(session.to_owned()))?;
        let is_new = |path: &&PathBuf| !open.recorded.contains(path);
        let paths: Vec<_> = paths.iter().filter(is_new).map(|path| PathText::of(path)).collect();
        if !paths.is_empty() {
            let TurnKey { session, prompt } = open.key.clone();
            self.append(now, Event::Record { session, prompt, paths }, None)?;
        }
        Ok(open.key)
    }

    /// Gives up the oldest checkpoints, as far as the budget says. Says how many are no longer kept.
    pub fn expire(&mut self, store: &Store, budget: Budget, now: i64) -> Result<u64> {
        let count = |records: &[Record]| {
            let is_expired = |point: &&Point| point.state == PointState::Expired;
            points(records).iter().filter(is_expired).count() as u64
        };
        let expired = count(&self.tree.records);
        if let Some(before) = first_kept(&self.tree.records, &store.reader()?, budget, now)? {
            self.append(now, Event::Expired { before }, None)?;
        }
        Ok(count(&self.tree.records) - expired)
    }

    fn boundary(&mut self, store: &Store, event: Event, look: &Capture<'_>) -> Result<Boundary> {
        let last = self.tree.captures().next_back().cloned();
        let old = last.as_ref().map(|last| Manifest::load(&self.tree.dir.join(&last.manifest)));
        let (old, is_lost) = match old.transpose() {
            Ok(old) => (old, false),
            // What was known is lost with it, and it is said so. The tree itself is as it is.
            Err(Error::Damaged { .. }) => (None, true),
            Err(error) => return Err(error),
        };
        let boundary = self.tree.last_boundary() + 1;
        let new = OsString::from(format!("manifest-{boundary}"));
        let path = self.tree.dir.join(&new);
        // A killed process may have got this far.
        remove_if_there(&path)?;
        let in_use = store.lock_in_use()?;
        let dir = fs_sys::open_dir(&self.tree.dir)?;
        let manifests = Manifests { old: old.as_ref(), dir: &dir, new: &new };
        let captured = capture(look, store, &in_use, manifests).inspect_err(|_| {
            if let Err(error) = remove_if_there(&path) {
                tracing::warn!(%error, "a half-written manifest stays behind");
            }
        })?;
        let kept = last.as_ref().filter(|_| !captured.is_new).map(|last| last.manifest.clone());
        let uncovered = captured.uncovered.iter().take(MOST_UNCOVERED);
        let capture = log::Captured {
            boundary,
            manifest: kept.unwrap_or_else(|| format!("manifest-{boundary}")),
            files: captured.changes as u64,
            changes: captured.content,
            uncovered: uncovered.map(|(path, why)| (PathText::of(path), *why)).collect(),
            uncovered_total: captured.uncovered.len() as u64,
        };
        if captured.is_new {
            dir.sync()?;
        }
        if is_lost {
            self.append(look.now.seconds, Event::Expired { before: boundary }, None)?;
        }
        self.append(look.now.seconds, event, Some(capture))?;
        if let Some(last) = last.filter(|_| captured.is_new)
            && let Err(error) = remove_if_there(&self.tree.dir.join(&last.manifest))
        {
            tracing::warn!(%error, "an old manifest stays behind");
        }
        Ok(Boundary::New)
    }

    /// Marks a boundary as failed, so that nobody takes it for the one before.
    fn fail(&mut self, key: &TurnKey, edge: Edge, at: i64, error: Error) -> Error {
        let TurnKey { session, prompt } = key.clone();
        if let Err(unmarked) = self.append(at, Event::Failed { session, prompt, edge }, None) {
            tracing::warn!(error = %unmarked, "that a checkpoint failed cannot be recorded");
        }
        error
    }

    fn append(&mut self, at: i64, event: Event, capture: Option<log::Captured>) -> Result<()> {
        let record = Record { v: VERSION, at, event, capture };
        log::append(&self.tree.dir.join("log"), &record)?;
        self.tree.records.push(record);
        Ok(())
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs_sys::remove_file(path) {
        Err(error) if error.kind != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
