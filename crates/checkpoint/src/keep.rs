//! How long checkpoints are kept: budgets, and what of the store is still needed.

use std::collections::HashSet;
use std::path::Path;

use crate::changes::Changes;
use crate::error::{Error, Result};
use crate::log::{self, Captured, Event, Record};
use crate::manifest::Manifest;
use crate::store::{ContentId, Reader, Store};
use crate::turn::{Point, points};

/// What the checkpoints of one tree may take. The newest one is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many.
    pub points: usize,
    /// Seconds since a prompt began.
    pub age_seconds: i64,
    /// Bytes of replaced and deleted files, before they are compressed.
    pub bytes: u64,
}

/// The boundary before which nothing is kept, if the budget says so: that of the oldest checkpoint
/// that may stay.
pub(crate) fn first_kept(
    records: &[Record],
    reader: &Reader<'_>,
    budget: Budget,
    now: i64,
) -> Result<Option<u64>> {
    let given_up = given_up(records);
    let mut points: Vec<Point> = points(records);
    points.retain(|point| point.begin.is_some_and(|begin| begin >= given_up));
    points.sort_by_key(|point| point.begin);
    let mut seen = HashSet::new();
    let (mut bytes, mut count, mut kept) = (0, 0, None);
    let mut until = u64::MAX;
    for point in points.iter().rev() {
        let begin = point.begin.unwrap_or_default();
        for capture in captures(records).filter(|c| c.boundary > begin && c.boundary <= until) {
            bytes += replaced_bytes(reader, capture, &mut seen)?;
        }
        count += 1;
        let is_over = count > budget.points
            || bytes > budget.bytes
            || now.saturating_sub(point.started_at) > budget.age_seconds;
        if kept.is_some() && is_over {
            return Ok(kept);
        }
        kept = Some(begin);
        until = begin;
    }
    Ok(None)
}

fn replaced_bytes(
    reader: &Reader<'_>,
    capture: &Captured,
    seen: &mut HashSet<ContentId>,
) -> Result<u64> {
    let Some(id) = &capture.changes else { return Ok(0) };
    let changes = load_changes(reader, id)?;
    let before = changes.0.values().filter_map(|change| change.before);
    let new = before.filter(|state| state.content.is_some_and(|content| seen.insert(content)));
    Ok(new.map(|state| state.size).sum())
}

/// The boundary before which nothing is kept.
fn given_up(records: &[Record]) -> u64 {
    let before = |record: &Record| {
        if let Event::Expired { before } = record.event { before } else { 0 }
    };
    records.iter().map(before).max().unwrap_or(0)
}

fn captures(records: &[Record]) -> impl Iterator<Item = &Captured> {
    records.iter().filter_map(|record| record.capture.as_ref())
}

fn load_changes(reader: &Reader<'_>, id: &ContentId) -> Result<Changes> {
    Changes::decode(&reader.read(id)?).ok_or(Error::Missing(*id))
}

/// Every content that the log in `dir` needs: of the last known state, and of what changed since the
/// oldest checkpoint that is kept.
pub fn needed_by(dir: &Path, store: &Store) -> Result<HashSet<ContentId>> {
    let reader = store.reader()?;
    let (records, mut needed) = load_last_state(dir)?;
    let given_up = given_up(&records);
    for capture in captures(&records).filter(|capture| capture.boundary > given_up) {
        let Some(id) = &capture.changes else { continue };
        needed.insert(*id);
        for change in load_changes(&reader, id)?.0.values() {
            let states = [change.before, change.after].into_iter().flatten();
            needed.extend(states.filter_map(|state| state.content));
        }
    }
    Ok(needed)
}

/// A boundary that is recorded meanwhile takes the manifest away: then the log has moved on, too.
const ATTEMPTS: u32 = 20;

fn load_last_state(dir: &Path) -> Result<(Vec<Record>, HashSet<ContentId>)> {
    let path = dir.join("log");
    let mut records = log::load(&path)?;
    for _attempt in 0..ATTEMPTS {
        let Some(last) = captures(&records).last().cloned() else {
            return Ok((records, HashSet::new()));
        };
        match Manifest::load(&dir.join(&last.manifest)) {
            Ok(manifest) => {
                let entries = manifest.groups().flat_map(|group| group.entries);
                return Ok((records, entries.filter_map(|known| known.content).collect()));
            }
            Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let fresh = log::load(&path)?;
        if captures(&fresh).last() == Some(&last) {
            // It is lost, and the next boundary says so. Nothing names what only it named.
            return Ok((fresh, HashSet::new()));
        }
        records = fresh;
    }
    Err(Error::Busy { path: dir.to_owned() })
}
