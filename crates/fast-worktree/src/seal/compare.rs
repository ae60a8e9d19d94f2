//! What a commit has other than one that is sealed, told from the two indexes.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git_cli::index::{Entry, Index, Mode, StatBlock};

use crate::create::names_attributes;

/// The difference from a sealed tree to a commit.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Numbers of the commit's entries whose files are to be written.
    pub(super) written: Vec<u32>,
    /// Numbers of those whose files are the sealed ones, with what these are stamped with.
    pub(super) kept: Vec<(u32, StatBlock)>,
    /// What is not in the commit: of a directory of which nothing is left, the directory.
    pub(super) gone: Vec<PathBuf>,
}

/// Compares; `None` if the commit is better sealed whole. Where attributes differ, a checkout may write
/// other bytes for an entry that is the same; and where most is other, what is below is no use.
pub(super) fn compare(sealed: &Index, target: &Index) -> Option<Comparison> {
    let mut found = Comparison::default();
    let (mut ours, mut theirs) = (0, 0);
    while ours < target.len() || theirs < sealed.len() {
        let wanted = (ours < target.len()).then(|| target.entry(ours));
        let there = (theirs < sealed.len()).then(|| sealed.entry(theirs));
        let order = match (&wanted, &there) {
            (Some(wanted), Some(there)) => wanted.path.cmp(there.path),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let wanted = wanted.filter(|_| order.is_le());
        let there = there.filter(|_| order.is_ge());
        if !has_same_attributes(wanted.as_ref(), there.as_ref()) {
            return None;
        }
        let number = u32::try_from(ours).ok()?;
        ours += usize::from(wanted.is_some());
        theirs += usize::from(there.is_some());
        match (wanted.filter(has_file), there.filter(has_file)) {
            (Some(wanted), Some(there)) if is_same_file(&wanted, &there) => {
                found.kept.push((number, there.stat));
            }
            (Some(_), _) => found.written.push(number),
            (None, Some(there)) => {
                if let Some(top) = vanished(target, there.path)
                    && found.gone.last() != Some(&top)
                {
                    found.gone.push(top);
                }
            }
            (None, None) => {}
        }
    }
    (found.written.len() <= target.len() / 2).then_some(found)
}

/// Whether the entry stands for something in the tree.
fn has_file(entry: &Entry<'_>) -> bool {
    !entry.flags.is_skip_worktree() && entry.mode != Mode::SparseDirectory
}

fn is_same_file(wanted: &Entry<'_>, there: &Entry<'_>) -> bool {
    // A submodule that is not initialised is an empty directory, whichever commit it is at.
    wanted.mode == there.mode && (wanted.id == there.id || wanted.mode == Mode::Gitlink)
}

fn has_same_attributes(wanted: Option<&Entry<'_>>, there: Option<&Entry<'_>>) -> bool {
    let named = |entry: Option<&Entry<'_>>| {
        entry
            .filter(|entry| names_attributes(entry.path))
            .map(|entry| (entry.id, entry.mode, has_file(entry)))
    };
    named(wanted) == named(there)
}

/// The topmost of what vanishes with the file at `path`; `None` if something else takes its place.
fn vanished(target: &Index, path: &[u8]) -> Option<PathBuf> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    for end in ends.chain([path.len()]) {
        let part = &path[..end];
        match in_target(target, part) {
            There::Directory => {}
            There::File => return None,
            There::Nothing => return Some(Path::new(OsStr::from_bytes(part)).to_owned()),
        }
    }
    None
}

enum There {
    Nothing,
    File,
    Directory,
}

fn in_target(target: &Index, path: &[u8]) -> There {
    let at = lower_bound(target, path);
    let named = (at < target.len()).then(|| target.entry(at));
    if let Some(entry) = named.filter(|entry| entry.path == path && has_file(entry)) {
        return if entry.mode == Mode::Gitlink { There::Directory } else { There::File };
    }
    let prefix = [path, b"/"].concat();
    let mut below = (lower_bound(target, &prefix)..target.len())
        .map(|number| target.entry(number))
        .take_while(|entry| entry.path.starts_with(&prefix));
    if below.any(|entry| has_file(&entry)) { There::Directory } else { There::Nothing }
}

/// The number of the first entry whose path is not before `path`.
fn lower_bound(index: &Index, path: &[u8]) -> usize {
    let (mut low, mut high) = (0, index.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if index.entry(middle).path < path {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
