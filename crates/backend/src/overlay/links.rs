//! Hard links across a copy-up.
//!
//! With `index=on` a file of a lower layer that has several names is copied up once: the upper gets the
//! name that was written to, and the kernel's index remembers the file for the others. So the bytes of
//! a name can have changed of which the upper shows nothing.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use fs_sys::{Dir, Kind};

use super::scan::{Entry, Means};
use super::view::for_each_below;
use crate::error::Result;

/// A name that only the index knows, and one of the same file that the upper has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hidden {
    pub(super) path: PathBuf,
    pub(super) known: PathBuf,
}

/// The names in the tree `root` that the upper, which holds `entries`, has not. Walks the tree only if
/// there must be one.
pub(super) fn hidden_names(root: &Dir, entries: &[Entry]) -> Result<Vec<Hidden>> {
    // By the inode in the upper: its names there.
    let mut groups: HashMap<u64, Vec<&PathBuf>> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.means == Means::Whole) {
        // Its name in the index is one more.
        if entry.stat.kind != Kind::Directory && entry.stat.links > 1 {
            groups.entry(entry.stat.ino).or_default().push(&entry.path);
        }
    }
    // By the inode in the tree: a name.
    let mut wanted: HashMap<u64, &PathBuf> = HashMap::new();
    for names in groups.values() {
        let Some(found) = root.stat_beneath(names[0])? else { continue };
        if found.links > names.len() as u64 {
            wanted.insert(found.ino, names[0]);
        }
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known: HashSet<&PathBuf> = groups.values().flatten().copied().collect();
    let mut hidden = Vec::new();
    for_each_below(root, "".as_ref(), &mut |dir, path, kind| {
        if kind == Kind::Directory || known.contains(&path) {
            return Ok(());
        }
        let found = fs_sys::stat_at(dir.at(path.file_name().unwrap_or_default()))?;
        if let Some(known) = wanted.get(&found.ino).filter(|_| found.links > 1) {
            hidden.push(Hidden { path, known: (*known).clone() });
        }
        Ok(())
    })?;
    hidden.sort();
    Ok(hidden)
}
