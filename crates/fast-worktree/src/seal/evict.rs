//! Removing sealed trees that nobody has used for long, or that are too many.
//!
//! One that a worktree stands on stays, and so does one whose files another is made up of. What goes is
//! first renamed, so that a crash leaves nothing that looks whole.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Kind, Sharing, Time, try_lock};
use pool_db::Registry;

use super::make::remove;
use super::record::{self, Record};
use super::standing::names;
use super::{SEALED, last_used, lock_of, name_of};
use crate::api::ApiError;
use crate::limits::Limits;

/// What is over the limits, if nothing keeps it.
struct Candidate {
    directory: PathBuf,
    record: Record,
    used: Time,
}

/// Removes from a store what is over the limits, the longest unused first. One that cannot be removed is
/// logged, and the rest goes on. Says how many are gone.
pub(crate) fn evict(
    store: &Path,
    limits: Limits,
    (home, now): (&Path, Time),
) -> Result<usize, ApiError> {
    let parent = store.join(SEALED);
    let mut all: Vec<Candidate> = record::list(&parent)?
        .into_iter()
        .map(|(directory, record)| Candidate { used: last_used(&directory), directory, record })
        .collect();
    all.sort_by_key(|candidate| candidate.used);
    let mut kept: HashSet<PathBuf> = HashSet::new();
    let mut evicted = 0;
    while let Some(position) = next(&all, &kept, limits, now) {
        let directory = all[position].directory.clone();
        match evict_one(&directory, home) {
            Ok(Evicted::Yes) => {
                tracing::info!(sealed = %directory.display(), "evicted");
                all.remove(position);
                evicted += 1;
            }
            Ok(Evicted::Kept) => drop(kept.insert(directory)),
            Err(error) => {
                tracing::warn!(%error, sealed = %directory.display(), "cannot be evicted");
                kept.insert(directory);
            }
        }
    }
    Ok(evicted)
}

/// The first that is over a limit and that no other sealed tree is made over.
fn next(all: &[Candidate], kept: &HashSet<PathBuf>, limits: Limits, now: Time) -> Option<usize> {
    let bytes: u64 = all.iter().map(|candidate| candidate.record.own.bytes).sum();
    let is_too_much = all.len() as u64 > limits.count || bytes > limits.bytes;
    let oldest = now.seconds.saturating_sub_unsigned(limits.age_seconds);
    all.iter().position(|candidate| {
        (is_too_much || candidate.used.seconds < oldest)
            && !kept.contains(&candidate.directory)
            && !is_below_another(&candidate.directory, all.iter().map(|other| &other.record))
    })
}

/// Whether the files of the sealed tree in `directory` are a part of another one.
pub(super) fn is_below_another<'a>(
    directory: &Path,
    records: impl IntoIterator<Item = &'a Record>,
) -> bool {
    let name = name_of(directory).unwrap_or_default();
    records.into_iter().any(|record| record.layers.iter().skip(1).any(|layer| *layer == name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evicted {
    Yes,
    /// Somebody uses it.
    Kept,
}

fn evict_one(directory: &Path, home: &Path) -> Result<Evicted, ApiError> {
    let path = lock_of(directory);
    let Some(lock) = try_lock(&path, Sharing::Exclusive)? else { return Ok(Evicted::Kept) };
    // Looked at again: whoever seals over it holds the lock until it says so.
    let parent = directory.parent().unwrap_or(directory);
    let records: Vec<Record> =
        record::list(parent)?.into_iter().map(|(_, record)| record).collect();
    let is_stood_on = !names(directory)?.is_empty() || is_in_a_row(directory, home)?;
    if is_stood_on || is_below_another(directory, &records) {
        return Ok(Evicted::Kept);
    }
    let trash = directory.with_extension(TRASH);
    remove(&trash)?;
    fs_sys::rename(directory, &trash)?;
    remove(&trash)?;
    lock.remove(&path)?;
    Ok(Evicted::Yes)
}

/// What a directory ends with that is being removed.
pub(super) const TRASH: &str = "trash";

/// A row is written before the name in the sealed tree.
fn is_in_a_row(directory: &Path, home: &Path) -> Result<bool, ApiError> {
    match Registry::open_existing(home)? {
        Some(registry) => Ok(!registry.standing_on(directory)?.is_empty()),
        None => Ok(false),
    }
}

/// Removes the locks of sealed trees that are not there.
pub(crate) fn sweep_locks(store: &Path) -> Result<(), ApiError> {
    let parent = store.join(SEALED);
    let entries = match fs_sys::list(&parent) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for (name, kind) in entries {
        let path = parent.join(name);
        if kind != Kind::File || path.extension().is_none_or(|ending| ending != "lock") {
            continue;
        }
        let Some(lock) = try_lock(&path, Sharing::Exclusive)? else { continue };
        let endings = ["", "part", TRASH];
        let mut places = endings.iter().map(|ending| path.with_extension(ending));
        if !places.any(|place| fs_sys::exists(&place).unwrap_or(true)) {
            lock.remove(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::record::Content;

    fn candidate(name: &str, below: &[&str], used: i64, bytes: u64) -> Candidate {
        let layers = [name].iter().chain(below).map(|name| (*name).to_owned()).collect();
        let own = Content { files: 1, bytes };
        Candidate {
            directory: Path::new("/sealed").join(name),
            record: Record::new(String::new(), layers, own, own),
            used: Time { seconds: used, nanos: 0 },
        }
    }

    #[track_caller]
    fn check(all: &[Candidate], limits: (u64, u64, u64), expected: Option<usize>) {
        let (age_seconds, count, bytes) = limits;
        let limits = Limits { age_seconds, count, bytes };
        let now = Time { seconds: 1000, nanos: 0 };
        assert_eq!(next(all, &HashSet::new(), limits, now), expected);
    }

    #[test]
    fn what_is_over_a_limit_goes_the_oldest_first() {
        let all = [candidate("a", &[], 100, 50), candidate("b", &[], 200, 50)];
        check(&all, (900, 2, 100), None);
        check(&all, (899, 2, 100), Some(0));
        check(&all, (900, 1, 100), Some(0));
        check(&all, (900, 2, 99), Some(0));
    }

    #[test]
    fn what_another_is_made_of_stays_until_that_is_gone() {
        let all = [candidate("a", &[], 100, 50), candidate("b", &["a"], 200, 50)];
        check(&all, (0, 0, 0), Some(1));
        check(&all[..1], (0, 0, 0), Some(0));
        // It would be old enough, and what stands on it is not.
        check(&all, (850, 2, 100), None);
    }
}
