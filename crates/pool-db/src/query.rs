//! What is asked of the registry.

use std::path::Path;

use rusqlite::{OptionalExtension as _, Params, params};

use crate::error::{Result, SqlContext as _};
use crate::id::WorktreeId;
use crate::paths::Blob;
use crate::registry::Registry;
use crate::repository::RepositoryIdentity;
use crate::row::{self, columns};
use crate::worktree::Worktree;

impl Registry {
    /// The worktree with this id, in whatever state.
    pub fn get(&self, id: WorktreeId) -> Result<Option<Worktree>> {
        self.one(concat!("SELECT ", columns!(), " FROM worktrees WHERE id = ?1"), params![id])
    }

    /// The worktree of this name in a repository. One that is being removed has lost its name.
    pub fn find_by_name(
        &self,
        repository: &RepositoryIdentity,
        name: &str,
    ) -> Result<Option<Worktree>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM worktrees WHERE repository_key = ?1 AND name = ?2 AND state <> 'removing'"
        );
        self.one(SQL, params![repository, name])
    }

    /// The worktrees of this name in any repository, those being removed left out.
    pub fn find_by_name_anywhere(&self, name: &str) -> Result<Vec<Worktree>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM worktrees WHERE name = ?1 AND state <> 'removing' ORDER BY created_at, id"
        );
        self.all(SQL, params![name])
    }

    /// The worktree whose tree holds `path` or is at it; of nested ones the innermost. Those being
    /// removed are left out: something else may be at their path by now.
    pub fn find_by_path_containing(&self, path: &Path) -> Result<Option<Worktree>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM worktrees WHERE path = ?1 AND state <> 'removing'"
        );
        for ancestor in path.ancestors() {
            if let Some(found) = self.one(SQL, params![Blob(ancestor)])? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The worktrees of a repository, in every state, the oldest first.
    pub fn list(&self, repository: &RepositoryIdentity) -> Result<Vec<Worktree>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM worktrees WHERE repository_key = ?1 ORDER BY created_at, id"
        );
        self.all(SQL, params![repository])
    }

    /// The worktrees that somebody makes or removes, or died at it; the oldest first.
    pub fn list_unfinished(&self) -> Result<Vec<Worktree>> {
        const SQL: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM worktrees WHERE state IN ('making', 'condemned', 'removing') \
             ORDER BY created_at, id"
        );
        self.all(SQL, params![])
    }

    /// Every worktree, in every state, the oldest first.
    pub fn list_all(&self) -> Result<Vec<Worktree>> {
        self.all(concat!("SELECT ", columns!(), " FROM worktrees ORDER BY created_at, id"), [])
    }

    /// The worktrees that stand on the sealed tree in this directory, in every state: it must stay as long
    /// as there is one. Those of other homes that share the store are not among them.
    pub fn standing_on(&self, sealed: &Path) -> Result<Vec<WorktreeId>> {
        self.connection
            .prepare_cached("SELECT id FROM worktrees WHERE sealed = ?1 ORDER BY created_at, id")
            .and_then(|mut statement| {
                statement.query_map(params![Blob(sealed)], |row| row.get(0))?.collect()
            })
            .at(&self.path)
    }

    fn one(&self, sql: &str, parameters: impl Params) -> Result<Option<Worktree>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(parameters, row::read))
            .optional()
            .at(&self.path)
    }

    fn all(&self, sql: &str, parameters: impl Params) -> Result<Vec<Worktree>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(parameters, row::read)?.collect())
            .at(&self.path)
    }
}
