//! Whose commands may run: the configurations that the user trusts, and what is still to be run at a
//! worktree's end.
//!
//! Commands are kept in the database only. A marker can be written by whoever works in the tree, and a
//! command in it would be run as the user.

use rusqlite::{OptionalExtension as _, params};

use crate::error::{Result, SqlContext as _};
use crate::id::WorktreeId;
use crate::registry::Registry;
use crate::repository::RepositoryIdentity;

impl Registry {
    /// Trusts the configuration of this content in this repository.
    pub fn trust(&self, repository: &RepositoryIdentity, content: &str, now: i64) -> Result<()> {
        self.execute(
            "INSERT INTO trusted VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET trusted_at = excluded.trusted_at",
            params![repository, content, now],
        )
        .map(drop)
    }

    /// Trusts no configuration of this repository any more, and says how many there were.
    pub fn distrust(&self, repository: &RepositoryIdentity) -> Result<usize> {
        self.execute("DELETE FROM trusted WHERE repository_key = ?1", params![repository])
    }

    /// Whether the configuration of this content is trusted in this repository.
    pub fn is_trusted(&self, repository: &RepositoryIdentity, content: &str) -> Result<bool> {
        self.connection
            .prepare_cached("SELECT 1 FROM trusted WHERE repository_key = ?1 AND content = ?2")
            .and_then(|mut statement| statement.exists(params![repository, content]))
            .at(&self.path)
    }

    /// Writes what is to be run at a worktree's end.
    pub fn set_cleanup(&self, id: WorktreeId, command: &str) -> Result<()> {
        self.execute("UPDATE worktrees SET cleanup = ?2 WHERE id = ?1", params![id, command])
            .map(drop)
    }

    /// Takes what is to be run at a worktree's end: of all who ask, one gets it. It is gone from the
    /// database before it runs, so that it never runs twice.
    pub fn take_cleanup(&self, id: WorktreeId) -> Result<Option<String>> {
        self.immediately(|| {
            let command: Option<String> = self
                .connection
                .prepare_cached("SELECT cleanup FROM worktrees WHERE id = ?1")
                .and_then(|mut statement| statement.query_row(params![id], |row| row.get(0)))
                .optional()
                .at(&self.path)?
                .flatten();
            if command.is_some() {
                self.connection
                    .prepare_cached("UPDATE worktrees SET cleanup = NULL WHERE id = ?1")
                    .and_then(|mut statement| statement.execute(params![id]))
                    .at(&self.path)?;
            }
            Ok(command)
        })
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize> {
        self.immediately(|| {
            self.connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute(parameters))
                .at(&self.path)
        })
    }
}
