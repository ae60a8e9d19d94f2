//! How far a copy is, and how to stop it: counters that another thread may read and set.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a copy is.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    files: AtomicU64,
    cloned: AtomicU64,
    copied: AtomicU64,
}

/// Bytes by the way they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Shared with the source.
    pub cloned: u64,
    /// Copied.
    pub copied: u64,
}

impl Progress {
    /// Says how many files there are to be; 0 is unknown.
    pub fn expect_files(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Files there are to be, as far as that is known.
    pub fn total_files(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Files done.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Bytes done.
    pub fn bytes(&self) -> Bytes {
        Bytes {
            cloned: self.cloned.load(Ordering::Relaxed),
            copied: self.copied.load(Ordering::Relaxed),
        }
    }

    /// Counts a file.
    pub fn add(&self, bytes: Bytes) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.cloned.fetch_add(bytes.cloned, Ordering::Relaxed);
        self.copied.fetch_add(bytes.copied, Ordering::Relaxed);
    }
}

/// A wish to stop.
#[derive(Debug, Default)]
pub struct Cancel(AtomicBool);

impl Cancel {
    /// Stops whatever looks at this; safe in a signal handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> crate::Result<()> {
        if self.is_cancelled() { Err(crate::Error::Cancelled) } else { Ok(()) }
    }
}
