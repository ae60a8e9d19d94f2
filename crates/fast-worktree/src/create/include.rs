//! `.worktreeinclude`: ignored files of the source that come along with any carry.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use copy_engine::{Filter, Skip, Verdict};
use fs_sys::{Dir, ErrorKind, Kind};
use walk::{Descend, Directory, Entry, Ignore, Patterns, Visitor, walk};

use super::tracked::Tracked;
use crate::api::{ApiError, Skipped};
use crate::place;
use crate::source::Checkout;

/// The file that selects.
const FILE_NAME: &str = ".worktreeinclude";

/// What was selected.
#[derive(Debug, Default)]
pub(crate) struct Included {
    /// Files and links, ignored and selected.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// The directories on the way to them.
    pub(crate) directories: HashSet<PathBuf>,
    /// Lines that select nothing because they may not.
    pub(crate) refused: Vec<Skipped>,
}

/// Whether the source has a file that selects.
pub(crate) fn is_asked_for(root: &Path) -> Result<bool, ApiError> {
    Ok(fs_sys::exists(&root.join(FILE_NAME))?)
}

/// Looks for what the source's `.worktreeinclude` selects; without that file nothing is looked at.
/// What the source tracks is no ignored file, whatever the rules say.
pub(crate) fn find(source: &Checkout, tracked: &Tracked<'_>) -> Result<Included, ApiError> {
    let text = match fs_sys::read_file(&source.root.join(FILE_NAME)) {
        Ok(text) => text,
        // A link is not followed: it could make any file of the machine select.
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Link) => {
            return Ok(Included::default());
        }
        Err(error) => return Err(error.into()),
    };
    let (patterns, refused) = Patterns::parse(&text);
    let root = fs_sys::open_dir(&source.root)?;
    let new_search = || Search { patterns: &patterns, tracked, found: Vec::new() };
    let searches = walk(&root, copy_engine::default_workers(), new_search)?;
    let paths: BTreeSet<PathBuf> = searches.into_iter().flat_map(|search| search.found).collect();
    let directories = paths.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned);
    let directories = directories.collect();
    let refused = refused
        .into_iter()
        .map(|line| Skipped {
            path: PathBuf::from(line).into(),
            reason: "outside-repository".to_owned(),
        })
        .collect();
    Ok(Included { paths, directories, refused })
}

struct Search<'a> {
    patterns: &'a Patterns,
    tracked: &'a Tracked<'a>,
    found: Vec<PathBuf>,
}

impl Visitor for Search<'_> {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        let is_git = parent.relative.as_os_str().is_empty() && entry.name == ".git";
        if is_git || not_its_own(&parent.dir, &entry.name).is_some() {
            return Ok(Descend::Past);
        }
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), ApiError> {
        for entry in files.iter().filter(|entry| entry.ignore == Ignore::Ignored) {
            let relative = parent.relative.join(&entry.name);
            if self.patterns.selects(&relative, entry.kind) && !self.tracked.holds(&relative) {
                self.found.push(relative);
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, _relative: &Path, error: fs_sys::Error) -> Result<(), ApiError> {
        // What cannot be looked into selects nothing; a mount is not descended into.
        if matches!(error.kind, ErrorKind::Denied | ErrorKind::CrossDevice | ErrorKind::NotFound) {
            return Ok(());
        }
        Err(error.into())
    }
}

/// Why a directory is not the source's own to give, if so: it is a repository, or a store of fwt's,
/// whoever's trees are in that.
pub(crate) fn not_its_own(parent: &Dir, name: &OsStr) -> Option<Skip> {
    let dir = parent.open_beneath(Path::new(name)).ok()?;
    let holds = |name: &str| fs_sys::stat_at(dir.at(OsStr::new(name))).is_ok();
    if holds(".git") || holds(".jj") {
        Some(Skip::NestedRepository)
    } else if holds(place::STORE_MARK) {
        Some(Skip::Managed)
    } else {
        None
    }
}

impl Filter for Included {
    fn judge(&self, _parent: &Dir, relative: &Path, kind: Kind, _ignore: Ignore) -> Verdict {
        let is_wanted = match kind {
            Kind::Directory => self.directories.contains(relative),
            Kind::File | Kind::Symlink | Kind::Special => self.paths.contains(relative),
        };
        if is_wanted { Verdict::Copy } else { Verdict::LeaveOut }
    }
}

/// A path of bytes, as an index has it.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
