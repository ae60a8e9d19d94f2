//! macOS: fclonefileat, renamex_np. APFS clones by descriptor, so no path is resolved twice.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, CloneFlags, RenameFlags};
use rustix::io::Errno;

use super::{FileSystem, Identity};
use crate::dir::{Dir, ListBuffer, Listed, Place};
use crate::error::{Error, ErrorKind, Result, call};
use crate::file::File;
use crate::node;
use crate::process::{Liveness, ProcessId};
use crate::stat::{Kind, Mode};

/// What reading an attribute says that is not there.
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NOATTR;

pub(crate) fn open_dir_beneath(dir: &Dir, relative: &Path) -> Result<OwnedFd> {
    crate::dir::open_by_component(dir, relative)
}

/// macOS has no bind mounts: the device number tells mounts apart.
pub fn mount_id(dir: &Dir) -> Result<u64> {
    dir.stat().map(|stat| stat.dev)
}

pub(crate) fn identity(dir: &Dir) -> Result<Identity> {
    let stat = dir.stat()?;
    Ok(Identity { ino: stat.ino, birth: None, uid: stat.owner.uid })
}

pub(crate) fn file_system(dir: &Dir) -> Result<FileSystem> {
    let found = call("stat", || dir.path().to_owned(), || rustix::fs::fstatfs(dir))?;
    #[expect(clippy::cast_sign_loss, reason = "the name is ASCII")]
    let name: Vec<u8> =
        found.f_fstypename.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    Ok(match name.as_slice() {
        b"apfs" => FileSystem::Apfs,
        b"nfs" | b"smbfs" | b"afpfs" | b"webdav" => FileSystem::Network,
        b"macfuse" | b"osxfuse" => FileSystem::Fuse,
        _ => FileSystem::Other,
    })
}

pub(crate) fn create_clone<'a>(
    source: &File<'_>,
    place: Place<'a>,
    mode: Mode,
) -> Result<File<'a>> {
    // The clone takes the source's mode and owner over; the caller's mode is put on it afterwards.
    call(
        "clone into",
        || place.path(),
        || rustix::fs::fclonefileat(source.as_fd(), place.dir, place.name, CloneFlags::NOOWNERCOPY),
    )?;
    // For reading: a clone of a read-only file is read-only too, and everything that is set on a
    // file needs its owner, not a descriptor for writing.
    let opened = File::open(place).and_then(|file| file.set_mode(mode).map(|()| file));
    if opened.is_err() {
        node::remove_file_at(place)?;
    }
    opened
}

/// There is no copy_file_range: the caller reads and writes.
pub(crate) fn copy_range(
    _from: BorrowedFd<'_>,
    _to: BorrowedFd<'_>,
    _offset: u64,
    _length: usize,
) -> rustix::io::Result<usize> {
    Err(Errno::NOTSUP)
}

/// Sets the mode of an entry that may not be opened; a link is not followed.
pub(crate) fn set_mode_unopened(place: Place<'_>, mode: Mode) -> Result<()> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    call("chmod", || place.path(), || rustix::fs::chmodat(place.dir, place.name, mode.raw(), flags))
}

pub(crate) fn rename_noreplace(from: &Path, to: &Path) -> Result<()> {
    let flags = RenameFlags::NOREPLACE;
    call("rename to", || to.to_owned(), || rustix::fs::renameat_with(CWD, from, CWD, to, flags))
}

pub(crate) fn list(
    dir: &Dir,
    _buffer: &mut ListBuffer,
    each: &mut dyn FnMut(Listed<'_>) -> Result<()>,
) -> Result<()> {
    let path = || dir.path().to_owned();
    let entries = call("list", path, || rustix::fs::Dir::read_from(dir))?;
    for entry in entries {
        let entry = entry.map_err(|errno| Error::new("list", path(), errno))?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match Kind::of(entry.file_type()) {
            Some(kind) => kind,
            None => match node::stat_at(dir.at(name)) {
                Ok(stat) => stat.kind,
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            },
        };
        each(Listed { name, kind })?;
    }
    Ok(())
}

/// Without /proc the start time is left to a later process scan: liveness is then unknown, which
/// every caller takes as alive.
pub(crate) fn this_process() -> ProcessId {
    ProcessId { pid: std::process::id(), start_ticks: 0, boot_id: String::new(), pid_namespace: 0 }
}

pub(crate) fn find_process(_pid: u32) -> Option<ProcessId> {
    None
}

pub(crate) fn boot_id() -> Option<String> {
    None
}

pub(crate) fn liveness(process: &ProcessId) -> Liveness {
    let Ok(Some(pid)) = i32::try_from(process.pid).map(rustix::process::Pid::from_raw) else {
        return Liveness::Unknown;
    };
    match rustix::process::test_kill_process(pid) {
        Err(Errno::SRCH) => Liveness::Dead,
        _ => Liveness::Unknown,
    }
}
