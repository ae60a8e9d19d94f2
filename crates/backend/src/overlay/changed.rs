//! What differs between a tree and the layers it stands on: the upper layer, read as a difference.

use std::path::Path;

use fs_sys::Kind;

use super::links::hidden_names;
use super::mount::require_mounted;
use super::scan::{Means, scan};
use super::view::{View, for_each_below};
use crate::error::Result;
use crate::{Changes, Stack};

/// Costs as much as was changed, and as much again as is below a renamed or replaced directory.
pub(super) fn changed(stack: &Stack, point: &Path) -> Result<Option<Changes>> {
    let tree = require_mounted(stack, point)?;
    let Some(below) = View::of(&stack.layers)? else { return Ok(None) };
    let entries = scan(&fs_sys::open_dir(&stack.upper())?)?;
    let mut changes = Changes::default();
    for entry in &entries {
        let before = below.root().stat_beneath(&entry.path)?;
        let was_directory = before.is_some_and(|stat| stat.kind == Kind::Directory);
        match &entry.means {
            Means::Whiteout => {
                if before.is_some() {
                    changes.absent.push(entry.path.clone());
                }
            }
            Means::Whole | Means::Merged | Means::Opaque(_) | Means::Redirected(_) => {
                changes.present.push(entry.path.clone());
            }
        }
        if let Means::Redirected(_) = entry.means {
            for_each_below(&tree, &entry.path, &mut |_, path, _| {
                changes.present.push(path);
                Ok(())
            })?;
        }
        if was_directory && entry.means != Means::Merged {
            for_each_below(below.root(), &entry.path, &mut |_, path, _| {
                if tree.stat_beneath(&path)?.is_none() {
                    changes.absent.push(path);
                }
                Ok(())
            })?;
        }
    }
    changes.present.extend(hidden_names(&tree, &entries)?.into_iter().map(|hidden| hidden.path));
    for paths in [&mut changes.present, &mut changes.absent] {
        paths.sort();
        paths.dedup();
    }
    Ok(Some(changes))
}
