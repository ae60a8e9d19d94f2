//! Copies trees in parallel: by reflink, by `copy_file_range`, or by reading and writing.
//!
//! Two ways in, one way to copy a file: [`copy_listed`] takes exactly the entries of a [`Manifest`]
//! (a commit's files, each admitted by a [`Gate`] at the open file), [`copy_tree`] takes all that a
//! walk finds (carried content, with its times, attributes and hard links). Both return what lstat
//! said of each file after its last write.
//!
//! One directory is one task: its worker makes the directory's children and no other worker writes
//! in it, so that making entries never contends. Only a directory of more than 1,024 files is shared
//! out, once it exists.
//!
//! It must never replace an entry, follow a link, open a FIFO, socket or device, leave the root it
//! was given, or report a copy of a file that changed while it was copied.

mod error;
mod file;
mod listed;
mod manifest;
mod method;
mod progress;
mod settle;
mod tree;

use std::num::NonZero;

pub use error::{Error, Result};
pub use listed::{Content, Gate, Listed, Rejection, copy_listed};
pub use manifest::{Item, Manifest};
pub use method::{Ladder, Method};
pub use progress::{Bytes, Cancel, Progress};
pub use tree::{CopiedFile, Existing, Filter, Skip, Skipped, Tree, Verdict, copy_tree};
/// What a [`Filter`] is told of the project's own ignore rules.
pub use walk::Ignore;

/// How a copy is made.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The methods to use, the best first.
    pub ladder: &'a Ladder,
    /// Threads.
    pub workers: NonZero<usize>,
    /// Told of every file.
    pub progress: &'a Progress,
    /// Looked at before every file, and within large ones.
    pub cancel: &'a Cancel,
}

/// Workers at most on this platform. On macOS more than eight run into the descriptor limit of 256
/// that a shell gives, and APFS gains nothing beyond.
pub const MAX_WORKERS: usize = if cfg!(target_vendor = "apple") { 8 } else { walk::MAX_WORKERS };

/// As many workers as this machine has use for.
pub fn default_workers() -> NonZero<usize> {
    walk::worker_count(MAX_WORKERS)
}
