//! Leases: who holds a worktree, and until when.
//!
//! A lease is part of its worktree's row, so that a touch is one UPDATE and goes with the worktree. It
//! ends by the clock that counts since boot, which nobody can set; by the wall clock only once the
//! machine was started anew.

use std::collections::HashMap;

use fs_sys::process::ProcessId;
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::{Error, Result, SqlContext as _};
use crate::id::{LeaseId, WorktreeId};
use crate::registry::Registry;
use crate::row;
use crate::worktree::Worktree;

/// Who holds a worktree, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What touch and release must present.
    pub id: LeaseId,
    /// Who, in the holder's words.
    pub holder: String,
    /// The process that it is tied to, if any.
    pub process: Option<ProcessId>,
    /// When it began, in seconds since 1970.
    pub acquired_at: i64,
    /// When it was touched last, in seconds since 1970.
    pub touched_at: i64,
    /// How long it holds after each touch, in seconds.
    pub ttl_seconds: i64,
    /// When it ends, in seconds since 1970.
    pub expires_at: i64,
    /// When it was given back, in seconds since 1970.
    pub released_at: Option<i64>,
}

/// The present, by the clocks that leases are measured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970.
    pub wall: i64,
    /// Seconds since boot, time asleep included (`CLOCK_BOOTTIME`).
    pub boot: i64,
    /// Which boot; empty where the platform does not say, and then the wall clock counts.
    pub boot_id: String,
}

/// The columns in the order in which [`read`] takes them.
macro_rules! columns {
    () => {
        "lease_id, lease_holder, lease_process, lease_acquired_at, lease_touched_at, lease_ttl, \
         lease_expires_at, lease_released_at"
    };
}

/// Whether the lease of a row holds at ?1 (wall), ?2 (boot), ?3 (which boot).
macro_rules! is_current {
    () => {
        "lease_id IS NOT NULL AND lease_released_at IS NULL \
         AND iif(lease_boot_id = ?3 AND ?3 <> '', lease_expires_boot > ?2, lease_expires_at > ?1)"
    };
}

impl Registry {
    /// Writes the row of a new worktree that is leased from its beginning; as [`Registry::insert`].
    pub fn insert_leased(&self, worktree: &Worktree, lease: &Lease, now: &Moment) -> Result<()> {
        self.immediately(|| {
            self.require_free(worktree)?;
            row::insert(&self.connection, worktree).at(&self.path)?;
            let Lease { id, holder, process, acquired_at, touched_at, ttl_seconds, .. } = lease;
            let process = process.as_ref().map(row::process);
            self.connection
                .prepare_cached(
                    "UPDATE worktrees SET lease_id = ?2, lease_holder = ?3, lease_process = ?4, \
                     lease_acquired_at = ?5, lease_touched_at = ?6, lease_ttl = ?7, \
                     lease_expires_at = ?8, lease_expires_boot = ?9, lease_boot_id = ?10 \
                     WHERE id = ?1",
                )
                .and_then(|mut statement| {
                    statement.execute(params![
                        worktree.id,
                        id,
                        holder,
                        process,
                        acquired_at,
                        touched_at,
                        ttl_seconds,
                        lease.expires_at,
                        now.boot.saturating_add(*ttl_seconds),
                        now.boot_id,
                    ])
                })
                .at(&self.path)
                .map(drop)
        })
    }

    /// The lease of a worktree, whether it still holds or not.
    pub fn lease(&self, id: WorktreeId) -> Result<Option<Lease>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM worktrees WHERE id = ?1 AND lease_id IS NOT NULL"
        );
        self.connection
            .prepare_cached(SQL)
            .and_then(|mut statement| statement.query_row([id], read))
            .optional()
            .at(&self.path)
    }

    /// The leases that hold now.
    pub fn current_leases(&self, now: &Moment) -> Result<HashMap<WorktreeId, Lease>> {
        const SQL: &str =
            concat!("SELECT ", columns!(), ", id FROM worktrees WHERE ", is_current!());
        self.connection
            .prepare_cached(SQL)
            .and_then(|mut statement| {
                let pair = |row: &Row<'_>| Ok((row.get("id")?, read(row)?));
                statement.query_map(params![now.wall, now.boot, now.boot_id], pair)?.collect()
            })
            .at(&self.path)
    }

    /// The lease of a worktree if it holds now.
    pub fn current_lease(&self, id: WorktreeId, now: &Moment) -> Result<Option<Lease>> {
        const SQL: &str =
            concat!("SELECT ", columns!(), " FROM worktrees WHERE id = ?4 AND ", is_current!());
        self.connection
            .prepare_cached(SQL)
            .and_then(|mut statement| {
                let key = params![now.wall, now.boot, now.boot_id, id];
                statement.query_row(key, read)
            })
            .optional()
            .at(&self.path)
    }

    /// Prolongs a lease, also one that has expired and that nobody has missed yet. A condemned worktree
    /// is held again, in a new epoch, so that a removal under way finds it moved. [`Error::StaleLease`]
    /// if this is not its lease, or was given back; [`Error::Moved`] if it is being removed.
    pub fn touch(&self, id: WorktreeId, lease: LeaseId, now: &Moment) -> Result<Lease> {
        const SQL: &str = concat!(
            "UPDATE worktrees SET last_used_at = max(last_used_at, ?1), lease_touched_at = ?1, \
             lease_expires_at = ?1 + lease_ttl, lease_expires_boot = ?2 + lease_ttl, \
             lease_boot_id = ?3, epoch = epoch + (state = 'condemned'), \
             state = iif(state = 'condemned', 'held', state) \
             WHERE id = ?4 AND lease_id = ?5 AND lease_released_at IS NULL \
             AND state IN ('held', 'condemned') RETURNING ",
            columns!()
        );
        self.immediately(|| {
            let touched = self
                .connection
                .prepare_cached(SQL)
                .and_then(|mut statement| {
                    let values = params![now.wall, now.boot, now.boot_id, id, lease];
                    statement.query_row(values, read)
                })
                .optional()
                .at(&self.path)?;
            touched.map_or_else(|| Err(self.why_not_leased(id, lease)), Ok)
        })
    }

    /// Gives a lease back; one that was given back already stays so. [`Error::StaleLease`] if this is
    /// not the worktree's lease.
    pub fn release(&self, id: WorktreeId, lease: LeaseId, now: i64) -> Result<()> {
        self.immediately(|| {
            let released = self
                .connection
                .prepare_cached(
                    "UPDATE worktrees SET lease_released_at = coalesce(lease_released_at, ?1) \
                     WHERE id = ?2 AND lease_id = ?3",
                )
                .and_then(|mut statement| statement.execute(params![now, id, lease]))
                .at(&self.path)?;
            if released == 0 { Err(self.why_not_leased(id, lease)) } else { Ok(()) }
        })
    }

    fn why_not_leased(&self, id: WorktreeId, lease: LeaseId) -> Error {
        match self.lease(id) {
            Ok(Some(found)) if found.id == lease && found.released_at.is_none() => {
                self.why_missed(id)
            }
            Ok(None) if self.get(id).is_ok_and(|row| row.is_none()) => Error::NoSuchWorktree { id },
            Ok(_) => Error::StaleLease { id },
            Err(error) => error,
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Lease> {
    Ok(Lease {
        id: row.get(0)?,
        holder: row.get(1)?,
        process: row::read_process(row, 2)?,
        acquired_at: row.get(3)?,
        touched_at: row.get(4)?,
        ttl_seconds: row.get(5)?,
        expires_at: row.get(6)?,
        released_at: row.get(7)?,
    })
}
