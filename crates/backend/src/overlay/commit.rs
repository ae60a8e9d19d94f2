//! Sealing a tree: its upper layer is copied, never used.
//!
//! A live upper could be a lower layer, and the kernel allows it; the child would then see what is
//! written to the parent later.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use copy_engine::{Bytes, Cancel, Progress};
use fs_sys::{Dir, ErrorKind, Mark, set_mark};

use super::links::{Hidden, hidden_names};
use super::mount::{make_dir_like, require_mounted};
use super::scan::{Entry, Means, first_difference, scan_but};
use crate::Stack;
use crate::capture::{self, Captured, TopGit};
use crate::error::Result;
use crate::undo::Undo;

/// How often a tree that is written to meanwhile is tried.
const ATTEMPTS: usize = 4;

/// Makes `dest` a layer with what was changed in the tree at `point`, but for what is left out. Says how the
/// bytes came.
pub(super) fn copy_upper(
    (stack, point): (&Stack, &Path),
    left_out: &BTreeSet<PathBuf>,
    dest: &Path,
    progress: &Progress,
    cancel: &Cancel,
) -> Result<Bytes> {
    let tree = require_mounted(stack, point)?;
    let upper = fs_sys::open_dir(&stack.upper())?;
    let part = capture::part_of(dest);
    let mut changing = None;
    for _ in 0..ATTEMPTS {
        fs_sys::make_dir(&part, fs_sys::Mode(0o700))?;
        let unfinished = Undo::tree(&part);
        let before = scan_but(&upper, left_out)?;
        let from = Captured { source: &upper, top_git: TopGit::LeaveOut, left_out };
        let bytes = match copy(from, &tree, &before, &part, (progress, cancel)) {
            Ok(bytes) => bytes,
            Err(error) => {
                // What vanished under the copy is a change like any other.
                changing = first_difference(&before, &scan_but(&upper, left_out)?);
                if changing.is_some() && !cancel.is_cancelled() {
                    continue;
                }
                return Err(error);
            }
        };
        changing = first_difference(&before, &scan_but(&upper, left_out)?);
        if changing.is_none() {
            fs_sys::rename_noreplace(&part, dest)?;
            unfinished.disarm();
            return Ok(bytes);
        }
    }
    let path = point.join(changing.unwrap_or_default());
    Err(copy_engine::Error::KeepsChanging { path }.into())
}

fn copy(
    from: Captured<'_>,
    tree: &Dir,
    entries: &[Entry],
    part: &Path,
    (progress, cancel): (&Progress, &Cancel),
) -> Result<Bytes> {
    let ladder = capture::ladder();
    let (made, bytes) = capture::copy_everything(from, part, &ladder, progress, cancel)?;
    let mut touched = BTreeSet::new();
    for entry in entries {
        let (parent, name) = split(&entry.path);
        match &entry.means {
            Means::Whiteout => {
                fs_sys::make_whiteout(made.open_beneath(parent)?.at(name))?;
                touched.insert(parent);
            }
            Means::Opaque(value) => mark(&made, &entry.path, Mark::Opaque, value)?,
            Means::Redirected(value) => mark(&made, &entry.path, Mark::Redirect, value)?,
            Means::Merged | Means::Whole => {}
        }
    }
    let mut hidden = hidden_names(tree, entries)?;
    let is_left_out = |path: &Path| path.ancestors().any(|above| from.left_out.contains(above));
    hidden.retain(|hidden| !is_left_out(&hidden.path));
    for Hidden { path, known } in &hidden {
        let parent = make_parents(tree, &made, path)?;
        let (above, name) = split(known);
        let above = made.open_beneath(above)?;
        fs_sys::hard_link(above.at(name), parent.at(split(path).1))?;
        touched.insert(split(path).0);
    }
    // Making an entry changed its directory's time.
    for relative in touched {
        let wanted = tree.open_beneath(relative)?.stat()?.mtime;
        made.open_beneath(relative)?.set_mtime(wanted)?;
    }
    capture::copy_attributes(from.source, &made)?;
    Ok(bytes)
}

fn split(path: &Path) -> (&Path, &OsStr) {
    (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default())
}

fn mark(made: &Dir, relative: &Path, mark: Mark, value: &[u8]) -> Result<()> {
    let dir = made.open_beneath(relative)?;
    Ok(set_mark(&dir, mark, value, || dir.path().to_owned())?)
}

/// Makes the directories that lead to `path` in the layer `made`, like those of the tree, and opens the
/// last of them.
pub(super) fn make_parents(tree: &Dir, made: &Dir, path: &Path) -> Result<Dir> {
    let parents: Vec<&Path> = path.ancestors().skip(1).collect();
    for relative in parents.iter().rev().filter(|path| !path.as_os_str().is_empty()) {
        match made.open_beneath(relative) {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::NotFound => {
                let (parent, name) = split(relative);
                let (above, like) = (made.open_beneath(parent)?, tree.open_beneath(relative)?);
                let time = above.stat()?.mtime;
                make_dir_like(&like, &above, name)?;
                above.set_mtime(time)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(made.open_beneath(split(path).0)?)
}
