//! What changes the registry: each change one short transaction, each a compare-and-set.

use std::path::{Path, PathBuf};

use fs_sys::process::ProcessId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::error::{Error, Holder, Result, SqlContext as _};
use crate::id::WorktreeId;
use crate::lease::{Lease, Moment};
use crate::open::Journal;
use crate::paths::Blob;
use crate::row;
use crate::state::State;
use crate::worktree::Worktree;

/// One connection to the registry.
#[derive(Debug)]
pub struct Registry {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) journal: Journal,
}

impl Registry {
    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the row of a new worktree, before its first file.
    ///
    /// Fails with [`Error::NameTaken`] or [`Error::PathTaken`] if a worktree that is not being
    /// removed has the name in this repository, or the path.
    pub fn insert(&self, worktree: &Worktree) -> Result<()> {
        self.immediately(|| {
            self.require_free(worktree)?;
            row::insert(&self.connection, worktree).at(&self.path).map(drop)
        })
    }

    /// Moves a worktree from one state to the next if it still is in `from` and `epoch`, and says
    /// the new epoch. [`Error::Moved`] if somebody else was quicker.
    pub fn transition(&self, id: WorktreeId, from: State, to: State, epoch: u32) -> Result<u32> {
        let swap = || self.immediately(|| self.swap(id, (from, to), epoch, None));
        // What precedes destruction is on the disk before the first file goes: a power failure must
        // not bring back a row that claims files which are no more.
        if to == State::Removing { self.with_full_sync(swap) } else { swap() }
    }

    /// Condemns a worktree that is held in `epoch` and not leased, and says the new epoch. In the same
    /// moment it becomes the work of the process `by`: what a process that is gone condemned is taken
    /// over by others. [`Error::Leased`] if somebody holds it.
    pub fn condemn(&self, id: WorktreeId, epoch: u32, by: &ProcessId, now: &Moment) -> Result<u32> {
        self.immediately(|| match self.current_lease(id, now)? {
            Some(Lease { holder, expires_at, .. }) => Err(Error::Leased { id, holder, expires_at }),
            None => self.swap(id, (State::Held, State::Condemned), epoch, Some(by)),
        })
    }

    /// Inside a transaction.
    fn swap(
        &self,
        id: WorktreeId,
        (from, to): (State, State),
        epoch: u32,
        maker: Option<&ProcessId>,
    ) -> Result<u32> {
        if !from.may_become(to) {
            return Err(Error::NotAllowed { from, to });
        }
        let maker = maker.map(row::process);
        self.connection
            .prepare_cached(
                "UPDATE worktrees \
                 SET state = ?1, epoch = epoch + 1, maker = coalesce(?5, maker) \
                 WHERE id = ?2 AND state = ?3 AND epoch = ?4 RETURNING epoch",
            )
            .and_then(|mut statement| {
                statement.query_row(params![to, id, from, epoch, maker], |row| row.get(0))
            })
            .optional()
            .at(&self.path)?
            .map_or_else(|| Err(self.why_missed(id)), Ok)
    }

    /// Writes what has become known of a worktree (paths, backend, branch …) if it still is in its
    /// state and epoch. Its name, state, epoch and times are left as they are.
    pub fn update(&self, worktree: &Worktree) -> Result<()> {
        self.immediately(|| {
            if let Some(holder) = self.holder_of_path(worktree)? {
                return Err(Error::PathTaken(holder));
            }
            match row::update(&self.connection, worktree).at(&self.path)? {
                0 => Err(self.why_missed(worktree.id)),
                _ => Ok(()),
            }
        })
    }

    /// Records a use, and says the state after it: a condemned worktree is held again, in a new
    /// epoch, so that a removal under way finds it moved. [`Error::Moved`] if it is being removed.
    pub fn touch_used(&self, id: WorktreeId, now: i64) -> Result<State> {
        self.immediately(|| {
            self.connection
                .prepare_cached(
                    "UPDATE worktrees SET last_used_at = max(last_used_at, ?2), \
                     epoch = epoch + (state = 'condemned'), \
                     state = iif(state = 'condemned', 'held', state) \
                     WHERE id = ?1 AND state <> 'removing' RETURNING state",
                )
                .and_then(|mut statement| statement.query_row(params![id, now], |row| row.get(0)))
                .optional()
                .at(&self.path)?
                .map_or_else(|| Err(self.why_missed(id)), Ok)
        })
    }

    /// Deletes the row of a worktree that is `Removing` in this epoch, after its last file.
    pub fn delete(&self, id: WorktreeId, epoch: u32) -> Result<()> {
        self.immediately(|| {
            let deleted = self
                .connection
                .prepare_cached(
                    "DELETE FROM worktrees WHERE id = ?1 AND state = 'removing' AND epoch = ?2",
                )
                .and_then(|mut statement| statement.execute(params![id, epoch]))
                .at(&self.path)?;
            if deleted == 0 { Err(self.why_missed(id)) } else { Ok(()) }
        })
    }

    /// Runs `act` in a transaction that has the write lock from its beginning, so that what it reads
    /// cannot change before it writes. An error rolls back.
    pub(crate) fn immediately<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
                .at(&self.path)?;
        let value = act()?;
        transaction.commit().at(&self.path)?;
        Ok(value)
    }

    pub(crate) fn require_free(&self, worktree: &Worktree) -> Result<()> {
        if let Some(holder) = self.holder_of_name(worktree)? {
            return Err(Error::NameTaken(holder));
        }
        match self.holder_of_path(worktree)? {
            Some(holder) => Err(Error::PathTaken(holder)),
            None => Ok(()),
        }
    }

    fn holder_of_name(&self, worktree: &Worktree) -> Result<Option<Holder>> {
        self.connection
            .prepare_cached(
                "SELECT id, name, path, state FROM worktrees \
                 WHERE repository_key = ?1 AND name = ?2 AND state <> 'removing'",
            )
            .and_then(|mut statement| {
                let key = params![worktree.repository.identity, worktree.name];
                statement.query_row(key, row::read_holder)
            })
            .optional()
            .at(&self.path)
    }

    /// Who else has the worktree's path; one that is being removed needs none.
    fn holder_of_path(&self, worktree: &Worktree) -> Result<Option<Holder>> {
        if worktree.state == State::Removing {
            return Ok(None);
        }
        self.connection
            .prepare_cached(
                "SELECT id, name, path, state FROM worktrees \
                 WHERE path = ?1 AND state <> 'removing' AND id <> ?2",
            )
            .and_then(|mut statement| {
                statement.query_row(params![Blob(&worktree.path), worktree.id], row::read_holder)
            })
            .optional()
            .at(&self.path)
    }

    /// Why a compare-and-set changed nothing.
    pub(crate) fn why_missed(&self, id: WorktreeId) -> Error {
        let found = self
            .connection
            .prepare_cached("SELECT state, epoch FROM worktrees WHERE id = ?1")
            .and_then(|mut statement| {
                statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
            })
            .optional()
            .at(&self.path);
        match found {
            Ok(Some((found, epoch))) => Error::Moved { id, found, epoch },
            Ok(None) => Error::NoSuchWorktree { id },
            Err(error) => error,
        }
    }

    fn with_full_sync<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        self.connection.pragma_update(None, "synchronous", "FULL").at(&self.path)?;
        let done = act();
        // Staying at FULL would be slower and never wrong.
        if let Err(error) = self.journal.set_synchronous(&self.connection) {
            tracing::warn!(path = %self.path.display(), %error, "synchronous stays FULL");
        }
        done
    }
}

#[cfg(test)]
mod tests;
