//! A store that was copied: its upper layers name files of the other one.
//!
//! The kernel notes in the upper's topmost directory which lower layer it belongs to, by a file
//! handle, and refuses another one (ESTALE). Such handles are in every copied-up entry and in the index
//! of hard links too. Without all of them the upper is a plain layer again, which any layers with the
//! same content may be below.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, File, Kind, Mark, remove_mark};

use super::commit::make_parents;
use super::scan::{Entry, Means, scan};
use super::view::{View, for_each_below};
use crate::Stack;
use crate::error::Result;

/// What only the kernel's notes of the old store give a meaning.
const MARKS: [Mark; 3] = [Mark::Origin, Mark::Impure, Mark::LinkCount];

/// Makes an upper that nothing is mounted from fit for its layers again. May be repeated after a
/// crash: the topmost directory's mark goes last.
pub(super) fn settle(stack: &Stack) -> Result<()> {
    let upper = fs_sys::open_dir(&stack.upper())?;
    let entries = scan(&upper)?;
    link_hidden_names(stack, &upper, &entries)?;
    for entry in &entries {
        let parent = upper.open_beneath(entry.path.parent().unwrap_or(Path::new("")))?;
        let name = entry.path.file_name().unwrap_or_default();
        match entry.stat.kind {
            Kind::Directory => {
                let dir = parent.open_child(name)?;
                for mark in MARKS {
                    remove_mark(&dir, mark, || dir.path().to_owned())?;
                }
            }
            Kind::File => {
                let file = File::open(parent.at(name))?;
                for mark in MARKS {
                    remove_mark(&file, mark, || parent.path().join(name))?;
                }
            }
            Kind::Symlink | Kind::Special => {}
        }
    }
    fs_sys::remove_tree(&stack.work().join("index"))?;
    for mark in [Mark::Uuid, Mark::Impure, Mark::Origin] {
        remove_mark(&upper, mark, || upper.path().to_owned())?;
    }
    Ok(())
}

/// The index is about to go, and with it the further names of files that it alone knows (see `links`):
/// they become names in the upper. Which they are says the file of the same name in the layers below.
fn link_hidden_names(stack: &Stack, upper: &Dir, entries: &[Entry]) -> Result<()> {
    let may_have_names = |entry: &&Entry| {
        entry.means == Means::Whole && entry.stat.kind == Kind::File && entry.stat.links > 1
    };
    let candidates: Vec<&Entry> = entries.iter().filter(may_have_names).collect();
    if candidates.is_empty() {
        return Ok(());
    }
    let Some(below) = View::of(&stack.layers)? else {
        tracing::warn!(upper = %upper.path().display(), "hard links may have lost names");
        return Ok(());
    };
    let by_path: HashMap<&Path, &Entry> =
        entries.iter().map(|entry| (entry.path.as_path(), entry)).collect();
    let mut wanted: HashMap<u64, &Path> = HashMap::new();
    for entry in candidates {
        match below.root().stat_beneath(&entry.path)? {
            Some(found) if found.kind == Kind::File && found.links > 1 => {
                wanted.insert(found.ino, &entry.path);
            }
            // It is new, or was renamed, and then nothing says which file it was.
            _ => {}
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let mut found: Vec<(PathBuf, &Path)> = Vec::new();
    for_each_below(below.root(), Path::new(""), &mut |dir, path, kind| {
        if kind != Kind::File || !shows_through(&by_path, &path) {
            return Ok(());
        }
        let stat = fs_sys::stat_at(dir.at(path.file_name().unwrap_or(OsStr::new(""))))?;
        if let Some(known) = wanted.get(&stat.ino) {
            found.push((path, known));
        }
        Ok(())
    })?;
    for (path, known) in found {
        let parent = make_parents(below.root(), upper, &path)?;
        let time = parent.stat()?.mtime;
        let from = upper.open_beneath(known.parent().unwrap_or(Path::new("")))?;
        let (from, to) = (
            from.at(known.file_name().unwrap_or_default()),
            parent.at(path.file_name().unwrap_or_default()),
        );
        match fs_sys::hard_link(from, to) {
            Err(error) if error.kind == ErrorKind::Exists => {}
            other => other?,
        }
        parent.set_mtime(time)?;
    }
    Ok(())
}

/// Whether the tree shows the file `path` of the layers below at the same path: the upper has nothing
/// of that name, and only merged directories above it.
fn shows_through(upper: &HashMap<&Path, &Entry>, path: &Path) -> bool {
    !upper.contains_key(path)
        && path
            .ancestors()
            .skip(1)
            .all(|above| upper.get(above).is_none_or(|entry| entry.means == Means::Merged))
}
