//! Marker files: what a row holds, beside the tree it speaks of.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fs_sys::Mode;
use serde::{Deserialize, Serialize};

use crate::worktree::Worktree;

/// A marker's name: in the admin directory, in a standalone tree's `.git`, or in the store.
pub const FILE_NAME: &str = "fwt.json";

/// The newest version that this program knows.
const VERSION: u32 = 1;

/// More than a marker with the longest paths and names needs. Whoever works in the tree can write
/// its marker, and must not fill the memory of who reads it.
const SIZE_LIMIT: u64 = 256 * 1024;

/// Only the owner reads it: it holds the nonce.
const MODE: Mode = Mode(0o600);

/// Why a marker cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file itself.
    #[error(transparent)]
    Files(#[from] fs_sys::Error),
    /// It is no marker, or one that was cut off or edited.
    #[error("the marker {} is damaged", path.display())]
    Damaged {
        /// The marker.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It is larger than any marker.
    #[error("the marker {} is {size} bytes long", path.display())]
    TooLarge {
        /// The marker.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// A newer program wrote it.
    #[error("the marker {} has version {found}, this program knows up to {VERSION}", path.display())]
    Newer {
        /// The marker.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

/// Writes the marker of a new worktree. Fails if there is one: it is another worktree's.
pub fn create(path: &Path, worktree: &Worktree) -> Result<(), Error> {
    Ok(fs_sys::write_new(path, &to_json(path, worktree)?, MODE)?)
}

/// Puts a marker in the place of the worktree's old one, at once.
pub fn replace(path: &Path, worktree: &Worktree) -> Result<(), Error> {
    let beside = OsStr::new("fwt.json.new");
    Ok(fs_sys::replace_file(path, beside, &to_json(path, worktree)?, MODE)?)
}

/// Reads a marker. What it says of an id or a path is a claim until a row confirms it.
pub fn read(path: &Path) -> Result<Worktree, Error> {
    let size = fs_sys::stat(path)?.size;
    if size > SIZE_LIMIT {
        return Err(Error::TooLarge { path: path.to_owned(), size });
    }
    parse(path, &fs_sys::read_file(path)?)
}

/// Reads a marker's bytes that the caller got through a descriptor of its own; `path` is for
/// messages.
pub fn parse(path: &Path, json: &[u8]) -> Result<Worktree, Error> {
    let damaged = |source| Error::Damaged { path: path.to_owned(), source };
    // First alone: the rest may not be readable with what this version knows.
    let VersionOnly { version } = serde_json::from_slice(json).map_err(damaged)?;
    if version > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found: version });
    }
    let Versioned { content, .. } = serde_json::from_slice(json).map_err(damaged)?;
    Ok(content)
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

fn to_json(path: &Path, worktree: &Worktree) -> Result<Vec<u8>, Error> {
    let mut json = serde_json::to_vec_pretty(&Versioned { version: VERSION, content: worktree })
        .map_err(|source| Error::Damaged { path: path.to_owned(), source })?;
    json.push(b'\n');
    Ok(json)
}
