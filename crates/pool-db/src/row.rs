//! A worktree as a row: the one place that knows the order of the columns.

use std::path::PathBuf;

use fs_sys::process::ProcessId;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, ToSql, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Holder;
use crate::paths::{Blob, FromBlob};
use crate::repository::Repository;
use crate::worktree::{ProcessIdForm, Worktree};

/// The columns in the order in which [`read`] takes them, as a literal for `concat!`.
macro_rules! columns {
    () => {
        "id, nonce, name, state, epoch, repository_key, common_dir, source, path, making_path, \
         admin_dir, trash_path, placement, mode, backend, passed_over, carry, base, branch, maker, \
         created_at, last_used_at, rebuilt_at, extra, directory, sealed"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!(
    "INSERT INTO worktrees (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
     ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)"
);

/// All but what makes the row the row it is, what only a move changes, and what a touch changes.
const UPDATE: &str = "UPDATE worktrees SET common_dir = ?5, source = ?6, path = ?7, \
    making_path = ?8, admin_dir = ?9, trash_path = ?10, placement = ?11, mode = ?12, \
    backend = ?13, passed_over = ?14, carry = ?15, base = ?16, branch = ?17, maker = ?18, \
    extra = ?19, directory = ?20, sealed = ?21 \
    WHERE id = ?1 AND nonce = ?2 AND state = ?3 AND epoch = ?4";

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Worktree> {
    let mut columns = Columns { row, next: 0 };
    // The order of the fields is the order of the columns.
    let (id, nonce, name) = (columns.take()?, columns.take()?, columns.take()?);
    let (state, epoch, identity) = (columns.take()?, columns.take()?, columns.take()?);
    Ok(Worktree {
        id,
        nonce,
        name,
        state,
        epoch,
        repository: Repository { identity, common_dir: columns.path()? },
        source: columns.path()?,
        path: columns.path()?,
        making_path: columns.optional_path()?,
        admin_dir: columns.optional_path()?,
        trash_path: columns.optional_path()?,
        placement: columns.take()?,
        mode: columns.take()?,
        backend: columns.take()?,
        passed_over: columns.take::<Json<_>>()?.0,
        carry: columns.take()?,
        base: columns.take::<Json<_>>()?.0,
        branch: columns.take()?,
        maker: columns.take::<Json<Process>>()?.0.0,
        created_at: columns.take()?,
        last_used_at: columns.take()?,
        rebuilt_at: columns.take()?,
        extra: columns.take::<Json<_>>()?.0,
        directory: columns.take()?,
        sealed: columns.optional_path()?,
    })
}

pub(crate) fn insert(connection: &Connection, worktree: &Worktree) -> rusqlite::Result<usize> {
    connection.prepare_cached(INSERT)?.execute(params![
        worktree.id,
        worktree.nonce,
        worktree.name,
        worktree.state,
        worktree.epoch,
        worktree.repository.identity,
        Blob(&worktree.repository.common_dir),
        Blob(&worktree.source),
        Blob(&worktree.path),
        worktree.making_path.as_deref().map(Blob),
        worktree.admin_dir.as_deref().map(Blob),
        worktree.trash_path.as_deref().map(Blob),
        worktree.placement,
        worktree.mode,
        worktree.backend,
        Json(&worktree.passed_over),
        worktree.carry,
        Json(&worktree.base),
        worktree.branch,
        process(&worktree.maker),
        worktree.created_at,
        worktree.last_used_at,
        worktree.rebuilt_at,
        Json(&worktree.extra),
        worktree.directory,
        worktree.sealed.as_deref().map(Blob),
    ])
}

/// Says how many rows changed: none if the row is gone or has moved.
pub(crate) fn update(connection: &Connection, worktree: &Worktree) -> rusqlite::Result<usize> {
    connection.prepare_cached(UPDATE)?.execute(params![
        worktree.id,
        worktree.nonce,
        worktree.state,
        worktree.epoch,
        Blob(&worktree.repository.common_dir),
        Blob(&worktree.source),
        Blob(&worktree.path),
        worktree.making_path.as_deref().map(Blob),
        worktree.admin_dir.as_deref().map(Blob),
        worktree.trash_path.as_deref().map(Blob),
        worktree.placement,
        worktree.mode,
        worktree.backend,
        Json(&worktree.passed_over),
        worktree.carry,
        Json(&worktree.base),
        worktree.branch,
        process(&worktree.maker),
        Json(&worktree.extra),
        worktree.directory,
        worktree.sealed.as_deref().map(Blob),
    ])
}

/// Reads `id, name, path, state`.
pub(crate) fn read_holder(row: &Row<'_>) -> rusqlite::Result<Holder> {
    let mut columns = Columns { row, next: 0 };
    Ok(Holder {
        id: columns.take()?,
        name: columns.take()?,
        path: columns.path()?,
        state: columns.take()?,
    })
}

/// Takes the columns of a row one after the other: by name, each would be searched for.
struct Columns<'a, 'stmt> {
    row: &'a Row<'stmt>,
    next: usize,
}

impl Columns<'_, '_> {
    fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.get(index)
    }

    fn path(&mut self) -> rusqlite::Result<PathBuf> {
        self.take::<FromBlob>().map(|path| path.0)
    }

    fn optional_path(&mut self) -> rusqlite::Result<Option<PathBuf>> {
        self.take::<Option<FromBlob>>().map(|path| path.map(|path| path.0))
    }
}

/// A process as a column has it.
pub(crate) fn process(process: &ProcessId) -> impl ToSql {
    Json(Process(process.clone()))
}

/// The process in a column that may hold none.
pub(crate) fn read_process(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ProcessId>> {
    row.get::<_, Option<Json<Process>>>(column).map(|process| process.map(|process| process.0.0))
}

#[derive(Serialize, Deserialize)]
struct Process(#[serde(with = "ProcessIdForm")] ProcessId);

/// A column of JSON text.
struct Json<T>(T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        serde_json::to_string(&self.0)
            .map(ToSqlOutput::from)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Self)
            .map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}
