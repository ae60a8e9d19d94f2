//! Linux: openat2, FICLONE, statx, renameat2, /proc.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, RawDir, RenameFlags, ResolveFlags, StatxFlags, openat, openat2, statx,
};
use rustix::io::Errno;

use super::{FileSystem, Identity};
use crate::dir::{Dir, LIST_BUFFER_BYTES, ListBuffer, Listed, OPEN_DIR, Place};
use crate::error::{Error, ErrorKind, Result, call};
use crate::file::File;
use crate::node;
use crate::process::{Liveness, ProcessId};
use crate::stat::{Kind, Mode, Time};

/// One openat2 (Linux 5.6) resolves the whole path. Where a sandbox's filter or an older kernel
/// does not have it, the components are opened one by one.
pub(crate) fn open_dir_beneath(dir: &Dir, relative: &Path) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let path = || dir.path().join(relative);
    let opened =
        call("open", path, || openat2(dir, relative, OPEN_DIR, rustix::fs::Mode::empty(), resolve));
    match opened {
        Err(error) if is_missing_call(&error) => crate::dir::open_by_component(dir, relative),
        other => other,
    }
}

fn is_missing_call(error: &Error) -> bool {
    // Docker's older seccomp profiles answer EPERM to calls they do not know.
    [Errno::NOSYS, Errno::PERM]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&error.source.raw_os_error())
}

/// The id of the mount a directory is on (statx, Linux 5.8). Two bind mounts of one file system
/// differ, which `st_dev` does not show.
pub fn mount_id(dir: &Dir) -> Result<u64> {
    let flags = AtFlags::EMPTY_PATH;
    call("stat", || dir.path().to_owned(), || statx(dir, "", flags, StatxFlags::MNT_ID))
        .map(|found| found.stx_mnt_id)
}

pub(crate) fn identity(dir: &Dir) -> Result<Identity> {
    let wanted = StatxFlags::INO | StatxFlags::UID | StatxFlags::BTIME;
    let flags = AtFlags::EMPTY_PATH;
    let found = call("stat", || dir.path().to_owned(), || statx(dir, "", flags, wanted))?;
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let birth = has_birth
        .then_some(Time { seconds: found.stx_btime.tv_sec, nanos: found.stx_btime.tv_nsec });
    Ok(Identity { ino: found.stx_ino, birth, uid: found.stx_uid })
}

pub(crate) fn file_system(dir: &Dir) -> Result<FileSystem> {
    let found = call("stat", || dir.path().to_owned(), || rustix::fs::fstatfs(dir))?;
    // The magic numbers of statfs(2).
    Ok(match found.f_type {
        0xEF53 => FileSystem::Ext,
        0x5846_5342 => FileSystem::Xfs,
        0x9123_683E => FileSystem::Btrfs,
        0x0102_1994 => FileSystem::Tmpfs,
        0x794C_7630 => FileSystem::Overlay,
        // NFS, SMB, CIFS, SMB2, AFS, Ceph, 9p.
        0x6969 | 0x517B | 0xFF53_4D42 | 0xFE53_4D42 | 0x5346_414F | 0x00C3_6400 | 0x0102_1997 => {
            FileSystem::Network
        }
        0x6573_5546 => FileSystem::Fuse,
        _ => FileSystem::Other,
    })
}

pub(crate) fn create_clone<'a>(
    source: &File<'_>,
    place: Place<'a>,
    mode: Mode,
) -> Result<File<'a>> {
    let file = File::create(place, mode)?;
    let cloned = file.call("clone into", || rustix::fs::ioctl_ficlone(&file, source));
    let Err(error) = cloned else { return Ok(file) };
    drop(file);
    node::remove_file_at(place)?;
    // EINVAL: the file system has the call and cannot for these two files (ioctl_ficlonerange(2)).
    let is_invalid = error.source.raw_os_error() == Some(Errno::INVAL.raw_os_error());
    Err(if is_invalid { error.with_kind(ErrorKind::Unsupported) } else { error })
}

pub(crate) fn copy_range(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    offset: u64,
    length: usize,
) -> rustix::io::Result<usize> {
    let (mut read, mut written) = (offset, offset);
    rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut written), length)
}

pub(crate) fn rename_noreplace(from: &Path, to: &Path) -> Result<()> {
    let flags = RenameFlags::NOREPLACE;
    call("rename to", || to.to_owned(), || rustix::fs::renameat_with(CWD, from, CWD, to, flags))
}

pub(crate) fn list(
    dir: &Dir,
    buffer: &mut ListBuffer,
    each: &mut dyn FnMut(Listed<'_>) -> Result<()>,
) -> Result<()> {
    // A descriptor of its own: the position in a directory belongs to the open file.
    let path = || dir.path().to_owned();
    let fd = call("list", path, || openat(dir, ".", OPEN_DIR, rustix::fs::Mode::empty()))?;
    buffer.clear();
    buffer.reserve(LIST_BUFFER_BYTES);
    let spare: &mut [MaybeUninit<u8>] = buffer.spare_capacity_mut();
    let mut entries = RawDir::new(&fd, spare);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|errno| Error::new("list", path(), errno))?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match Kind::of(entry.file_type()) {
            Some(kind) => kind,
            None => node::stat_at(dir.at(name))?.kind,
        };
        each(Listed { name, kind })?;
    }
    Ok(())
}

pub(crate) fn this_process() -> ProcessId {
    let pid = std::process::id();
    ProcessId {
        pid,
        start_ticks: start_ticks(pid).unwrap_or(0),
        boot_id: boot_id().unwrap_or_default(),
        pid_namespace: pid_namespace().unwrap_or(0),
    }
}

pub(crate) fn liveness(process: &ProcessId) -> Liveness {
    match boot_id() {
        Some(boot) if boot != process.boot_id => return Liveness::Dead,
        None => return Liveness::Unknown,
        Some(_) => {}
    }
    if pid_namespace() != Some(process.pid_namespace) {
        return Liveness::Unknown;
    }
    match crate::path::exists(Path::new(&format!("/proc/{}", process.pid))) {
        Ok(false) => Liveness::Dead,
        Err(_) => Liveness::Unknown,
        Ok(true) => match start_ticks(process.pid) {
            Some(ticks) if ticks == process.start_ticks => Liveness::Alive,
            Some(_) => Liveness::Dead,
            None => Liveness::Unknown,
        },
    }
}

fn start_ticks(pid: u32) -> Option<u64> {
    let stat = proc_text(&format!("/proc/{pid}/stat"))?;
    parse_start_ticks(&stat)
}

/// Field 22 of `proc_pid_stat(5)`. The second field is the program's name in parentheses and may hold
/// anything, so the count starts behind the last one.
fn parse_start_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> Option<String> {
    proc_text("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

fn pid_namespace() -> Option<u64> {
    crate::path::stat_following(Path::new("/proc/self/ns/pid")).ok().map(|stat| stat.ino)
}

fn proc_text(path: &str) -> Option<String> {
    let bytes = crate::path::read_file(Path::new(path)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let fields: Vec<String> = (3..=30).map(|number| number.to_string()).collect();
        let stat = format!("42 (a ) b (c) {}", fields.join(" "));
        assert_eq!(parse_start_ticks(&stat), Some(22));
    }

    #[test]
    fn this_process_is_alive_and_its_successor_is_not() {
        let this = this_process();
        assert_eq!(liveness(&this), Liveness::Alive);
        let other = ProcessId { start_ticks: this.start_ticks + 1, ..this.clone() };
        assert_eq!(liveness(&other), Liveness::Dead);
        let reboot = ProcessId { boot_id: "another".to_owned(), ..this.clone() };
        assert_eq!(liveness(&reboot), Liveness::Dead);
        let foreign = ProcessId { pid_namespace: 1, ..this };
        assert_eq!(liveness(&foreign), Liveness::Unknown);
    }
}
