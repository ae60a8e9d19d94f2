//! Looking through a tree for files that git does not know and fwt did not put there.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Dir, Kind, Stat};
use walk::{Descend, Directory, Entry, Ignore, Visitor, walk};

use super::area::Area;
use super::original::Original;
use super::verdict::Keep;
use crate::api::ApiError;
use crate::manifest::Provisioned;

/// What may be in a tree without being anybody's work.
#[derive(Debug)]
pub(crate) struct Known {
    /// Paths in the tree's index that git compares; it has judged these.
    tracked: HashSet<Vec<u8>>,
    /// What fwt put there, as it was then.
    provisioned: HashMap<Vec<u8>, Stat>,
    /// What a setup hook made, as it was then.
    made: HashMap<Vec<u8>, Stat>,
    /// Where carried work may still be.
    original: Original,
}

impl Known {
    pub(crate) fn original(&self) -> &Original {
        &self.original
    }

    pub(crate) fn new(
        tracked: HashSet<Vec<u8>>,
        (provisioned, made): (Vec<Provisioned>, Vec<Provisioned>),
        original: Original,
    ) -> Self {
        let by_path = |entries: Vec<Provisioned>| {
            entries.into_iter().map(|entry| (entry.path, entry.stat)).collect()
        };
        Self { tracked, provisioned: by_path(provisioned), made: by_path(made), original }
    }
}

impl Known {
    /// The first file that fwt put into the tree, that is gone, and that the source still has.
    pub(crate) fn first_deleted(&self, tree: &Dir) -> Result<Option<Keep>, ApiError> {
        for path in self.provisioned.keys() {
            let relative = Path::new(OsStr::from_bytes(path));
            if !is_there(tree, relative)? && !self.original.has(tree, relative)? {
                return Ok(Some(Keep::Deleted(relative.to_owned())));
            }
        }
        Ok(None)
    }
}

fn is_there(tree: &Dir, relative: &Path) -> Result<bool, ApiError> {
    use fs_sys::ErrorKind::{Link, NotADirectory, NotFound};
    let parent = match tree.open_beneath(relative.parent().unwrap_or(Path::new(""))) {
        Ok(parent) => parent,
        Err(error) if matches!(error.kind, NotFound | NotADirectory | Link) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match fs_sys::stat_at(parent.at(relative.file_name().unwrap_or_default())) {
        Ok(_) => Ok(true),
        Err(error) if error.kind == NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What there is in a tree.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// An entry that is neither tracked, nor as it was provisioned, nor in a directory that the
    /// project's own ignore files write off as a whole.
    pub(crate) unsaved: Option<Keep>,
    /// Tracked files that are not as they were provisioned. git compares whole seconds: if it calls
    /// one of them unchanged, it may be wrong.
    pub(crate) doubtful: HashSet<Vec<u8>>,
}

/// Looks through a tree, or the part of it in which something can have changed, until something unsaved is
/// found.
pub(crate) fn look_through(
    tree: &Dir,
    known: &Known,
    area: Option<&Area>,
) -> Result<Found, ApiError> {
    let search = || Search { tree, known, area, found: Found::default() };
    let visitors = walk(tree, copy_engine::default_workers(), search)?;
    let mut all = Found::default();
    for Search { found, .. } in visitors {
        all.unsaved = all.unsaved.or(found.unsaved);
        all.doubtful.extend(found.doubtful);
    }
    Ok(all)
}

struct Search<'a> {
    tree: &'a Dir,
    known: &'a Known,
    area: Option<&'a Area>,
    found: Found,
}

impl Search<'_> {
    fn look_at(&mut self, parent: &Directory, entry: &Entry) -> Result<(), ApiError> {
        let relative = parent.relative.join(&entry.name);
        let path = relative.as_os_str().as_bytes();
        if relative == Path::new(".git") {
            return Ok(());
        }
        let now = fs_sys::stat_at(parent.dir.at(&entry.name))?;
        let is_untouched =
            self.known.provisioned.get(path).is_some_and(|then| now.is_same_content(then));
        let is_tracked = self.known.tracked.contains(path);
        // What the project ignores can be made again, if nobody has touched it; what it does not is
        // somebody's, and must still be where it came from.
        if is_untouched && (is_tracked || entry.ignore == Ignore::Ignored) {
            return Ok(());
        }
        let is_made = self.known.made.get(path).is_some_and(|then| now.is_same_content(then));
        if is_made && !is_tracked {
            return Ok(());
        }
        if self.known.original.has(self.tree, &relative)? {
            return Ok(());
        }
        if is_tracked {
            self.found.doubtful.insert(path.to_owned());
        } else {
            // An ignored file in a directory that is not ignored (`.env`) is somebody's; so is a FIFO.
            self.found.unsaved = Some(Keep::Untracked(relative));
        }
        Ok(())
    }
}

impl Visitor for Search<'_> {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        if self.found.unsaved.is_some() {
            return Ok(Descend::Past);
        }
        let relative = parent.relative.join(&entry.name);
        if self.area.is_some_and(|area| !area.leads_on(&relative)) {
            return Ok(Descend::Past);
        }
        if relative == Path::new(".git") {
            // A standalone tree's own repository, whose commits are judged as such.
            return Ok(Descend::Past);
        }
        if holds_repository(parent, entry.name.as_os_str())? {
            self.found.unsaved = Some(Keep::Nested(relative));
            return Ok(Descend::Past);
        }
        Ok(match entry.ignore {
            Ignore::Ignored => Descend::Past,
            Ignore::Not => Descend::Into,
        })
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), ApiError> {
        for entry in files.iter().filter(|entry| entry.kind != Kind::Directory) {
            if self.found.unsaved.is_some() {
                break;
            }
            let is_meant = |area: &Area| area.holds(&parent.relative.join(&entry.name));
            if self.area.is_some_and(|area| !is_meant(area)) {
                continue;
            }
            self.look_at(parent, entry)?;
        }
        Ok(())
    }
}

fn holds_repository(parent: &Directory, name: &OsStr) -> Result<bool, ApiError> {
    let child = parent.dir.open_beneath(Path::new(name))?;
    match fs_sys::stat_at(child.at(OsStr::new(".git"))) {
        Ok(_) => Ok(true),
        Err(error) if error.kind == fs_sys::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}
