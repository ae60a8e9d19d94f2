//! One boundary: what is in the tree now, what of it changed, and all its bytes in the store.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, FileSystem, Kind, Time};

use crate::changes::{Change, Changes};
use crate::compare::{Pair, Visit, compare};
use crate::error::Result;
use crate::manifest::{Group, Known, Manifest, ManifestWriter, Print, Racy};
use crate::read::{Job, Outcome, Outcomes, Reading, read_all};
use crate::scan::{Scanned, Scope, Why, scan};
use crate::state::State;
use crate::store::{ContentId, InUse, Origin, Store};

/// How a tree is looked at.
pub struct Capture<'c> {
    /// The root of the tree.
    pub root: &'c Dir,
    /// What of it is kept.
    pub scope: &'c Scope,
    /// The time on the wall before anything was looked at.
    pub now: Time,
    /// Whether the time is up; what is not read by then is uncovered.
    pub late: Late<'c>,
    /// Threads at most.
    pub workers: NonZero<usize>,
}

impl std::fmt::Debug for Capture<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Capture").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Says whether the time is up.
pub type Late<'c> = &'c (dyn Fn() -> bool + Sync);

/// What a boundary found.
#[derive(Debug)]
pub(crate) struct Captured {
    /// Since the last boundary; of the first, nothing.
    pub(crate) changes: usize,
    /// These, in the store.
    pub(crate) content: Option<ContentId>,
    /// What is not kept.
    pub(crate) uncovered: Vec<(PathBuf, Why)>,
    /// Whether there is a new manifest.
    pub(crate) is_new: bool,
}

/// Where the last known state is, and where the new one goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manifests<'m> {
    /// `None` before the first boundary.
    pub(crate) old: Option<&'m Manifest>,
    pub(crate) dir: &'m Dir,
    pub(crate) new: &'m OsStr,
}

/// Looks at the tree, and keeps what changed. The caller publishes it, or forgets it.
pub(crate) fn capture(
    capture: &Capture<'_>,
    store: &Store,
    in_use: &InUse,
    manifests: Manifests<'_>,
) -> Result<Captured> {
    let scanned = scan(capture.root, capture.scope, capture.workers)?;
    let nothing = Manifest::default();
    let old = manifests.old.unwrap_or(&nothing);
    let mut work = Work { jobs: Vec::new(), is_changed: manifests.old.is_none() };
    compare(old.groups(), &scanned.directories, &mut work)?;
    let Work { mut jobs, is_changed } = work;
    if jobs.is_empty() && !is_changed {
        let uncovered = scanned.uncovered;
        return Ok(Captured { changes: 0, content: None, uncovered, is_new: false });
    }
    // What was known and changed comes first: its turn may be undone, and the rest can wait.
    jobs.sort_by_key(|job| job.origin == Origin::Baseline);
    store.write(in_use, |writer| {
        let Capture { root, late, workers, .. } = *capture;
        let listings = &scanned.directories;
        let outcomes =
            read_all(&Reading { root, listings, writer, is_late: late, workers }, &jobs)?;
        let racy_since = racy_since(capture)?;
        let mut merge = Merge::new(&scanned, &outcomes, racy_since, manifests)?;
        compare(old.groups(), listings, &mut merge)?;
        let Merge { manifest, changes, uncovered, .. } = merge;
        manifest.finish()?;
        let mut all = scanned.uncovered.clone();
        all.extend(uncovered);
        all.sort();
        let count = changes.0.len();
        let content = if count == 0 { None } else { Some(writer.put_bytes(&changes.encode())?) };
        Ok(Captured { changes: count, content, uncovered: all, is_new: true })
    })
}

/// From which times on an unchanged lstat says nothing.
#[derive(Clone, Copy, Debug)]
struct RacySince {
    fine: Time,
    coarse: Time,
}

impl RacySince {
    fn judge(self, print: &Print) -> Racy {
        // No program can set this time: one without nanoseconds is of a clock that has none.
        let since = if print.ctime.nanos == 0 { self.coarse } else { self.fine };
        if print.ctime >= since { Racy::Yes } else { Racy::No }
    }
}

/// A tick of the kernel's clock is 10 ms at most.
const FINE_TICK_NANOS: i64 = 10_000_000;
/// The coarsest clock that a local file system has (FAT).
const COARSE_TICK_NANOS: i64 = 2_000_000_000;
/// Times on a network file system are the server's, whose clock may differ from ours.
const FOREIGN_TICK_NANOS: i64 = 60_000_000_000;

fn racy_since(capture: &Capture<'_>) -> Result<RacySince> {
    let is_foreign =
        matches!(FileSystem::of(capture.root)?, FileSystem::Network | FileSystem::Fuse);
    let before = |nanos: i64| {
        let total = i64::from(capture.now.nanos) - nanos;
        let seconds = capture.now.seconds + total.div_euclid(1_000_000_000);
        let nanos = u32::try_from(total.rem_euclid(1_000_000_000)).unwrap_or(0);
        Time { seconds, nanos }
    };
    let (fine, coarse) = if is_foreign {
        (FOREIGN_TICK_NANOS, FOREIGN_TICK_NANOS)
    } else {
        (FINE_TICK_NANOS, COARSE_TICK_NANOS)
    };
    Ok(RacySince { fine: before(fine), coarse: before(coarse) })
}

/// What there is to do.
struct Work {
    jobs: Vec<Job>,
    /// Whether anything is different that need not be read.
    is_changed: bool,
}

impl Visit for Work {
    fn pair(&mut self, pair: Pair<'_>) -> Result<()> {
        let Some((seen, spot)) = pair.seen else {
            self.is_changed = true;
            return Ok(());
        };
        let is_same = pair.known.as_ref().is_some_and(|known| known.print == seen.print);
        if matches!(seen.print.kind, Kind::Directory | Kind::Special) {
            self.is_changed |= !is_same;
            return Ok(());
        }
        let is_kept = |known: &Known| known.racy == Racy::No && known.content.is_some();
        if !is_same || !pair.known.as_ref().is_some_and(is_kept) {
            let is_known = pair.known.is_some_and(|known| known.content.is_some());
            let origin = if is_known { Origin::Changed } else { Origin::Baseline };
            self.jobs.push(Job { spot, origin });
        }
        Ok(())
    }

    fn end(&mut self, _directory: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Writes the new manifest, and finds what changed.
struct Merge<'m> {
    outcomes: &'m Outcomes,
    racy_since: RacySince,
    /// Directories and files that were not looked into.
    blind: HashSet<&'m Path>,
    is_first: bool,
    manifest: ManifestWriter<'m>,
    entries: Vec<Known>,
    changes: Changes,
    uncovered: Vec<(PathBuf, Why)>,
}

impl<'m> Merge<'m> {
    fn new(
        scanned: &'m Scanned,
        outcomes: &'m Outcomes,
        racy_since: RacySince,
        manifests: Manifests<'m>,
    ) -> Result<Self> {
        Ok(Self {
            outcomes,
            racy_since,
            blind: scanned.uncovered.iter().map(|(path, _)| path.as_path()).collect(),
            is_first: manifests.old.is_none(),
            manifest: ManifestWriter::create(manifests.dir, manifests.new)?,
            entries: Vec::new(),
            changes: Changes::default(),
            uncovered: Vec::new(),
        })
    }

    /// What is known of the entry from now on; `None` if it is not there.
    fn next(&mut self, pair: &Pair<'_>, path: &Path) -> Option<Known> {
        let Some((seen, spot)) = pair.seen else {
            // Not seen is not gone where nobody looked: what was known last stays.
            let is_blind = path.ancestors().any(|above| self.blind.contains(above));
            return pair.known.clone().filter(|_| is_blind);
        };
        let new = |print, content| Known {
            name: seen.name.clone(),
            print,
            racy: self.racy_since.judge(&print),
            content,
        };
        match self.outcomes.get(spot) {
            Some(Outcome::Kept(print, content)) => Some(new(print, Some(content))),
            Some(Outcome::Gone) => None,
            Some(Outcome::Not(why)) => {
                self.uncovered.push((path.to_owned(), why));
                match &pair.known {
                    // As far as anybody knows it is what it was.
                    Some(known) if known.print == seen.print => Some(known.clone()),
                    _ => Some(new(seen.print, None)),
                }
            }
            // What is not looked at any more is known as it was last.
            None if seen.print == Print::LEFT_OUT => {
                Some(pair.known.clone().unwrap_or_else(|| new(seen.print, None)))
            }
            None if seen.print.kind == Kind::Directory => {
                Some(Known { racy: Racy::No, ..new(seen.print, None) })
            }
            None => pair.known.clone(),
        }
    }
}

impl Visit for Merge<'_> {
    fn pair(&mut self, pair: Pair<'_>) -> Result<()> {
        let path = PathBuf::from(OsStr::from_bytes(&pair.path()));
        let next = self.next(&pair, &path);
        if !self.is_first && is_change(pair.known.as_ref(), next.as_ref()) {
            let before = pair.known.as_ref().map(State::of);
            let after = next.as_ref().map(State::of);
            self.changes.0.insert(path, Change { before, after });
        }
        self.entries.extend(next);
        Ok(())
    }

    fn end(&mut self, directory: &[u8]) -> Result<()> {
        let entries = std::mem::take(&mut self.entries);
        if entries.is_empty() {
            return Ok(());
        }
        self.manifest.add(&Group { directory: directory.into(), entries })
    }
}

fn is_change(known: Option<&Known>, next: Option<&Known>) -> bool {
    match (known, next) {
        // It is what it was; only its bytes could not be kept until now.
        (Some(known), Some(next)) if known.print == next.print && known.content.is_none() => false,
        (known, next) => known.map(State::of) != next.map(State::of),
    }
}
