//! Why a copy fails as a whole.

use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a copy failed. What it had made by then is the caller's to remove.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call failed.
    #[error(transparent)]
    Fs(#[from] fs_sys::Error),
    /// A file never held still long enough to be copied whole.
    #[error("{} kept changing while it was copied", path.display())]
    KeepsChanging {
        /// The file.
        path: PathBuf,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}
