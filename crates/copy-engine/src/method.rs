//! Which way bytes come over, decided once for a pair of file systems.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

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
/// without `chattr +C`). Where the first file may be such a one, the next ones are tried too: else it
/// would turn a whole tree of clones into copies. A full disk is never a reason to fall: that would turn clones into copies.
#[derive(Debug)]
pub struct Ladder {
    rung: AtomicU8,
    lowest: Method,
    has_succeeded: AtomicBool,
    /// Refusals that may be of the single file, before the first success.
    refusals: AtomicUsize,
}

/// So many files in a row may be refused for themselves; then it is the file system.
const MAX_REFUSALS: usize = 16;

const METHODS: [Method; 3] = [Method::Reflink, Method::CopyRange, Method::ReadWrite];

impl Ladder {
    /// From `first` down to `lowest`.
    pub fn new(first: Method, lowest: Method) -> Self {
        Self {
            rung: AtomicU8::new(first as u8),
            lowest,
            has_succeeded: AtomicBool::new(false),
            refusals: AtomicUsize::new(0),
        }
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
        let is_lasting = now == method
            && !self.has_succeeded.load(Ordering::Relaxed)
            && (!error.is_of_these_files()
                || self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_REFUSALS);
        if is_lasting {
            self.rung.fetch_max(next as u8, Ordering::Relaxed);
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EINVAL: i32 = 22;
    const EOPNOTSUPP: i32 = if cfg!(target_vendor = "apple") { 102 } else { 95 };

    fn refusal(errno: i32) -> fs_sys::Error {
        let source = std::io::Error::from_raw_os_error(errno);
        let error = fs_sys::Error::from_io("clone into", "/x".into(), source);
        fs_sys::Error { kind: ErrorKind::Unsupported, ..error }
    }

    #[test]
    fn a_file_system_that_cannot_is_asked_once() {
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let next = ladder.after(Method::Reflink, refusal(EOPNOTSUPP)).unwrap();
        assert_eq!((next, ladder.method()), (Method::CopyRange, Method::CopyRange));
        let next = ladder.after(Method::CopyRange, refusal(EOPNOTSUPP)).unwrap();
        assert_eq!((next, ladder.method()), (Method::ReadWrite, Method::ReadWrite));
        assert!(ladder.after(Method::ReadWrite, refusal(EOPNOTSUPP)).is_err());
    }

    #[test]
    fn one_odd_file_does_not_turn_clones_into_copies() {
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        for _ in 1..MAX_REFUSALS {
            let next = ladder.after(Method::Reflink, refusal(EINVAL)).unwrap();
            assert_eq!((next, ladder.method()), (Method::CopyRange, Method::Reflink));
            // The odd file falls further: that decides nothing for the others either.
            let next = ladder.after(Method::CopyRange, refusal(EOPNOTSUPP)).unwrap();
            assert_eq!((next, ladder.method()), (Method::ReadWrite, Method::Reflink));
        }
        ladder.after(Method::Reflink, refusal(EINVAL)).unwrap();
        assert_eq!(ladder.method(), Method::CopyRange);
    }

    #[test]
    fn after_a_success_only_the_single_file_falls() {
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        ladder.succeeded();
        for _ in 0..2 * MAX_REFUSALS {
            ladder.after(Method::Reflink, refusal(EOPNOTSUPP)).unwrap();
        }
        assert_eq!(ladder.method(), Method::Reflink);
    }

    #[test]
    fn a_full_disk_is_no_reason_to_fall() {
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let full = fs_sys::Error { kind: ErrorKind::NoSpace, ..refusal(28) };
        assert_eq!(ladder.after(Method::Reflink, full).unwrap_err().kind, ErrorKind::NoSpace);
        assert_eq!(ladder.method(), Method::Reflink);
    }
}
