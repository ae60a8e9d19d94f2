//! Removing a tree: links as links, and never across a mount.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::dir::{Dir, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::node::{remove_dir_at, remove_file_at, stat_at};
use crate::path::with_parent;
use crate::stat::{Kind, Mode};
use crate::subvolume::{ROOT_INODE, is_subvolume_root, make_writable};
use crate::{os, process};

/// What a removal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Entries that were unlinked, directories included.
    pub entries: u64,
}

/// Removes the tree at `path`, subvolumes in it too; already gone is success. A symbolic link is removed
/// as a link, its target never touched, also when it takes a directory's place meanwhile. A mount
/// point, `path` itself included, is an error that names it ([`ErrorKind::CrossDevice`] or [`ErrorKind::Busy`]):
/// what is mounted there is not ours.
pub fn remove_tree(path: &Path) -> Result<Removed> {
    let mut removed = Removed::default();
    with_parent(path, |place| {
        let found = match stat_at(place) {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        if found.kind == Kind::Directory {
            remove_directory(place, &mut removed)
        } else {
            removed.count(remove_file_at(place))
        }
    })
    .or_else(|error| {
        // Only the way to it can be missing here.
        let is_gone = error.kind == ErrorKind::NotFound && error.path == path;
        if is_gone { Ok(()) } else { Err(error) }
    })?;
    Ok(removed)
}

impl Removed {
    /// Counts a removal. What somebody else removed first is as gone.
    fn count(&mut self, unlinked: Result<()>) -> Result<()> {
        match unlinked {
            Ok(()) => self.entries += 1,
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Visit {
    Empty,
    Unlink,
}

/// Removes a directory with all in it. The directories still to do are names on the heap, each
/// opened anew from the one above the tree, so that the tree itself may not be a mount point: neither
/// the stack nor the descriptors grow with the depth.
fn remove_directory(tree: Place<'_>, removed: &mut Removed) -> Result<()> {
    let above = tree.dir;
    let mut buffer = Vec::new();
    let tree = PathBuf::from(tree.name);
    let mut pending = vec![(tree.clone(), Visit::Unlink), (tree, Visit::Empty)];
    while let Some((relative, visit)) = pending.pop() {
        let opened = match visit {
            Visit::Empty => open_for_removal(above, &relative),
            Visit::Unlink => above.open_beneath(relative.parent().unwrap_or(Path::new(""))),
        };
        let dir = match opened {
            Err(error) if error.kind == ErrorKind::NotFound => continue,
            other => other?,
        };
        if matches!(visit, Visit::Unlink) {
            let name = relative.file_name().unwrap_or_default();
            removed.count(remove_dir_at(dir.at(name)))?;
            continue;
        }
        for (name, kind) in entries(&dir, &mut buffer)? {
            if kind == Kind::Directory {
                let child = relative.join(&name);
                pending.push((child.clone(), Visit::Unlink));
                pending.push((child, Visit::Empty));
            } else {
                removed.count(remove_file_at(dir.at(&name)))?;
            }
        }
    }
    Ok(())
}

fn entries(dir: &Dir, buffer: &mut Vec<u8>) -> Result<Vec<(OsString, Kind)>> {
    let mut entries = Vec::new();
    let listed = dir.list(buffer, &mut |entry| {
        entries.push((entry.name.to_owned(), entry.kind));
        Ok(())
    });
    match listed {
        Err(error) if error.kind == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map(|()| entries),
    }
}

/// Opens a directory whose entries are to go. One of our own that we may not list, search or write
/// is given these permissions: it is about to go too.
fn open_for_removal(above: &Dir, relative: &Path) -> Result<Dir> {
    let dir = match above.open_beneath(relative) {
        Err(error) if error.kind == ErrorKind::Denied => {
            make_accessible(above, relative, error)?;
            above.open_beneath(relative)?
        }
        other => other?,
    };
    let found = dir.stat()?;
    // A subvolume in a tree may be read-only, as snapshots that are kept are.
    if found.ino == ROOT_INODE && is_subvolume_root(&dir)? {
        make_writable(&dir)?;
    }
    if found.mode.0 & OWNER_ALL.0 != OWNER_ALL.0 && found.owner.uid == process::effective_user() {
        dir.set_mode(OWNER_ALL)?;
    }
    Ok(dir)
}

const OWNER_ALL: Mode = Mode(0o700);

fn make_accessible(above: &Dir, relative: &Path, denied: Error) -> Result<()> {
    let parent = above.open_beneath(relative.parent().unwrap_or(Path::new("")))?;
    let name: &OsStr = relative.file_name().unwrap_or_default();
    // Why it could not be opened says more than why that could not be helped.
    os::set_mode_unopened(parent.at(name), OWNER_ALL).map_err(|_| denied)
}
