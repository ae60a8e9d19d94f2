//! Linux: openat2, FICLONE, statx, renameat2, /proc.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, OFlags, RawDir, RenameFlags, ResolveFlags, StatxFlags, openat, openat2, statx,
};
use rustix::io::Errno;

use super::{FileSystem, Identity};
use crate::dir::{Dir, ListBuffer, Listed, OPEN_DIR, Place};
use crate::error::{Error, ErrorKind, Result, call};
use crate::file::File;
use crate::node;
use crate::process::{Liveness, ProcessId};
use crate::stat::{Kind, Mode, Time};

/// What reading an attribute says that is not there.
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NODATA;

/// Bytes that one read of a directory may fill.
const LIST_BUFFER_BYTES: usize = 32 * 1024;

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
    error.is_errno(Errno::NOSYS) || error.is_errno(Errno::PERM)
}

/// The id of the mount a directory is on (statx, Linux 5.8). Two bind mounts of one file system
/// differ, which `st_dev` does not show.
pub fn mount_id(dir: &Dir) -> Result<u64> {
    let (path, flags) = (|| dir.path().to_owned(), AtFlags::EMPTY_PATH);
    match call("stat", path, || statx(dir, "", flags, StatxFlags::MNT_ID)) {
        Ok(found) if found.stx_mask & StatxFlags::MNT_ID.bits() != 0 => Ok(found.stx_mnt_id),
        // An older kernel leaves the field at 0, which would make all mounts one.
        Ok(_) => mount_id_from_proc(dir),
        Err(error) if is_missing_call(&error) => mount_id_from_proc(dir),
        Err(error) => Err(error),
    }
}

/// The same number from `proc_pid_fdinfo(5)` (Linux 3.15).
fn mount_id_from_proc(dir: &Dir) -> Result<u64> {
    let text = proc_text(&format!("/proc/thread-self/fdinfo/{}", dir.as_fd().as_raw_fd()));
    text.as_deref()
        .and_then(parse_mount_id)
        .ok_or_else(|| Error::new("find the mount of", dir.path().to_owned(), Errno::NOSYS))
}

fn parse_mount_id(fdinfo: &str) -> Option<u64> {
    fdinfo.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
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
    match node::remove_file_at(place) {
        // Somebody was quicker; what the clone said is what counts.
        Err(gone) if gone.kind == ErrorKind::NotFound => {}
        removed => removed?,
    }
    // The file system has the call and cannot for these two files (ioctl_ficlonerange(2)).
    let is_cannot = error.is_of_these_files();
    Err(if is_cannot { error.with_kind(ErrorKind::Unsupported) } else { error })
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
        .map_err(|error| {
            // EINVAL is what a file system without the flag says (rename(2)).
            let is_invalid = error.is_errno(Errno::INVAL);
            if is_invalid { error.with_kind(ErrorKind::Unsupported) } else { error }
        })
}

/// Sets the mode of an entry that may not be opened; a link is not followed. rustix has no
/// fchmodat2 (Linux 6.6), so the way is a descriptor that only names the entry.
pub(crate) fn set_mode_unopened(place: Place<'_>, mode: Mode) -> Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let none = rustix::fs::Mode::empty();
    let fd = call("open", || place.path(), || openat(place.dir, place.name, flags, none))?;
    let through = format!("/proc/thread-self/fd/{}", fd.as_raw_fd());
    call("chmod", || place.path(), || rustix::fs::chmod(&through, mode.raw()))
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
        let entry = match entry {
            Err(Errno::INTR) => continue,
            other => other.map_err(|errno| Error::new("list", path(), errno))?,
        };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match Kind::of(entry.file_type()) {
            Some(kind) => kind,
            None => match node::stat_at(dir.at(name)) {
                Ok(stat) => stat.kind,
                // It went away meanwhile; the others are still there.
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            },
        };
        each(Listed { name, kind })?;
    }
    Ok(())
}

pub(crate) fn this_process() -> ProcessId {
    let pid = std::process::id();
    ProcessId {
        pid,
        start_ticks: load_running(pid).map_or(0, |running| running.start_ticks),
        boot_id: boot_id().unwrap_or_default(),
        pid_namespace: pid_namespace().unwrap_or(0),
    }
}

pub(crate) fn find_process(pid: u32) -> Option<ProcessId> {
    let running = load_running(pid).filter(|running| !running.is_zombie)?;
    Some(ProcessId {
        pid,
        start_ticks: running.start_ticks,
        boot_id: boot_id()?,
        pid_namespace: pid_namespace()?,
    })
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
    match load_running(process.pid) {
        Some(running) if running.start_ticks != process.start_ticks => Liveness::Dead,
        Some(running) if running.is_zombie => Liveness::Dead,
        Some(_) => Liveness::Alive,
        None if is_pid_free(process.pid) => Liveness::Dead,
        None => Liveness::Unknown,
    }
}

/// Asked of the kernel and not of /proc, which hides other users' processes under `hidepid`.
fn is_pid_free(pid: u32) -> bool {
    let Ok(Some(pid)) = i32::try_from(pid).map(rustix::process::Pid::from_raw) else {
        return false;
    };
    rustix::process::test_kill_process(pid) == Err(Errno::SRCH)
}

/// What `proc_pid_stat(5)` says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Running {
    start_ticks: u64,
    /// It has ended and its parent has not asked how: it can do nothing any more. A process whose
    /// first thread has ended looks the same, but has others.
    is_zombie: bool,
}

fn load_running(pid: u32) -> Option<Running> {
    parse_running(&proc_text(&format!("/proc/{pid}/stat"))?)
}

/// Fields 3, 20 and 22. The second field is the program's name in parentheses and may hold anything,
/// so the count starts behind the last one.
fn parse_running(stat: &str) -> Option<Running> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
    let threads: u64 = fields.get(17)?.parse().ok()?;
    let is_zombie = matches!(fields[0], "Z" | "X") && threads <= 1;
    Some(Running { start_ticks: fields.get(19)?.parse().ok()?, is_zombie })
}

pub(crate) fn boot_id() -> Option<String> {
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
        let fields: Vec<String> = (4..=30).map(|number| number.to_string()).collect();
        let stat = format!("42 (a ) b (c) S {}", fields.join(" "));
        assert_eq!(parse_running(&stat), Some(Running { start_ticks: 22, is_zombie: false }));
    }

    #[test]
    fn a_process_that_ended_is_a_zombie_unless_threads_of_it_live() {
        for (state, threads, is_zombie) in [("Z", 1, true), ("Z", 2, false), ("R", 1, false)] {
            let stat = format!("7 (x) {state} 1 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 99 0");
            assert_eq!(parse_running(&stat), Some(Running { start_ticks: 99, is_zombie }));
        }
        assert_eq!(parse_running("7 (x) Z 1"), None);
    }

    #[test]
    fn both_ways_to_the_mount_id_agree() {
        let dir = crate::open_dir(Path::new("/proc")).unwrap();
        assert_eq!(mount_id_from_proc(&dir).unwrap(), mount_id(&dir).unwrap());
        assert_eq!(parse_mount_id("pos:\t0\nflags:\t02\nmnt_id:\t31\nino:\t5\n"), Some(31));
        assert_eq!(parse_mount_id("pos:\t0\n"), None);
    }

    #[test]
    fn this_process_is_alive_and_its_successor_is_not() {
        let this = this_process();
        assert_eq!(liveness(&this), Liveness::Alive);
        let other = ProcessId { start_ticks: this.start_ticks + 1, ..this.clone() };
        assert_eq!(liveness(&other), Liveness::Dead);
        assert_eq!(find_process(this.pid), Some(this.clone()));
        assert_eq!(find_process(0), None);
        let reboot = ProcessId { boot_id: "another".to_owned(), ..this.clone() };
        assert_eq!(liveness(&reboot), Liveness::Dead);
        let foreign = ProcessId { pid_namespace: 1, ..this };
        assert_eq!(liveness(&foreign), Liveness::Unknown);
    }
}
