//! Mounting: overlays, and what is mounted where.
//!
//! An overlay is mounted with the options that fwt always wants (see [`Overlay`]), by the best of three
//! ways that the kernel has ([`Way`]).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
pub use crate::mount_table::{Mounted, Superblock};
use crate::mount_table::{parse_mount, parse_mount_table};
use crate::os;
pub use crate::os::DetachedMount;

/// Layers at most in one overlay (`OVL_MAX_STACK` of the kernel).
pub const MAX_LAYERS: usize = 500;

/// An overlay that is to be mounted. Always nosuid and nodev, and with these options, of which each
/// has its reason:
///
/// - `index=on`: without it a copy-up breaks hard links, and one upper can be mounted twice;
/// - `redirect_dir=on`: without it renaming a directory of a lower layer is EXDEV;
/// - `metacopy=off`: else an upper file may have a name and no bytes, and no other layer may change;
/// - `nfs_export=off`: it would index directories too, and verify every lower one;
/// - `xino=on`: inode numbers stay unique where the layers are on several file systems.
///
/// A value that is left to the kernel's build or module parameters could differ from machine to machine.
#[derive(Clone, Copy, Debug)]
pub struct Overlay<'a> {
    /// The layers, the topmost first: at least one with a writable layer on it, two without.
    pub lower: &'a [PathBuf],
    /// Where writes go; without it the mount is read-only.
    pub writable: Option<Writable<'a>>,
}

/// The writable part of an overlay: two directories of one file system, in no other use.
#[derive(Clone, Copy, Debug)]
pub struct Writable<'a> {
    /// What was written, as a layer.
    pub upper: &'a Path,
    /// The kernel's own room.
    pub work: &'a Path,
}

/// How the kernel is told of the layers, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Each as an open directory (Linux 6.13): no path is too long or needs escaping.
    Descriptors,
    /// Each by its path of at most 255 bytes (`lowerdir+`, Linux 6.7; the limit is fsconfig's).
    Paths,
    /// All in the options of mount(2), which have one page of memory.
    Options,
}

impl Way {
    /// All, the best first.
    pub const ALL: [Self; 3] = [Self::Descriptors, Self::Paths, Self::Options];
}

/// When a mount goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmount {
    /// Now; [`ErrorKind::Busy`] if anything uses it.
    Now,
    /// Its name now, itself when nothing uses it any more.
    Lazily,
}

/// What an unmount found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmounted {
    /// A mount, and it is gone.
    Done,
    /// No mount, or nothing at all.
    NotMounted,
}

/// Whether the mounts of this process are seen by others on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountNamespace {
    /// It is that of process 1.
    Shared,
    /// It is another one than that of process 1: what is mounted here is invisible elsewhere.
    Private,
    /// It cannot be told; to be taken as shared.
    Unknown,
}

/// Mounts an overlay at the directory `point`, all or nothing, by the best way there is; says by
/// which. `point` is not followed if it is a link. [`ErrorKind::Unsupported`] if the kernel has no
/// overlayfs, [`ErrorKind::Busy`] if the upper is mounted already, [`ErrorKind::Stale`] if the upper
/// was written over other layers than these, or the store was copied.
pub fn mount_overlay(overlay: &Overlay<'_>, point: &Path) -> Result<Way> {
    let mut ways = Way::ALL.into_iter();
    let mut last = ways.next();
    loop {
        let Some(way) = last else { return Err(Error::new("mount", point.into(), Errno::NOSYS)) };
        match mount_overlay_by(way, overlay, point) {
            Ok(()) => return Ok(way),
            Err(Failed::Way(error)) => {
                last = ways.next();
                if last.is_none() {
                    return Err(error);
                }
            }
            Err(Failed::Mount(error)) => return Err(error),
        }
    }
}

/// Mounts an overlay in one certain way.
pub fn mount_overlay_by(
    way: Way,
    overlay: &Overlay<'_>,
    point: &Path,
) -> std::result::Result<(), Failed> {
    if overlay.lower.len() > MAX_LAYERS {
        let error = Error::new("mount", point.into(), Errno::TOOBIG);
        return Err(Failed::Mount(error));
    }
    match way {
        Way::Descriptors | Way::Paths => {
            let mount = os::detached_overlay(way, overlay, point)?;
            mount.attach(point).map_err(Failed::Mount)
        }
        Way::Options => os::mount_overlay_with_options(overlay, point),
    }
}

/// Makes an overlay that is mounted nowhere: it is reached through [`DetachedMount::root`] and goes
/// away with it, also when the process is killed. There is no such thing before Linux 6.7
/// ([`ErrorKind::Unsupported`]).
pub fn detached_overlay(overlay: &Overlay<'_>) -> Result<DetachedMount> {
    let name = overlay.lower.first().cloned().unwrap_or_default();
    match os::detached_overlay(Way::Descriptors, overlay, &name) {
        Err(Failed::Way(_)) => match os::detached_overlay(Way::Paths, overlay, &name) {
            Err(Failed::Way(error)) => Err(error.with_kind(ErrorKind::Unsupported)),
            Err(Failed::Mount(error)) => Err(error),
            Ok(mount) => Ok(mount),
        },
        Err(Failed::Mount(error)) => Err(error),
        Ok(mount) => Ok(mount),
    }
}

/// Why an overlay was not mounted in a certain way.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The kernel does not know this way, or it has no room for these layers: another one may do.
    #[error(transparent)]
    Way(Error),
    /// The mount itself.
    #[error(transparent)]
    Mount(Error),
}

/// Unmounts what is mounted at `point`, the topmost mount if there are several. A link at its end is
/// not followed. [`ErrorKind::Busy`] if it is in use: a current directory, an open file, a mapping or a
/// mount in it.
pub fn unmount(point: &Path, how: Unmount) -> Result<Unmounted> {
    os::unmount(point, how)
}

/// Whether this process may mount: whether it has `CAP_SYS_ADMIN`, in whatever user namespace it is.
pub fn may_mount() -> bool {
    os::may_mount()
}

/// The mounts that this process sees, in the order of the kernel: of two at one point the later one
/// is on top.
pub fn mounts() -> Result<Vec<Mounted>> {
    os::mount_table("/proc/self/mountinfo").map(|table| parse_mount_table(&table))
}

/// The file system of the mount that `dir` is on.
pub fn superblock_of(dir: &Dir) -> Result<Option<Superblock>> {
    match os::superblock_of(dir)? {
        None => superblock_from_table(dir),
        found => Ok(found),
    }
}

fn superblock_from_table(dir: &Dir) -> Result<Option<Superblock>> {
    let start = format!("{} ", os::mount_id(dir)?);
    let table = os::mount_table("/proc/self/mountinfo")?;
    let mut lines = table.split(|byte| *byte == b'\n');
    let found = lines.find(|line| line.starts_with(start.as_bytes())).and_then(parse_mount);
    Ok(found.map(|Mounted { device, super_options: options, .. }| Superblock { device, options }))
}

/// A mount point at or below the directory `path`, which leads to `dir`; that `dir` itself is the topmost
/// directory of a mount does not count.
pub fn mount_inside(dir: &Dir, path: &Path) -> Result<Option<PathBuf>> {
    if let Ok(found) = os::mount_inside(dir)? {
        return Ok(found);
    }
    let own = os::mount_id(dir)?;
    let mut table = mounts()?.into_iter();
    let found = table.find(|mounted| {
        mounted.point.starts_with(path) && !(mounted.point == path && mounted.id == own)
    });
    Ok(found.map(|mounted| mounted.point))
}

/// A process in another mount namespace that has the file system mounted: it keeps it, and
/// whoever works in it, when it is unmounted here. Processes that may not be looked at are left out.
pub fn mounted_elsewhere(superblock: &Superblock) -> Result<Option<u32>> {
    let own = crate::read_link_path(Path::new("/proc/self/ns/mnt"))?;
    let mut seen = vec![own];
    for (name, _) in crate::list(Path::new("/proc"))? {
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let process = Path::new("/proc").join(&name);
        // By one call for each of many processes.
        let Ok(namespace) = rustix::fs::readlink(process.join("ns/mnt"), Vec::new()) else {
            continue;
        };
        let namespace = OsString::from_vec(namespace.into_bytes());
        if seen.contains(&namespace) {
            continue;
        }
        // One that ended meanwhile holds nothing.
        let Ok(table) = crate::read_file(&process.join("mountinfo")) else { continue };
        if parse_mount_table(&table).iter().any(|other| other.device == superblock.device) {
            return Ok(Some(pid));
        }
        seen.push(namespace);
    }
    Ok(None)
}

/// Whether this mount namespace is that of process 1. Told by the mount that `/` is on, since a mount
/// namespace has mounts of its own; both tables may be read by everybody. A process in a chroot
/// without a mount at its root sees no such line: unknown.
pub fn mount_namespace() -> MountNamespace {
    // Tables grow with the trees that are mounted.
    if is_root_of_process_1().unwrap_or(false) {
        return MountNamespace::Shared;
    }
    let root = |path| {
        let table = parse_mount_table(&os::mount_table(path).ok()?);
        table.iter().rev().find(|mounted| mounted.point == Path::new("/")).map(|root| root.id)
    };
    match (root("/proc/self/mountinfo"), root("/proc/1/mountinfo")) {
        (Some(ours), Some(theirs)) if ours == theirs => MountNamespace::Shared,
        (Some(_), Some(_)) => MountNamespace::Private,
        _ => MountNamespace::Unknown,
    }
}

/// Whether the first lines of process 1's table name the mount that our `/` is on.
fn is_root_of_process_1() -> Result<bool> {
    let id = os::mount_id(&crate::open_dir(Path::new("/"))?)?;
    let process = crate::open_dir(Path::new("/proc/1"))?;
    let mut start = [0; 4096];
    let length = File::open(process.at(OsStr::new("mountinfo")))?.read_at(&mut start, 0)?;
    let table = parse_mount_table(&start[..length]);
    Ok(table.iter().any(|mounted| mounted.id == id && mounted.point == Path::new("/")))
}
