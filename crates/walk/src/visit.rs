//! The walk itself: directories as tasks, entries to a visitor.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_sys::{Dir, Kind};

use crate::ignored::{Ignore, RULES_FILE, Rules};
use crate::pool::{Queue, run_tasks};

/// Files that are visited in one go; a directory with more is shared out among the workers.
pub const CHUNK_FILES: usize = 1024;

/// A directory during its visit.
#[derive(Debug)]
pub struct Directory {
    /// Its path below the root; empty for the root.
    pub relative: PathBuf,
    /// The open directory.
    pub dir: Dir,
    /// Whether the rules hide it; only a walk that descends into ignored directories sees such.
    pub ignore: Ignore,
}

/// An entry of a directory.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is.
    pub kind: Kind,
    /// Whether the rules hide it, or a directory above it.
    pub ignore: Ignore,
}

/// Whether a directory is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descend {
    /// Its entries are visited later.
    Into,
    /// Nothing in it is.
    Past,
}

/// What a worker does with what it finds. Each worker has a visitor of its own: no locks.
pub trait Visitor: Send {
    /// Why a visit fails.
    type Error: From<fs_sys::Error> + Send;

    /// A directory in `parent`, before anything in it. It is opened only if this says so.
    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, Self::Error>;

    /// Everything in `parent` that is no directory, at most [`CHUNK_FILES`] at a time.
    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), Self::Error>;

    /// A directory that could not be opened or listed. The default fails the walk.
    fn unreadable(&mut self, _relative: &Path, error: fs_sys::Error) -> Result<(), Self::Error> {
        Err(error.into())
    }
}

enum Task {
    Open { relative: PathBuf, rules: Rules, ignore: Ignore },
    Files { directory: Arc<Directory>, files: Vec<Entry> },
}

/// Walks everything below `root` and returns the visitors. The order is not defined, except that a
/// directory is announced before anything in it.
pub fn walk<V: Visitor>(
    root: &Dir,
    workers: NonZero<usize>,
    new_visitor: impl Fn() -> V + Sync,
) -> Result<Vec<V>, V::Error> {
    let first =
        Task::Open { relative: PathBuf::new(), rules: Rules::default(), ignore: Ignore::Not };
    let new_worker = || (new_visitor(), Vec::new());
    let workers =
        run_tasks(workers, vec![first], new_worker, |(visitor, buffer), task, queue| match task {
            Task::Files { directory, files } => visitor.files(&directory, &files),
            Task::Open { relative, rules, ignore } => {
                let listed = root.open_beneath(&relative).and_then(|dir| {
                    let directory = Directory { relative: relative.clone(), dir, ignore };
                    let (rules, entries) = list(&directory, &rules, buffer)?;
                    Ok((directory, rules, entries))
                });
                match listed {
                    Ok((directory, rules, entries)) => {
                        visit(visitor, directory, &rules, entries, queue)
                    }
                    Err(error) => visitor.unreadable(&relative, error),
                }
            }
        })?;
    Ok(workers.into_iter().map(|(visitor, _)| visitor).collect())
}

/// The entries of a directory, and the rules that hold for them.
fn list(
    directory: &Directory,
    above: &Rules,
    buffer: &mut Vec<u8>,
) -> fs_sys::Result<(Rules, Vec<Entry>)> {
    let ignore = directory.ignore;
    let mut entries = Vec::new();
    directory.dir.list(buffer, &mut |listed| {
        entries.push(Entry { name: listed.name.to_owned(), kind: listed.kind, ignore });
        Ok(())
    })?;
    if ignore == Ignore::Ignored {
        // Nothing below an ignored directory can be taken back in.
        return Ok((Rules::default(), entries));
    }
    // Only what is listed as a file is opened: no call is lost where there are no rules, and a FIFO
    // of that name is left alone.
    let has_rules =
        entries.iter().any(|entry| entry.kind == Kind::File && entry.name == RULES_FILE);
    let (dir, relative) = (&directory.dir, &directory.relative);
    let rules = if has_rules { above.with_file_in(dir, relative)? } else { above.clone() };
    for entry in &mut entries {
        entry.ignore = rules.judge(relative, &entry.name, entry.kind);
    }
    Ok((rules, entries))
}

fn visit<V: Visitor>(
    visitor: &mut V,
    directory: Directory,
    rules: &Rules,
    entries: Vec<Entry>,
    queue: &Queue<Task>,
) -> Result<(), V::Error> {
    let (directories, mut files): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.kind == Kind::Directory);
    let mut below = Vec::new();
    for entry in directories {
        if visitor.directory(&directory, &entry)? == Descend::Into {
            let relative = directory.relative.join(&entry.name);
            below.push(Task::Open { relative, rules: rules.clone(), ignore: entry.ignore });
        }
    }
    queue.push(below);
    if files.len() <= CHUNK_FILES {
        return if files.is_empty() { Ok(()) } else { visitor.files(&directory, &files) };
    }
    let directory = Arc::new(directory);
    let mut chunks = Vec::new();
    while files.len() > CHUNK_FILES {
        let chunk = files.split_off(files.len() - CHUNK_FILES);
        chunks.push(Task::Files { directory: Arc::clone(&directory), files: chunk });
    }
    queue.push(chunks);
    visitor.files(&directory, &files)
}
