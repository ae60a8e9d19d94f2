//! The tables, as steps from one `user_version` to the next.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{Error, Result, SqlContext as _};

/// The newest version: how many steps there are.
pub(crate) const KNOWN: usize = STEPS.len();

/// Step `n` leads from version `n` to `n + 1`. A step that was released is never edited.
///
/// Name and path are unique among rows that are not being removed: a removed tree's files may take
/// a while to go, and meanwhile its name can be used again.
const STEPS: &[&str] = &[
    "
CREATE TABLE worktrees (
    id             TEXT    NOT NULL PRIMARY KEY,
    nonce          TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    epoch          INTEGER NOT NULL,
    repository_key TEXT    NOT NULL,
    common_dir     BLOB    NOT NULL,
    source         BLOB    NOT NULL,
    path           BLOB    NOT NULL,
    making_path    BLOB,
    admin_dir      BLOB,
    trash_path     BLOB,
    placement      TEXT    NOT NULL,
    mode           TEXT    NOT NULL,
    backend        TEXT    NOT NULL,
    passed_over    TEXT    NOT NULL,
    carry          TEXT    NOT NULL,
    base           TEXT    NOT NULL,
    branch         TEXT,
    maker          TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    last_used_at   INTEGER NOT NULL,
    rebuilt_at     INTEGER,
    extra          TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX worktrees_by_name ON worktrees (repository_key, name)
    WHERE state <> 'removing';
CREATE UNIQUE INDEX worktrees_by_path ON worktrees (path) WHERE state <> 'removing';
",
    "
ALTER TABLE worktrees ADD COLUMN directory TEXT;
ALTER TABLE worktrees ADD COLUMN sealed BLOB;
ALTER TABLE worktrees ADD COLUMN cleanup TEXT;
CREATE TABLE trusted (
    repository_key TEXT    NOT NULL,
    content        TEXT    NOT NULL,
    trusted_at     INTEGER NOT NULL,
    PRIMARY KEY (repository_key, content)
) STRICT;
",
    "
ALTER TABLE worktrees ADD COLUMN lease_id           TEXT;
ALTER TABLE worktrees ADD COLUMN lease_holder       TEXT;
ALTER TABLE worktrees ADD COLUMN lease_process      TEXT;
ALTER TABLE worktrees ADD COLUMN lease_acquired_at  INTEGER;
ALTER TABLE worktrees ADD COLUMN lease_touched_at   INTEGER;
ALTER TABLE worktrees ADD COLUMN lease_ttl          INTEGER;
ALTER TABLE worktrees ADD COLUMN lease_expires_at   INTEGER;
ALTER TABLE worktrees ADD COLUMN lease_expires_boot INTEGER;
ALTER TABLE worktrees ADD COLUMN lease_boot_id      TEXT;
ALTER TABLE worktrees ADD COLUMN lease_released_at  INTEGER;
",
];

/// The version of a database.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))
        .map(|version| version as usize)
}

/// Refuses a database that a newer program made, before anything in it was changed.
pub(crate) fn require_known(found: usize, path: &Path) -> Result<()> {
    if found <= KNOWN {
        return Ok(());
    }
    Err(Error::Newer { path: path.to_owned(), found: number(found), known: number(KNOWN) })
}

/// Takes the steps that are missing, all or none. The version is read again inside the transaction:
/// of many programs that open a new database at once, one does the work.
pub(crate) fn migrate(connection: &Connection, path: &Path) -> Result<()> {
    if version(connection).at(path)? == KNOWN {
        return Ok(());
    }
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).at(path)?;
    let found = version(&transaction).at(path)?;
    require_known(found, path)?;
    for step in &STEPS[found..] {
        transaction.execute_batch(step).at(path)?;
    }
    transaction.pragma_update(None, "user_version", number(KNOWN)).at(path)?;
    transaction.commit().at(path)
}

/// A version as SQLite and messages have it.
pub(crate) fn number(version: usize) -> u32 {
    u32::try_from(version).unwrap_or(u32::MAX)
}
