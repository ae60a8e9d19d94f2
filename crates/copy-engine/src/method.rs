//! Which way bytes come over, decided once for a pair of file systems.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use fs_sys::ErrorKind;

/// A way to bring a file's bytes over, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Share the extents (FICLONE, clonefile).
    Reflink,
    /// Let the kernel copy (`copy_file_range(2)`); some file systems share there too.
    CopyRange,
    /// Read and write.
    ReadWrite,
}

/// The methods that are left. All files fall to the next one before the first success; after it only
/// the single file does that cannot be had this way (btrfs refuses to clone between files with and
/// without `chattr +C`). A full disk is never a reason to fall: that would turn clones into copies.
#[derive(Debug)]
pub struct Ladder {
    rung: AtomicU8,
    lowest: Method,
    has_succeeded: AtomicBool,
}

const METHODS: [Method; 3] = [Method::Reflink, Method::CopyRange, Method::ReadWrite];

impl Ladder {
    /// From `first` down to `lowest`.
    pub fn new(first: Method, lowest: Method) -> Self {
        Self { rung: AtomicU8::new(first as u8), lowest, has_succeeded: AtomicBool::new(false) }
    }

    /// The method in use.
    pub fn method(&self) -> Method {
        METHODS[usize::from(self.rung.load(Ordering::Relaxed)).min(METHODS.len() - 1)]
    }

    pub(crate) fn succeeded(&self) {
        // A plain load first: the line stays shared among the workers after the first file.
        if !self.has_succeeded.load(Ordering::Relaxed) {
            self.has_succeeded.store(true, Ordering::Relaxed);
        }
    }

    /// After `method` failed with `error`: the next one to try, or the error where there is none.
    pub(crate) fn after(&self, method: Method, error: fs_sys::Error) -> fs_sys::Result<Method> {
        let is_cannot = matches!(error.kind, ErrorKind::Unsupported | ErrorKind::CrossDevice);
        if !is_cannot || method >= self.lowest {
            return Err(error);
        }
        let now = self.method();
        if now > method {
            // Another worker found out first.
            return Ok(now);
        }
        let next = METHODS[(method as usize + 1).min(METHODS.len() - 1)];
        if !self.has_succeeded.load(Ordering::Relaxed) {
            self.rung.fetch_max(next as u8, Ordering::Relaxed);
        }
        Ok(next)
    }
}
