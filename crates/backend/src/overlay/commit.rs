//! Sealing a tree: its upper layer is copied, never used.
//!
//! A live upper could be a lower layer, and the kernel allows it; the child would then see what is
//! written to the parent later.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use copy_engine::{Cancel, Progress};
use fs_sys::{Dir, ErrorKind, Mark, set_mark};

use super::links::{Hidden, hidden_names};
use super::mount::{make_dir_like, require_mounted};
use super::scan::{Entry, Means, first_difference, scan};
use crate::capture::{self, TopGit};
use crate::error::Result;
use crate::undo::Undo;
use crate::{Sealed, Stack};

/// How often a tree that is written to meanwhile is tried.
const ATTEMPTS: usize = 4;

/// Makes `dest` a layer with what was changed in the tree at `point`.
pub(super) fn commit(
    stack: &Stack,
    (point, dest): (&Path, &Path),
    progress: &Progress,
    cancel: &Cancel,
) -> Result<Sealed> {
    let tree = require_mounted(stack, point)?;
    let upper = fs_sys::open_dir(&stack.upper())?;
    let part = capture::part_of(dest);
    let mut changing = None;
    for _ in 0..ATTEMPTS {
        fs_sys::make_dir(&part, fs_sys::Mode(0o700))?;
        let unfinished = Undo::tree(&part);
        let before = scan(&upper)?;
        match copy(&upper, &tree, &before, &part, (progress, cancel)) {
            Ok(()) => {}
            Err(error) => {
                // What vanished under the copy is a change like any other.
                changing = first_difference(&before, &scan(&upper)?);
                if changing.is_some() && !cancel.is_cancelled() {
                    continue;
                }
                return Err(error);
            }
        }
        changing = first_difference(&before, &scan(&upper)?);
        if changing.is_none() {
            fs_sys::rename_noreplace(&part, dest)?;
            unfinished.disarm();
            let layers = [dest.to_owned()].into_iter().chain(stack.layers.iter().cloned());
            return Ok(Sealed { layers: layers.collect() });
        }
    }
    let path = point.join(changing.unwrap_or_default());
    Err(copy_engine::Error::KeepsChanging { path }.into())
}

fn copy(
    upper: &Dir,
    tree: &Dir,
    entries: &[Entry],
    part: &Path,
    (progress, cancel): (&Progress, &Cancel),
) -> Result<()> {
    let ladder = capture::ladder();
    let from = (upper, TopGit::LeaveOut);
    let made = capture::copy_everything(from, part, &ladder, progress, cancel)?;
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
    let hidden = hidden_names(tree, entries)?;
    for Hidden { path, known } in &hidden {
        let parent = make_parents(tree, &made, path)?;
        let (from, from_name) = split(known);
        let from = made.open_beneath(from)?;
        fs_sys::hard_link(from.at(from_name), parent.at(split(path).1))?;
        touched.insert(split(path).0);
    }
    // Making an entry changed its directory's time.
    for relative in touched {
        let wanted = tree.open_beneath(relative)?.stat()?.mtime;
        made.open_beneath(relative)?.set_mtime(wanted)?;
    }
    capture::copy_attributes(upper, &made)
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
