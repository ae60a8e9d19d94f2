//! Copying a directory that others may write to into a sealed one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use copy_engine::{
    Bytes, Cancel, Existing, Filter, Ignore, Ladder, Method, Options, Progress, Skip, Skipped,
    Verdict, copy_tree,
};
use fs_sys::{Dir, Kind as Entry, Stat, Xattrs};

use crate::contract::GIT;
use crate::error::{Error, Result};

/// What becomes of the topmost directory's [`GIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopGit {
    /// It is the tree's own.
    LeaveOut,
    /// It is content: a repository within the tree.
    Keep,
}

/// A directory that is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured<'a> {
    pub(crate) source: &'a Dir,
    pub(crate) top_git: TopGit,
    /// What is left out, with all that is below it.
    pub(crate) left_out: &'a BTreeSet<PathBuf>,
}

impl<'a> Captured<'a> {
    /// All of a directory.
    pub(crate) fn whole(source: &'a Dir, top_git: TopGit) -> Self {
        static NOTHING: BTreeSet<PathBuf> = BTreeSet::new();
        Self { source, top_git, left_out: &NOTHING }
    }
}

/// Whiteouts of a layer are made anew.
impl Filter for Captured<'_> {
    fn judge(&self, parent: &Dir, relative: &Path, kind: Entry, _: Ignore) -> Verdict {
        if self.top_git == TopGit::LeaveOut && relative == Path::new(GIT)
            || self.left_out.contains(relative)
        {
            return Verdict::LeaveOut;
        }
        let name = relative.file_name().unwrap_or_default();
        if kind == Entry::Special && fs_sys::is_whiteout(parent.at(name)).unwrap_or(false) {
            return Verdict::LeaveOut;
        }
        Verdict::Copy
    }
}

/// Copies what is captured into the empty directory `dest`, by reflink where that can be had. What is there
/// on failure is the caller's to remove. The topmost directory gets its attributes by
/// [`copy_attributes`], when nothing is written into it any more.
pub(crate) fn copy_everything(
    captured: Captured<'_>,
    dest: &Path,
    ladder: &Ladder,
    progress: &Progress,
    cancel: &Cancel,
) -> Result<(Dir, Bytes)> {
    let made = fs_sys::open_dir(dest)?;
    let options = Options { ladder, workers: copy_engine::default_workers(), progress, cancel };
    let source = captured.source;
    let copied = copy_tree(source, &made, &captured, Existing::Fail, &options)?;
    match copied.skipped.into_iter().find(|skipped| skipped.skip != Skip::Special) {
        None => Ok((made, copied.bytes)),
        Some(Skipped { path, skip: Skip::KeepsChanging, .. }) => {
            Err(copy_engine::Error::KeepsChanging { path: source.path().join(path) }.into())
        }
        Some(Skipped { path, .. }) => Err(Error::NotSealable { path: source.path().join(path) }),
    }
}

/// The ladder of a copy that stays on one file system.
pub(crate) fn ladder() -> Ladder {
    Ladder::new(Method::Reflink, Method::ReadWrite)
}

/// What a directory has besides its entries.
#[derive(Debug)]
pub(crate) struct Attributes {
    stat: Stat,
    xattrs: Xattrs,
}

impl Attributes {
    pub(crate) fn read(from: &Dir) -> Result<Self> {
        let xattrs = Xattrs::read(from, || from.path().to_owned())?;
        Ok(Self { stat: from.stat()?, xattrs })
    }

    /// Gives them to a directory, in the order in which none undoes another.
    pub(crate) fn write(&self, to: &Dir) -> Result<()> {
        if self.stat.owner != to.stat()?.owner {
            to.set_owner(self.stat.owner)?;
        }
        for lost in self.xattrs.write(to, || to.path().to_owned())? {
            tracing::warn!(path = %to.path().display(), name = ?lost.name, "an attribute is not kept");
        }
        to.set_mode(self.stat.mode)?;
        Ok(to.set_mtime(self.stat.mtime)?)
    }
}

/// Gives a directory the owner, attributes, mode and time of another.
pub(crate) fn copy_attributes(from: &Dir, to: &Dir) -> Result<()> {
    Attributes::read(from)?.write(to)
}

/// What an image is called beside `dest` until it is whole.
pub(crate) fn part_of(dest: &Path) -> PathBuf {
    let mut name = OsString::from(dest.file_name().unwrap_or_default());
    name.push(".part");
    dest.with_file_name(name)
}
