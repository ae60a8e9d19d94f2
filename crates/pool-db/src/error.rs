//! What can go wrong with the registry, and what SQLite's codes mean to a caller.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::id::WorktreeId;
use crate::state::State;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the registry could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process held the database for longer than we wait; worth another try.
    #[error("the registry {} is locked by another process", path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// No room left.
    #[error("no space left for the registry {}", path.display())]
    Full {
        /// The database, or the file beside it that did not fit.
        path: PathBuf,
    },
    /// The database is on a read-only file system, or not ours to write.
    #[error("the registry {} is read-only", path.display())]
    ReadOnly {
        /// The database, or the file beside it that could not be written.
        path: PathBuf,
    },
    /// The file is damaged or no database: see [`Error::hint`].
    #[error("the registry {} is damaged", path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// A newer program made this database or marker; it was left as it is.
    #[error("{} has version {found}, this program knows up to {known}", path.display())]
    Newer {
        /// The database or marker.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that this program knows.
        known: u32,
    },
    /// The database needs a migration, and cannot be written.
    #[error("the registry {} is read-only and has the old version {found}", path.display())]
    Older {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Another worktree of the same repository has this name.
    #[error("the name {:?} is taken by worktree {}", .0.name, .0.id)]
    NameTaken(Holder),
    /// Another worktree is at this path.
    #[error("the path {} is taken by worktree {}", .0.path.display(), .0.id)]
    PathTaken(Holder),
    /// A move that the table of moves does not have.
    #[error("no move leads from {from} to {to}")]
    NotAllowed {
        /// The state to leave.
        from: State,
        /// The state to reach.
        to: State,
    },
    /// Somebody else was quicker: the worktree is not in the state, or not in the epoch, expected.
    #[error("worktree {id} is {found} by now (epoch {epoch})")]
    Moved {
        /// The worktree.
        id: WorktreeId,
        /// Its state.
        found: State,
        /// Its epoch.
        epoch: u32,
    },
    /// Somebody holds the worktree.
    #[error("worktree {id} is leased by {holder:?}")]
    Leased {
        /// The worktree.
        id: WorktreeId,
        /// Who, in the holder's words.
        holder: String,
        /// Until when, in seconds since 1970.
        expires_at: i64,
    },
    /// What was presented is not the worktree's lease, or no longer.
    #[error("that is not the lease of worktree {id}, or no longer")]
    StaleLease {
        /// The worktree.
        id: WorktreeId,
    },
    /// There is no such row (any more).
    #[error("no worktree {id}")]
    NoSuchWorktree {
        /// The id.
        id: WorktreeId,
    },
    /// The kernel gave no random numbers.
    #[error("cannot get random numbers")]
    Random(#[source] getrandom::Error),
    /// A file beside the database.
    #[error(transparent)]
    Files(fs_sys::Error),
    /// Anything else that SQLite reports.
    #[error("cannot use the registry {}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
}

/// Who has what an insert wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub id: WorktreeId,
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Its state.
    pub state: State,
}

impl Error {
    /// What a person can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        if let Self::Corrupt { .. } = self {
            return Some(
                "the registry can be rebuilt from the worktrees' markers; the damaged file is kept",
            );
        }
        None
    }
}

impl From<fs_sys::Error> for Error {
    fn from(error: fs_sys::Error) -> Self {
        if error.kind == fs_sys::ErrorKind::ReadOnly {
            return Self::ReadOnly { path: error.path };
        }
        if error.kind == fs_sys::ErrorKind::NoSpace {
            return Self::Full { path: error.path };
        }
        Self::Files(error)
    }
}

/// Puts the database's path and a meaning to what SQLite reports.
pub(crate) trait SqlContext<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> SqlContext<T> for rusqlite::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| classify(path.to_owned(), error))
    }
}

fn classify(path: PathBuf, source: rusqlite::Error) -> Error {
    if is_busy(&source) {
        return Error::Busy { path };
    }
    let is_code =
        |codes: &[ErrorCode]| source.sqlite_error_code().is_some_and(|code| codes.contains(&code));
    // unixShmMap reports a wal-index that it could not extend as an I/O error of this kind.
    let is_shm_full = source.sqlite_extended_error_code() == Some(SQLITE_IOERR_SHMSIZE);
    if is_code(&[ErrorCode::DiskFull]) || is_shm_full {
        return Error::Full { path };
    }
    if is_code(&[ErrorCode::ReadOnly]) {
        return Error::ReadOnly { path };
    }
    // A value that cannot be read as what its column holds was not written by us as it stands.
    let is_bad_value = matches!(
        source,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
    );
    if is_bad_value || is_code(&[ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase]) {
        return Error::Corrupt { path, source };
    }
    Error::Database { path, source }
}

/// Locked by somebody; `FileLockingProtocolFailed` is a lost race for the wal-index.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}
