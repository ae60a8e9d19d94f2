//! Locks on files that the kernel gives up with the process that holds them (`flock(2)`).

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode as RawMode, OFlags};
use rustix::io::Errno;

use crate::error::{Result, call};

/// Who else may hold the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Others who share it.
    Shared,
    /// Nobody.
    Exclusive,
}

/// A lock, held until it is dropped or the process ends. Child processes do not inherit it.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "closing it gives the lock up")] OwnedFd);

/// Takes the lock on the file at `path`, which is made if it is not there; `None` if somebody holds it
/// in a way that does not allow it. A link is not followed.
pub fn try_lock(path: &Path, sharing: Sharing) -> Result<Option<FileLock>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = RawMode::from_raw_mode(0o600);
    let file = call("open", || path.to_owned(), || rustix::fs::open(path, flags, mode))?;
    let operation = match sharing {
        Sharing::Shared => FlockOperation::NonBlockingLockShared,
        Sharing::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let locked = call(
        "lock",
        || path.to_owned(),
        || match rustix::fs::flock(&file, operation) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            done => done.map(|()| true),
        },
    )?;
    Ok(locked.then(|| FileLock(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_share_or_one_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = |sharing| try_lock(&path, sharing).unwrap();
        let first = lock(Sharing::Shared).unwrap();
        let second = lock(Sharing::Shared).unwrap();
        assert!(lock(Sharing::Exclusive).is_none());
        drop((first, second));
        let only = lock(Sharing::Exclusive).unwrap();
        assert!(lock(Sharing::Shared).is_none() && lock(Sharing::Exclusive).is_none());
        drop(only);
        assert!(lock(Sharing::Exclusive).is_some());
    }
}
