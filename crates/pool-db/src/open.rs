//! Opening the database: made if missing, migrated, with the journal that its file system bears.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_sys::{ErrorKind, FileSystem, Mode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use crate::error::{Error, Result, SqlContext as _, is_busy};
use crate::registry::Registry;
use crate::schema;

/// The database's name in its home.
pub(crate) const FILE_NAME: &str = "fwt.db";

/// How long to wait for another process's lock. Transactions take well under a millisecond, so only
/// a stopped process or a dying disk comes near it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How often to try to change the journal mode, and how long to wait in between: SQLite may answer
/// that change with BUSY at once, whatever the busy timeout, to avoid a deadlock. Together as long
/// as [`BUSY_TIMEOUT`].
const JOURNAL_TRIES: u32 = 1000;
const JOURNAL_WAIT: Duration = Duration::from_millis(10);

/// How long the log gets. Who opens the database while nobody else has it open reads all of the log: a
/// thousand pages, which SQLite lets it have, take longer than making a tree over a sealed one.
const LOG_PAGES: u32 = 250;

/// More statements than there are in this crate.
const CACHED_STATEMENTS: usize = 32;

/// How the database survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// A write-ahead log; it needs shared memory, so all processes are on one host.
    Wal,
    /// A rollback journal: it needs no more than locks.
    Rollback,
}

impl Registry {
    /// Opens the registry of `home`; makes both if they are missing.
    pub fn open(home: &Path) -> Result<Self> {
        fs_sys::make_dirs(home, Mode(0o700))?;
        let path = home.join(FILE_NAME);
        ensure_file(&path)?;
        let connection = connect(&path)?;
        if connection.is_readonly(MAIN_DB).at(&path)? {
            return Err(Error::ReadOnly { path });
        }
        prepare(connection, path, home)
    }

    /// Opens the registry of `home` for reading, and makes nothing: `None` if there is none yet.
    /// Where it cannot be written, what would write fails with [`Error::ReadOnly`].
    pub fn open_existing(home: &Path) -> Result<Option<Self>> {
        let path = home.join(FILE_NAME);
        match fs_sys::stat_following(&path) {
            Ok(_) => {}
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
        let connection = connect(&path)?;
        let registry = if connection.is_readonly(MAIN_DB).at(&path)? {
            read_only(connection, path)?
        } else {
            match schema::version(&connection) {
                // The file may be written but not its directory: no place for a log.
                Err(error) if is_without_log(&error) => read_only(connection, path)?,
                // Somebody is making it just now, or was killed before it held anything.
                Ok(0) => return Ok(None),
                Ok(_) => prepare(connection, path, home)?,
                Err(error) => return Err(error).at(&path),
            }
        };
        // Empty and read-only: nobody ever put anything in it.
        Ok((registry.version()? > 0).then_some(registry))
    }

    fn version(&self) -> Result<usize> {
        schema::version(&self.connection).at(&self.path)
    }
}

/// Makes an empty file, which is an empty database, if nothing is there. SQLite would make it with
/// the umask's mode; what it makes beside a database takes the database's mode.
pub(crate) fn ensure_file(path: &Path) -> Result<()> {
    match fs_sys::write_new(path, b"", Mode(0o600)) {
        Err(error) if error.kind != ErrorKind::Exists => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(crate) fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).at(path)?;
    connection.busy_timeout(BUSY_TIMEOUT).at(path)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

fn prepare(connection: Connection, path: PathBuf, home: &Path) -> Result<Registry> {
    // Before anything else, so that a newer program's database is left as it is.
    schema::require_known(schema::version(&connection).at(&path)?, &path)?;
    let file_system = FileSystem::of(&fs_sys::open_dir(home)?)?;
    let journal = Journal::for_file_system(file_system).set(&connection).at(&path)?;
    journal.set_synchronous(&connection).at(&path)?;
    // The last to close would move the log into the database and sync both, for each command anew: on
    // a file system that has just taken in a large tree that takes as long as all else. The log stays,
    // and is moved once it has so many pages.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).at(&path)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES).at(&path)?;
    connection.pragma_update(None, "foreign_keys", true).at(&path)?;
    schema::migrate(&connection, &path)?;
    Ok(Registry { connection, path, journal })
}

/// A database that cannot be written. A log that another mount of the same directory keeps is read
/// as long as its shared memory is there; without a log the file alone is all there is, and SQLite
/// must be told so: it would want to make one.
fn read_only(connection: Connection, path: PathBuf) -> Result<Registry> {
    let connection = match schema::version(&connection) {
        Err(error) if is_without_log(&error) => {
            if has_log(&path)? {
                return Err(Error::ReadOnly { path });
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(&path), flags).at(&path)?
        }
        Ok(_) => connection,
        Err(error) => return Err(error).at(&path),
    };
    let found = schema::version(&connection).at(&path)?;
    schema::require_known(found, &path)?;
    if found != 0 && found < schema::KNOWN {
        return Err(Error::Older { path, found: schema::number(found) });
    }
    Ok(Registry { connection, path, journal: Journal::Rollback })
}

/// What SQLite answers if it can neither make nor open the log of a database.
fn is_without_log(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

fn has_log(path: &Path) -> Result<bool> {
    match fs_sys::stat(&beside(path, "-wal")) {
        Ok(stat) => Ok(stat.size > 0),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A file that SQLite keeps beside the database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a string does not fail");
        }
    }
    uri + "?mode=ro&immutable=1"
}

impl Journal {
    /// Behind FUSE may be another host, as behind a network file system.
    fn for_file_system(file_system: FileSystem) -> Self {
        if matches!(file_system, FileSystem::Network | FileSystem::Fuse) {
            Self::Rollback
        } else {
            Self::Wal
        }
    }

    /// Sets the journal mode if it is another, and says which it is then: a file system without
    /// shared memory keeps the rollback journal.
    fn set(self, connection: &Connection) -> rusqlite::Result<Self> {
        let name = match self {
            Self::Wal => "wal",
            Self::Rollback => "delete",
        };
        let now: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if now == name {
            return Ok(self);
        }
        // Where SQLite does wait, it would wait for each of the tries.
        connection.busy_timeout(Duration::ZERO)?;
        let set = set_journal(connection, name)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(if set == "wal" { Self::Wal } else { Self::Rollback })
    }

    /// With a log, NORMAL loses at most the last commits to a power failure, never consistency;
    /// a rollback journal needs FULL for that.
    pub(crate) fn set_synchronous(self, connection: &Connection) -> rusqlite::Result<()> {
        let level = match self {
            Self::Wal => "NORMAL",
            Self::Rollback => "FULL",
        };
        connection.pragma_update(None, "synchronous", level)
    }
}

/// Tries until nobody else is in the way, and says which mode it is then.
fn set_journal(connection: &Connection, name: &str) -> rusqlite::Result<String> {
    let mut tries = 1;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", name, |row| row.get(0)) {
            Err(error) if is_busy(&error) && tries < JOURNAL_TRIES => {
                tries += 1;
                std::thread::sleep(JOURNAL_WAIT);
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests;
