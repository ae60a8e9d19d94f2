//! Removing a tree: links as links, and never across a mount.

use std::ffi::OsString;
use std::path::Path;

use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::node::{remove_dir_at, remove_file_at};
use crate::path::{open_dir, remove_dir, stat};
use crate::stat::{Kind, Mode};

/// What a removal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Entries that were unlinked, directories included.
    pub entries: u64,
}

/// Removes the tree at `path`; already gone is success. A symbolic link is removed as a link, its
/// target never touched. A mount point inside is an error that names it ([`ErrorKind::CrossDevice`]
/// or [`ErrorKind::Busy`]): what is mounted there is not ours.
pub fn remove_tree(path: &Path) -> Result<Removed> {
    match stat(path) {
        Ok(found) if found.kind == Kind::Directory => {}
        Ok(_) => {
            crate::path::remove_file(path)?;
            return Ok(Removed { entries: 1 });
        }
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(Removed::default()),
        Err(error) => return Err(error),
    }
    let mut removed = Removed::default();
    let root = open_dir(path)?;
    empty(&root, &mut removed)?;
    match remove_dir(path) {
        Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
        _ => removed.entries += 1,
    }
    Ok(removed)
}

/// Empties `root`. The directories still to do are names on the heap, each opened anew from the
/// root: neither the stack nor the descriptors grow with the depth.
fn empty(root: &Dir, removed: &mut Removed) -> Result<()> {
    let mut buffer = Vec::new();
    let mut pending = vec![(std::path::PathBuf::new(), Visit::Empty)];
    while let Some((relative, visit)) = pending.pop() {
        if matches!(visit, Visit::Unlink) {
            let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
                continue;
            };
            remove_dir_at(root.open_beneath(parent)?.at(name))?;
            removed.entries += 1;
            continue;
        }
        let dir = open_for_removal(root, &relative)?;
        let mut entries: Vec<(OsString, Kind)> = Vec::new();
        dir.list(&mut buffer, &mut |entry| {
            entries.push((entry.name.to_owned(), entry.kind));
            Ok(())
        })?;
        for (name, kind) in entries {
            if kind == Kind::Directory {
                let child = relative.join(&name);
                pending.push((child.clone(), Visit::Unlink));
                pending.push((child, Visit::Empty));
            } else {
                unlink(&dir, &name)?;
                removed.entries += 1;
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Visit {
    Empty,
    Unlink,
}

/// A directory without permissions is given them: it is about to go.
fn open_for_removal(root: &Dir, relative: &Path) -> Result<Dir> {
    match root.open_beneath(relative) {
        Err(error) if error.kind == ErrorKind::Denied => {
            make_writable(root, relative, error)?;
            root.open_beneath(relative)
        }
        other => other,
    }
}

fn make_writable(root: &Dir, relative: &Path, error: Error) -> Result<()> {
    let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
        return Err(error);
    };
    let parent = root.open_beneath(parent)?;
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    let place = parent.at(name);
    crate::error::call(
        "chmod",
        || place.path(),
        || {
            match rustix::fs::chmodat(place.dir, place.name, Mode(0o700).raw(), flags) {
                // Kernels before 6.6 have no fchmodat2. The entry was listed as a directory, and a link
                // that took its place meanwhile would only have its own tree's target changed.
                Err(rustix::io::Errno::OPNOTSUPP) => rustix::fs::chmodat(
                    place.dir,
                    place.name,
                    Mode(0o700).raw(),
                    rustix::fs::AtFlags::empty(),
                ),
                other => other,
            }
        },
    )
}

fn unlink(dir: &Dir, name: &std::ffi::OsStr) -> Result<()> {
    match remove_file_at(dir.at(name)) {
        Err(error) if error.kind == ErrorKind::Denied => {
            dir.set_mode(Mode(0o700))?;
            remove_file_at(dir.at(name))
        }
        Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
