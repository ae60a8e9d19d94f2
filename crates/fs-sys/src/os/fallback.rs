//! Any other platform: it compiles, and refuses where it cannot keep a promise.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;

use super::{FileSystem, Identity};
use crate::dir::{Dir, ListBuffer, Listed, Place};
use crate::error::{Error, Result};
use crate::file::File;
use crate::process::{Liveness, ProcessId};
use crate::stat::Mode;

/// What reading an attribute says that is not there.
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NOENT;

pub(crate) fn open_dir_beneath(dir: &Dir, relative: &Path) -> Result<OwnedFd> {
    crate::dir::open_by_component(dir, relative)
}

/// The device number, the nearest thing there is.
pub fn mount_id(dir: &Dir) -> Result<u64> {
    dir.stat().map(|stat| stat.dev)
}

pub(crate) fn identity(dir: &Dir) -> Result<Identity> {
    let stat = dir.stat()?;
    Ok(Identity { ino: stat.ino, birth: None, uid: stat.owner.uid })
}

pub(crate) fn file_system(_dir: &Dir) -> Result<FileSystem> {
    Ok(FileSystem::Other)
}

pub(crate) fn create_clone<'a>(
    _source: &File<'_>,
    place: Place<'a>,
    _mode: Mode,
) -> Result<File<'a>> {
    Err(Error::new("clone into", place.path(), Errno::NOSYS))
}

pub(crate) fn copy_range(
    _from: BorrowedFd<'_>,
    _to: BorrowedFd<'_>,
    _offset: u64,
    _length: usize,
) -> rustix::io::Result<usize> {
    Err(Errno::NOSYS)
}

/// Without a way to change a mode and not follow a link, it stays.
pub(crate) fn set_mode_unopened(place: Place<'_>, _mode: Mode) -> Result<()> {
    Err(Error::new("chmod", place.path(), Errno::NOSYS))
}

/// Without a rename that cannot replace, a finished tree cannot be published safely.
pub(crate) fn rename_noreplace(_from: &Path, to: &Path) -> Result<()> {
    Err(Error::new("rename to", to.to_owned(), Errno::NOSYS))
}

pub(crate) fn list(
    dir: &Dir,
    _buffer: &mut ListBuffer,
    _each: &mut dyn FnMut(Listed<'_>) -> Result<()>,
) -> Result<()> {
    Err(Error::new("list", dir.path().to_owned(), Errno::NOSYS))
}

pub(crate) fn this_process() -> ProcessId {
    ProcessId { pid: std::process::id(), start_ticks: 0, boot_id: String::new(), pid_namespace: 0 }
}

pub(crate) fn find_process(_pid: u32) -> Option<ProcessId> {
    None
}

pub(crate) fn boot_id() -> Option<String> {
    None
}

pub(crate) fn liveness(_process: &ProcessId) -> Liveness {
    Liveness::Unknown
}
