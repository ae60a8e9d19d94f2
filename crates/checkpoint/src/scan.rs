//! Looking at a tree: the lstat of everything in scope, and what is out of it.

use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Kind, stat_at};
use serde::{Deserialize, Serialize};
use walk::{Descend, Directory, Entry, Ignore, Patterns, Visitor};

use crate::error::{Error, Result};
use crate::manifest::Print;

/// What of a tree is kept.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Ignored files that are wanted (`.worktreeinclude`).
    pub include: Patterns,
    /// The largest ignored file that is kept without being asked for.
    pub ignored_bytes: u64,
    /// The largest file that is kept at all.
    pub most_bytes: u64,
}

impl Scope {
    /// The usual limits, with these patterns.
    pub fn new(include: Patterns) -> Self {
        Self { include, ignored_bytes: 1 << 20, most_bytes: 128 << 20 }
    }
}

/// Why a path is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The project's rules hide it, and nothing asks for it.
    Ignored,
    /// It is larger than the limit.
    TooLarge,
    /// A FIFO, socket or device.
    Special,
    /// A repository of its own.
    NestedRepository,
    /// Another file system is mounted there.
    Mount,
    /// It may not be read.
    Unreadable,
    /// It did not hold still while it was read.
    KeepsChanging,
    /// There was no time to read it. A later boundary does.
    Deadline,
    /// A reason of a newer fwt.
    #[serde(other)]
    Other,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    /// Sorted by path, their entries by name.
    pub(crate) directories: Vec<Listing>,
    /// What it did not look into.
    pub(crate) uncovered: Vec<(PathBuf, Why)>,
}

/// A directory and its entries.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) path: Box<[u8]>,
    pub(crate) entries: Vec<Seen>,
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) name: Box<[u8]>,
    pub(crate) print: Print,
}

/// Looks at everything below `root`.
pub(crate) fn scan(root: &Dir, scope: &Scope, workers: NonZero<usize>) -> Result<Scanned> {
    let mut scanned = Scanned::default();
    for Scanner { listings, uncovered, .. } in walk::walk(root, workers, || Scanner {
        scope,
        listings: Vec::new(),
        uncovered: Vec::new(),
    })? {
        scanned.directories.extend(listings);
        scanned.uncovered.extend(uncovered);
    }
    scanned.uncovered.sort();
    let directories = &mut scanned.directories;
    directories.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    // A large directory was looked at in parts.
    directories.dedup_by(|part, first| {
        let is_same = part.path == first.path;
        if is_same {
            first.entries.append(&mut part.entries);
        }
        is_same
    });
    for directory in directories {
        directory.entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    }
    Ok(scanned)
}

/// What one worker found.
struct Scanner<'s> {
    scope: &'s Scope,
    listings: Vec<Listing>,
    uncovered: Vec<(PathBuf, Why)>,
}

impl Scanner<'_> {
    fn see(&mut self, parent: &Directory, name: &OsStr, print: Print) {
        let path = parent.relative.as_os_str().as_bytes();
        if self.listings.last().is_none_or(|listing| *listing.path != *path) {
            if let Some(finished) = self.listings.last_mut() {
                finished.entries.shrink_to_fit();
            }
            self.listings.push(Listing { path: path.into(), entries: Vec::new() });
        }
        if let Some(listing) = self.listings.last_mut() {
            listing.entries.push(Seen { name: name.as_bytes().into(), print });
        }
    }

    /// Notes what is there and not kept.
    fn leave_out(&mut self, parent: &Directory, name: &OsStr, why: Why) {
        self.see(parent, name, Print::LEFT_OUT);
        self.uncovered.push((parent.relative.join(name), why));
    }

    fn stat(parent: &Directory, name: &OsStr) -> Result<Option<fs_sys::Stat>> {
        match stat_at(parent.dir.at(name)) {
            // Gone since it was listed.
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            stat => Ok(Some(stat?)),
        }
    }

    /// Why an entry that is no directory is left out.
    fn refuses(&self, path: &Path, entry: &Entry, stat: &fs_sys::Stat) -> Option<Why> {
        let Scope { include, ignored_bytes, most_bytes } = self.scope;
        if stat.kind == Kind::Special {
            return Some(Why::Special);
        }
        let is_unasked = entry.ignore == Ignore::Ignored && !include.selects(path, entry.kind);
        if is_unasked && stat.size > *ignored_bytes {
            return Some(Why::Ignored);
        }
        (stat.size > *most_bytes).then_some(Why::TooLarge)
    }
}

/// The repository's own directory or file, which is the git domain's.
const REPOSITORY: [&str; 2] = [".git", ".jj"];

impl Visitor for Scanner<'_> {
    type Error = Error;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend> {
        let is_root = parent.relative.as_os_str().is_empty();
        if is_root && REPOSITORY.iter().any(|name| entry.name == *name) {
            return Ok(Descend::Past);
        }
        let path = parent.relative.join(&entry.name);
        if entry.ignore == Ignore::Ignored && !self.scope.include.selects(&path, entry.kind) {
            self.leave_out(parent, &entry.name, Why::Ignored);
            return Ok(Descend::Past);
        }
        let Some(stat) = Self::stat(parent, &entry.name)? else { return Ok(Descend::Past) };
        if stat.kind != Kind::Directory {
            // Something else took its place: the next boundary sees it.
            self.leave_out(parent, &entry.name, Why::KeepsChanging);
            return Ok(Descend::Past);
        }
        if is_repository(&parent.dir, &entry.name)? {
            self.leave_out(parent, &entry.name, Why::NestedRepository);
            return Ok(Descend::Past);
        }
        self.see(parent, &entry.name, Print::of(&stat));
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<()> {
        let is_root = parent.relative.as_os_str().is_empty();
        for entry in files {
            if is_root && REPOSITORY.iter().any(|name| entry.name == *name) {
                continue;
            }
            let Some(stat) = Self::stat(parent, &entry.name)? else { continue };
            let path = parent.relative.join(&entry.name);
            if stat.kind == Kind::Directory {
                self.leave_out(parent, &entry.name, Why::KeepsChanging);
            } else if let Some(why) = self.refuses(&path, entry, &stat) {
                self.leave_out(parent, &entry.name, why);
            } else {
                self.see(parent, &entry.name, Print::of(&stat));
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, relative: &Path, error: fs_sys::Error) -> Result<()> {
        use ErrorKind::{CrossDevice, Denied, Link, NotADirectory, NotFound};
        let why = if matches!(error.kind, NotFound | NotADirectory | Link) {
            // Gone, or replaced, since it was announced: the next boundary sees what is there.
            Some(Why::KeepsChanging)
        } else if error.kind == CrossDevice {
            Some(Why::Mount)
        } else {
            (error.kind == Denied).then_some(Why::Unreadable)
        };
        // A root that cannot be read is no tree with nothing in it.
        let is_root = relative.as_os_str().is_empty();
        let Some(why) = why.filter(|_| !is_root) else { return Err(error.into()) };
        self.uncovered.push((relative.to_owned(), why));
        Ok(())
    }
}

/// Whether a directory has a repository of its own in it.
fn is_repository(parent: &Dir, name: &OsStr) -> Result<bool> {
    // What cannot be opened is reported when its turn comes.
    let Ok(dir) = parent.open_child(name) else { return Ok(false) };
    match stat_at(dir.at(OsStr::new(".git"))) {
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Denied) => Ok(false),
        stat => Ok(stat.map(|_| true)?),
    }
}
