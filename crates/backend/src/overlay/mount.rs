//! Mounting a tree, also one whose store was moved, and unmounting it.

use std::path::Path;
use std::time::Duration;

use fs_sys::{
    Dir, ErrorKind, FileSystem, Kind, Mode, Overlay, Superblock, Unmount, Unmounted, Writable,
};

use super::{is_bare, moved, protect};
use crate::error::{Error, Result};
use crate::{Stack, overlay};

/// What is at a tree's mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is mounted there.
    Bare,
    /// The tree is.
    Mounted(Superblock),
    /// Something else is.
    Foreign,
}

/// Mounts a tree at its bare mount point.
pub(super) fn mount(stack: &Stack, point: &Path) -> fs_sys::Result<()> {
    let (upper, work) = (stack.upper(), stack.work());
    let writable = Some(Writable { upper: &upper, work: &work });
    let way = fs_sys::mount_overlay(&Overlay { lower: &stack.layers, writable }, point)?;
    tracing::debug!(?way, point = %point.display(), layers = stack.layers.len(), "mounted");
    Ok(())
}

/// Mounts a tree if it is not mounted.
pub(super) fn attach(stack: &Stack, point: &Path) -> Result<()> {
    match state(stack, point)? {
        State::Mounted(_) => return Ok(()),
        State::Foreign => return Err(Error::ForeignMount { path: point.to_owned() }),
        State::Bare => {}
    }
    // A copy of a store has no mount points that are worth anything, or none at all.
    match fs_sys::make_dir(point, overlay::BARE) {
        Err(error) if error.kind != ErrorKind::Exists => return Err(error.into()),
        // What has the place of a mount point by now may be somebody's, and is not touched.
        Err(_) if !is_bare(&fs_sys::stat(point)?) || !fs_sys::list(point)?.is_empty() => {
            return Err(Error::ForeignMount { path: point.to_owned() });
        }
        Ok(()) | Err(_) => {}
    }
    protect(point)?;
    let mounted = mount(stack, point).or_else(|error| {
        if error.kind != ErrorKind::Stale {
            return Err(error.into());
        }
        tracing::info!(tree = %point.display(), "the store was moved");
        moved::settle(stack)?;
        Ok(mount(stack, point)?)
    });
    match mounted {
        Err(Error::Fs(error)) if error.kind == ErrorKind::Busy => match state(stack, point)? {
            // Somebody else was quicker.
            State::Mounted(_) => Ok(()),
            State::Bare | State::Foreign => Err(Error::InUse { path: point.to_owned() }),
        },
        other => other,
    }
}

/// Unmounts a tree; one that is not mounted is success.
pub(super) fn detach(stack: &Stack, point: &Path) -> Result<()> {
    let mut tries = 1;
    loop {
        let mounted = match state(stack, point)? {
            State::Bare => return Ok(()),
            State::Foreign => return Err(Error::ForeignMount { path: point.to_owned() }),
            State::Mounted(mounted) => mounted,
        };
        if is_held_elsewhere(&mounted)? {
            return Err(Error::InUse { path: point.to_owned() });
        }
        match fs_sys::unmount(point, Unmount::Now) {
            Ok(Unmounted::Done) => {}
            // Locked by a mount namespace with more rights, or gone since.
            Ok(Unmounted::NotMounted) => return Ok(()),
            Err(error) if error.kind == ErrorKind::Busy && tries < TRIES => {
                tries += 1;
                std::thread::sleep(WAIT);
            }
            Err(error) if error.kind == ErrorKind::Busy => {
                return Err(Error::InUse { path: point.to_owned() });
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// How often, and how long in between, others are given time to let go: whoever only looks into a tree, as a
/// prompt's `git status` does, is gone in a moment, and a container that starts has every mount for one.
const TRIES: usize = 40;
const WAIT: Duration = Duration::from_millis(25);

/// Whether another mount namespace has the tree mounted: there it would stay, with whoever works in it, and
/// here it could not be mounted again.
fn is_held_elsewhere(mounted: &Superblock) -> Result<bool> {
    for _ in 0..TRIES {
        if fs_sys::mounted_elsewhere(mounted)?.is_none() {
            return Ok(false);
        }
        std::thread::sleep(WAIT);
    }
    Ok(true)
}

/// The tree's topmost directory, if it is mounted.
pub(super) fn require_mounted(stack: &Stack, point: &Path) -> Result<Dir> {
    match state(stack, point)? {
        State::Mounted(_) => Ok(fs_sys::open_dir(point)?),
        State::Bare => Err(Error::NotAttached { path: point.to_owned() }),
        State::Foreign => Err(Error::ForeignMount { path: point.to_owned() }),
    }
}

/// What is at the mount point. The table of mounts, which grows with the trees, is read only where
/// something is mounted and the kernel does not tell of one mount alone.
pub(super) fn state(stack: &Stack, point: &Path) -> Result<State> {
    let found = match fs_sys::stat(point) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(State::Bare),
        other => other?,
    };
    // Not ours, and nothing that we mounted.
    if found.kind != Kind::Directory {
        return Ok(State::Bare);
    }
    let dir = fs_sys::open_dir(point)?;
    let above = fs_sys::open_dir(point.parent().unwrap_or(point))?;
    if fs_sys::mount_id(&dir)? == fs_sys::mount_id(&above)? {
        return Ok(State::Bare);
    }
    if FileSystem::of(&dir)? != FileSystem::Overlay {
        return Ok(State::Foreign);
    }
    let upper = stack.upper();
    let resolved = fs_sys::canonicalize(&upper).unwrap_or_else(|_| upper.clone());
    let is_ours = |mounted: &Superblock| {
        let named = mounted.option("upperdir");
        named.iter().any(|named| names(named, &upper) || names(named, &resolved))
    };
    let ours = fs_sys::superblock_of(&dir)?.filter(is_ours);
    Ok(ours.map_or(State::Foreign, State::Mounted))
}

/// Whether the option names the path. The kernel shows it as it was given: quoted, where it came
/// as an option and not as a descriptor.
fn names(option: &std::ffi::OsStr, path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    if option == path.as_os_str() {
        return true;
    }
    let mut quoted = option.as_bytes().iter();
    let mut plain: Vec<u8> = Vec::with_capacity(option.len());
    while let Some(byte) = quoted.next() {
        plain.extend(if *byte == b'\\' { quoted.next() } else { Some(byte) });
    }
    plain == path.as_os_str().as_bytes()
}

/// Makes a directory in a layer whose attributes are those that the tree shows.
pub(super) fn make_dir_like(like: &Dir, parent: &Dir, name: &std::ffi::OsStr) -> Result<()> {
    fs_sys::make_dir_at(parent.at(name), Mode(0o700))?;
    crate::capture::copy_attributes(like, &parent.open_child(name)?)
}
