//! Why a call of git, or a look into its files, failed.

use std::path::PathBuf;

use crate::index::ParseError;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call of git, or a look into its files, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It ended with another exit code than 0.
    #[error("git {intent} failed{}: {message}", code.map(|code| format!(" with exit code {code}")).unwrap_or_default())]
    Failed {
        /// What was asked of it (`read-tree`, `worktree add`).
        intent: &'static str,
        /// Its exit code; `None` if a signal ended it.
        code: Option<i32>,
        /// What it said to the person.
        message: String,
    },
    /// Its output is not what its documentation promises.
    #[error("git {intent} printed something unexpected")]
    Output {
        /// What was asked of it.
        intent: &'static str,
    },
    /// A file of git's could not be read or written.
    #[error(transparent)]
    Fs(#[from] fs_sys::Error),
    /// An index that cannot be understood.
    #[error("cannot read the index {}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// Why.
        #[source]
        source: ParseError,
    },
}
