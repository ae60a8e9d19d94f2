//! Making the registry again from the markers of its worktrees.

use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Mode};
use rusqlite::Connection;
use rusqlite::ffi::SQLITE_CORRUPT;

use crate::error::{Error, Holder, Result, SqlContext as _};
use crate::id::WorktreeId;
use crate::open::{FILE_NAME, beside, connect, ensure_file};
use crate::registry::Registry;
use crate::row;
use crate::state::State;
use crate::worktree::Worktree;

/// What became of the markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Where the damaged database is now; none if the database was sound or missing.
    pub damaged: Option<PathBuf>,
    /// The rows that were missing and are there now.
    pub inserted: Vec<WorktreeId>,
    /// The rows that were there already; they were left as they are.
    pub present: Vec<WorktreeId>,
    /// The markers that contradict a row; neither was changed.
    pub conflicts: Vec<Conflict>,
}

/// A marker that cannot become a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The marker's id.
    pub id: WorktreeId,
    /// The row that has its id with another nonce, its name, or its path.
    pub holder: Holder,
}

/// Moves a damaged database aside (it is never deleted), makes a new one and fills in the markers.
/// A sound one stays and gets the rows that it misses.
///
/// Programs that have the damaged file open keep using it until they open the registry again.
pub fn rebuild(home: &Path, markers: &[Worktree], now: i64) -> Result<(Registry, Restored)> {
    fs_sys::make_dirs(home, Mode(0o700))?;
    // Of two rebuilds at once the second must not move the first one's new database aside.
    let lock = lock(&home.join("rebuild.lock"))?;
    let (registry, damaged) = match Registry::open(home).and_then(require_sound) {
        Ok(registry) => (registry, None),
        Err(Error::Corrupt { .. }) => {
            let kept = move_aside(&home.join(FILE_NAME))?;
            (Registry::open(home)?, Some(kept))
        }
        Err(error) => return Err(error),
    };
    let restored = registry.insert_missing(markers, now)?;
    drop(lock);
    Ok((registry, Restored { damaged, ..restored }))
}

impl Registry {
    /// Inserts the rows that are missing, each held, and for [`crate::REBUILT_LEASE_SECONDS`]
    /// counted as leased. Nothing that is there is changed.
    pub fn insert_missing(&self, markers: &[Worktree], now: i64) -> Result<Restored> {
        self.immediately(|| {
            let mut restored = Restored::default();
            for marker in markers {
                match self.insert_marker(marker, now)? {
                    Inserted::Now => restored.inserted.push(marker.id),
                    Inserted::Before => restored.present.push(marker.id),
                    Inserted::Not(holder) => {
                        restored.conflicts.push(Conflict { id: marker.id, holder });
                    }
                }
            }
            Ok(restored)
        })
    }

    fn insert_marker(&self, marker: &Worktree, now: i64) -> Result<Inserted> {
        if let Some(row) = self.get(marker.id)? {
            if row.nonce == marker.nonce {
                return Ok(Inserted::Before);
            }
            let Worktree { id, name, path, state, .. } = row;
            return Ok(Inserted::Not(Holder { id, name, path, state }));
        }
        let row = Worktree {
            state: State::Held,
            epoch: marker.epoch.saturating_add(1),
            rebuilt_at: Some(now),
            ..marker.clone()
        };
        match self.require_free(&row) {
            Ok(()) => row::insert(&self.connection, &row).at(&self.path).map(|_| Inserted::Now),
            Err(Error::NameTaken(holder) | Error::PathTaken(holder)) => Ok(Inserted::Not(holder)),
            Err(error) => Err(error),
        }
    }
}

enum Inserted {
    Now,
    Before,
    Not(Holder),
}

/// Holds a lock until it is dropped; the kernel drops it with a killed process. The file is an
/// empty database that stays empty.
fn lock(path: &Path) -> Result<Connection> {
    ensure_file(path)?;
    let connection = connect(path)?;
    connection.execute_batch("BEGIN EXCLUSIVE").at(path)?;
    Ok(connection)
}

/// Opening reads no more than the first page and the schema; this reads all of it.
fn require_sound(registry: Registry) -> Result<Registry> {
    let verdict: String = registry
        .connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .at(&registry.path)?;
    if verdict != "ok" {
        let code = rusqlite::ffi::Error::new(SQLITE_CORRUPT);
        let source = rusqlite::Error::SqliteFailure(code, Some(verdict));
        return Err(Error::Corrupt { path: registry.path, source });
    }
    registry.list_all()?;
    Ok(registry)
}

/// Renames a database and what SQLite keeps beside it; the database last, so that none of these is
/// ever beside a new database and taken for its own. The caller holds the lock.
fn move_aside(path: &Path) -> Result<PathBuf> {
    const BESIDE: [&str; 4] = ["-wal", "-journal", "-shm", ""];
    let mut number = 1;
    let kept = loop {
        let kept = beside(path, &format!(".damaged-{number}"));
        let mut is_free = true;
        for suffix in BESIDE {
            is_free &= !fs_sys::exists(&beside(&kept, suffix))?;
        }
        if is_free {
            break kept;
        }
        number += 1;
    };
    for suffix in BESIDE {
        match fs_sys::rename(&beside(path, suffix), &beside(&kept, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    tracing::warn!(path = %path.display(), kept = %kept.display(), "moved a damaged registry aside");
    Ok(kept)
}
