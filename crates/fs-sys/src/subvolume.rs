//! btrfs subvolumes: made, snapshotted and removed as root and as a plain user, without any program.

use std::path::{Path, PathBuf};

use crate::dir::{Dir, Place};
use crate::error::{ErrorKind, Result};
use crate::node::stat_at;
use crate::os::{self, FileSystem};
use crate::path::with_parent;
use crate::remove::remove_tree;
use crate::stat::Kind;

/// Whether a subvolume may be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nobody may, root neither; it cannot be renamed either.
    ReadOnly,
    /// As its permissions say.
    ReadWrite,
}

/// The inode number of every subvolume's topmost directory (`BTRFS_FIRST_FREE_OBJECTID`).
pub(crate) const ROOT_INODE: u64 = 256;

/// Whether `dir` is the topmost directory of a btrfs subvolume.
pub fn is_subvolume_root(dir: &Dir) -> Result<bool> {
    Ok(dir.stat()?.ino == ROOT_INODE && FileSystem::of(dir)? == FileSystem::Btrfs)
}

/// Makes an empty subvolume, and fails if anything is there. It belongs to the caller; its mode is 0777
/// cut by the umask. Everybody may who may make a directory there. [`ErrorKind::Unsupported`] where
/// the file system is not btrfs.
pub fn create_subvolume(path: &Path) -> Result<()> {
    with_parent(path, os::create_subvolume)
}

/// Makes `path` a snapshot of the subvolume `source`, and fails if anything is there. It is atomic: what
/// is written to the source meanwhile is in it or not. Subvolumes in the source are not in it: an empty
/// directory (inode 2) stands in their place (see [`nested_subvolumes`]). Root may, and the owner of the
/// source.
pub fn snapshot_subvolume(source: &Path, path: &Path, access: Access) -> Result<()> {
    let source = crate::path::open_dir(source)?;
    with_parent(path, |place| os::snapshot_subvolume(&source, place, access))
}

/// Whether a subvolume may be written to.
pub fn subvolume_access(subvolume: &Dir) -> Result<Access> {
    os::subvolume_access(subvolume)
}

/// Says whether a subvolume may be written to; for root and its owner. [`ErrorKind::Busy`] where
/// something is being sent from it.
pub fn set_subvolume_access(subvolume: &Dir, access: Access) -> Result<()> {
    os::set_subvolume_access(subvolume, access)
}

/// Where in the subvolume `root` other subvolumes are, relative to it, each after the one it is in.
/// The kernel says for nothing that there are none; only if there are is the tree walked.
pub fn nested_subvolumes(root: &Dir) -> Result<Vec<PathBuf>> {
    if os::has_nested_subvolumes(root)? == Some(false) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut buffer = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        let dir = match root.open_beneath(&relative) {
            // It went away, or is a mount point: another file system, or a subvolume of its own that
            // is mounted there and not in the tree.
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::CrossDevice) => {
                continue;
            }
            other => other?,
        };
        if !relative.as_os_str().is_empty() && is_subvolume_root(&dir)? {
            found.push(relative.clone());
        }
        dir.list(&mut buffer, &mut |entry| {
            if entry.kind == Kind::Directory {
                pending.push(relative.join(entry.name));
            }
            Ok(())
        })?;
    }
    found.sort();
    Ok(found)
}

/// How a subvolume was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubvolumeRemoved {
    /// Nothing was there.
    WasGone,
    /// At once; the kernel frees its space in the background.
    Destroyed,
    /// File by file and then as a directory (rmdir of an empty subvolume, Linux 4.18): what its owner
    /// may do where the file system is not mounted with `user_subvol_rm_allowed`.
    Emptied,
}

/// Removes the subvolume at `path` with all subvolumes in it, read-only ones too. Already gone is success;
/// what is there and is no subvolume is removed like any tree.
pub fn remove_subvolume(path: &Path) -> Result<SubvolumeRemoved> {
    let is_there = with_parent(path, |place| match stat_at(place) {
        Ok(stat) => Ok(stat.kind == Kind::Directory),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    });
    let is_directory = match is_there {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(SubvolumeRemoved::WasGone),
        other => other?,
    };
    if is_directory {
        let done = with_parent(path, remove_at)?;
        if done == SubvolumeRemoved::Destroyed {
            return Ok(done);
        }
    }
    let removed = remove_tree(path)?;
    Ok(match removed.entries {
        0 => SubvolumeRemoved::WasGone,
        _ => SubvolumeRemoved::Emptied,
    })
}

/// Makes what is at `place` removable, and removes it if that can be done at once.
fn remove_at(place: Place<'_>) -> Result<SubvolumeRemoved> {
    let root = match place.dir.open_child(place.name) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(SubvolumeRemoved::WasGone),
        other => other?,
    };
    if !is_subvolume_root(&root)? {
        return Ok(SubvolumeRemoved::Emptied);
    }
    make_writable(&root)?;
    let nested = nested_subvolumes(&root)?;
    // All of them first: one is not removed out of another that is read-only.
    for relative in &nested {
        make_writable(&root.open_beneath(relative)?)?;
    }
    // The innermost first: none is removed that holds another.
    for relative in nested.iter().rev() {
        let parent = root.open_beneath(relative.parent().unwrap_or(Path::new("")))?;
        destroy(parent.at(relative.file_name().unwrap_or_default()))?;
    }
    destroy(place)
}

/// Makes a subvolume one that may be written to.
pub(crate) fn make_writable(subvolume: &Dir) -> Result<()> {
    match os::subvolume_access(subvolume)? {
        Access::ReadWrite => Ok(()),
        Access::ReadOnly => os::set_subvolume_access(subvolume, Access::ReadWrite),
    }
}

/// EPERM is what the owner is told without `user_subvol_rm_allowed`; ENOTEMPTY that one of the
/// subvolumes in it could not be destroyed for that.
fn destroy(place: Place<'_>) -> Result<SubvolumeRemoved> {
    match os::destroy_subvolume(place) {
        Ok(()) => Ok(SubvolumeRemoved::Destroyed),
        Err(error) if matches!(error.kind, ErrorKind::Denied | ErrorKind::NotEmpty) => {
            Ok(SubvolumeRemoved::Emptied)
        }
        Err(error) if error.kind == ErrorKind::NotFound => Ok(SubvolumeRemoved::WasGone),
        Err(error) => Err(error),
    }
}
