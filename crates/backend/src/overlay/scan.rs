//! What is in an upper layer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Kind, Mark, Stat, load_mark};

use crate::contract::GIT;
use crate::error::Result;

/// An entry of an upper layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where, below the topmost directory.
    pub(super) path: PathBuf,
    /// What it means.
    pub(super) means: Means,
    /// What lstat says.
    pub(super) stat: Stat,
}

/// What an entry of an upper layer means for the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Nothing of that name is in the tree.
    Whiteout,
    /// A directory that continues the one of that name below.
    Merged,
    /// A directory of its own: nothing below shows.
    Opaque(Vec<u8>),
    /// A directory that continues another one below.
    Redirected(Vec<u8>),
    /// A file, a link or a special file.
    Whole,
}

/// Everything in the layer but the tree's own [`GIT`], sorted: a directory comes before what is in it.
pub(super) fn scan(upper: &Dir) -> Result<Vec<Entry>> {
    scan_but(upper, &BTreeSet::new())
}

/// The same without what is left out, and all below that.
pub(super) fn scan_but(upper: &Dir, left_out: &BTreeSet<PathBuf>) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut buffer = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        let dir = match upper.open_beneath(&relative) {
            // Whoever works in the tree removed it; comparing two scans tells.
            Err(error) if error.kind == ErrorKind::NotFound => continue,
            other => other?,
        };
        let mut names = Vec::new();
        dir.list(&mut buffer, &mut |entry| {
            names.push(entry.name.to_owned());
            Ok(())
        })?;
        for name in names {
            let path = relative.join(&name);
            if path == Path::new(GIT) || left_out.contains(&path) {
                continue;
            }
            let stat = match fs_sys::stat_at(dir.at(&name)) {
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                other => other?,
            };
            let means = match stat.kind {
                Kind::Directory => {
                    pending.push(path.clone());
                    match dir.open_child(&name) {
                        Err(error) if error.kind == ErrorKind::NotFound => continue,
                        other => directory(&other?)?,
                    }
                }
                Kind::Special if fs_sys::is_whiteout(dir.at(&name))? => Means::Whiteout,
                Kind::Special | Kind::File | Kind::Symlink => Means::Whole,
            };
            entries.push(Entry { path, means, stat });
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn directory(dir: &Dir) -> Result<Means> {
    let path = || dir.path().to_owned();
    // A directory that was renamed over a whiteout has both; its content comes from elsewhere.
    if let Some(target) = load_mark(dir, Mark::Redirect, path)? {
        return Ok(Means::Redirected(target));
    }
    Ok(load_mark(dir, Mark::Opaque, path)?.map_or(Means::Merged, Means::Opaque))
}

/// The first path at which two scans differ, if there is one.
pub(super) fn first_difference(before: &[Entry], after: &[Entry]) -> Option<PathBuf> {
    let is_same = |(a, b): (&Entry, &Entry)| {
        a.path == b.path && a.means == b.means && a.stat.is_same_content(&b.stat)
    };
    let common = before.iter().zip(after).take_while(|pair| is_same(*pair)).count();
    let differing = before.get(common).or_else(|| after.get(common))?;
    Some(differing.path.clone())
}
