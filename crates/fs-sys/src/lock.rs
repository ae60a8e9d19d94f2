//! Locks on files that the kernel gives up with the process that holds them (`flock(2)`).

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode as RawMode, OFlags};
use rustix::io::Errno;

use crate::error::{ErrorKind, Result, call};
use crate::stat::Stat;

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
pub struct FileLock(OwnedFd);

impl FileLock {
    /// Removes the file at `path`, on which this lock is held alone. Who waits for it finds that out and
    /// makes a new one.
    pub fn remove(self, path: &Path) -> Result<()> {
        crate::path::remove_file(path)
    }
}

/// Takes the lock on the file at `path`, which is made if it is not there; `None` if somebody holds it
/// in a way that does not allow it. A link is not followed.
pub fn try_lock(path: &Path, sharing: Sharing) -> Result<Option<FileLock>> {
    loop {
        let Some(lock) = try_lock_file(path, sharing)? else { return Ok(None) };
        // A lock on a file that was removed meanwhile keeps nobody away.
        if is_at(&lock, path)? {
            return Ok(Some(lock));
        }
    }
}

fn is_at(lock: &FileLock, path: &Path) -> Result<bool> {
    let locked = call("stat", || path.to_owned(), || rustix::fs::fstat(&lock.0))?;
    match crate::path::stat(path) {
        Ok(found) => Ok((found.dev, found.ino) == (Stat::of(&locked).dev, Stat::of(&locked).ino)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn try_lock_file(path: &Path, sharing: Sharing) -> Result<Option<FileLock>> {
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

    #[test]
    fn a_lock_whose_file_was_removed_is_no_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let waiting = try_lock_file(&path, Sharing::Shared).unwrap().unwrap();
        let holder = try_lock_file(&path, Sharing::Shared).unwrap().unwrap();
        assert!(is_at(&waiting, &path).unwrap());
        holder.remove(&path).unwrap();
        assert!(!is_at(&waiting, &path).unwrap());
        // Though `waiting` has the file that was there.
        let second = try_lock(&path, Sharing::Exclusive).unwrap().unwrap();
        assert!(is_at(&second, &path).unwrap() && !is_at(&waiting, &path).unwrap());
    }
}
