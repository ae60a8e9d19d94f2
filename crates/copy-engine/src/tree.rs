//! Copying all that a walk finds, with times, attributes, hard links and holes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fs_sys::{Dir, ErrorKind, File, Kind, Mode, Place, Stat};
use walk::{Descend, Directory, Entry, Ignore, Visitor, walk};

use crate::file::{Attributes, Buffer, User, copy_content, copy_link, finish};
use crate::progress::Bytes;
use crate::{Error, Options, Result};

/// How often a file that changes while it is copied is tried.
const ATTEMPTS: usize = 3;

/// Whether an entry is to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Copy,
    /// No, and nothing below it, without a word.
    LeaveOut,
    /// No, and the outcome lists it.
    Skip(Skip),
}

/// Chooses what is copied. It is asked for every entry before it is opened.
pub trait Filter: Sync {
    /// What becomes of the entry at `relative`, below which nothing was asked yet. `parent` is the
    /// open directory it is in.
    fn judge(&self, parent: &Dir, relative: &Path, kind: Kind, ignore: Ignore) -> Verdict;
}

/// Why an entry was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skip {
    /// A FIFO, socket or device.
    Special,
    /// Another file system is mounted there.
    Mount,
    /// A repository or worktree of its own.
    NestedRepository,
    /// It may not be read.
    Unreadable,
}

/// An entry that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path below the root.
    pub path: PathBuf,
    /// Why.
    pub skip: Skip,
}

/// What was copied.
#[derive(Debug, Default)]
pub struct Tree {
    /// Files and links, each with its final lstat.
    pub files: Vec<(PathBuf, Stat)>,
    /// Directories that were made.
    pub directories: u64,
    /// What was left out, sorted by path.
    pub skipped: Vec<Skipped>,
    /// Attributes that the destination cannot hold, as path and name.
    pub lost_attributes: Vec<(PathBuf, OsString)>,
    /// How the bytes came.
    pub bytes: Bytes,
}

/// Copies all that `filter` admits from `source` into the directory `dest`.
pub fn copy_tree(
    source: &Dir,
    dest: &Dir,
    filter: &dyn Filter,
    options: &Options<'_>,
) -> Result<Tree> {
    let shared = Shared {
        dest,
        filter,
        options,
        user: User::current(),
        first_names: Mutex::new(HashMap::new()),
    };
    let workers = walk(source, options.workers, || Worker::new(&shared))?;
    let mut tree = Tree::default();
    let (mut links, mut directories) = (Vec::new(), Vec::new());
    for worker in workers {
        tree.files.extend(worker.tree.files);
        tree.skipped.extend(worker.tree.skipped);
        tree.lost_attributes.extend(worker.tree.lost_attributes);
        tree.directories += worker.tree.directories;
        tree.bytes.cloned += worker.tree.bytes.cloned;
        tree.bytes.copied += worker.tree.bytes.copied;
        links.extend(worker.links);
        directories.extend(worker.directories);
    }
    for (path, first) in links {
        tree.files.push((path.clone(), link_again(dest, &first, &path)?));
    }
    // The deepest first: making an entry changes its directory's time.
    directories.sort_by(|a, b| b.0.cmp(&a.0));
    for (relative, wanted) in directories {
        finish_directory(&dest.open_beneath(&relative)?, wanted, shared.user)?;
    }
    tree.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(tree)
}

struct Shared<'a> {
    dest: &'a Dir,
    filter: &'a dyn Filter,
    options: &'a Options<'a>,
    user: User,
    /// Where the first name of each file with several was copied to, by device and inode.
    first_names: Mutex<HashMap<(u64, u64), PathBuf>>,
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    tree: Tree,
    /// Further names, made when every first name is whole.
    links: Vec<(PathBuf, PathBuf)>,
    directories: Vec<(PathBuf, Attributes)>,
    buffer: Buffer,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared<'a>) -> Self {
        Self {
            shared,
            tree: Tree::default(),
            links: Vec::new(),
            directories: Vec::new(),
            buffer: Buffer::default(),
        }
    }

    fn skip(&mut self, path: PathBuf, skip: Skip) {
        self.tree.skipped.push(Skipped { path, skip });
    }

    fn is_copied(&mut self, parent: &Directory, entry: &Entry) -> bool {
        let relative = parent.relative.join(&entry.name);
        if entry.kind == Kind::Special {
            self.skip(relative, Skip::Special);
            return false;
        }
        match self.shared.filter.judge(&parent.dir, &relative, entry.kind, entry.ignore) {
            Verdict::Copy => true,
            Verdict::LeaveOut => false,
            Verdict::Skip(skip) => {
                self.skip(relative, skip);
                false
            }
        }
    }

    fn entry(&mut self, parent: &Directory, dest: &Dir, entry: &Entry) -> Result<()> {
        self.shared.options.cancel.check()?;
        let relative = parent.relative.join(&entry.name);
        let (from, to) = (parent.dir.at(&entry.name), dest.at(&entry.name));
        let copied = match entry.kind {
            Kind::Symlink => self.link(from, to).map(Some),
            Kind::File | Kind::Directory | Kind::Special => self.file(from, to, &relative),
        };
        match copied {
            Ok(Some((stat, bytes))) => {
                self.tree.bytes.cloned += bytes.cloned;
                self.tree.bytes.copied += bytes.copied;
                self.shared.options.progress.add(bytes);
                self.tree.files.push((relative, stat));
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(Error::Fs(error)) if is_at(&error, from) && is_skipped(&error) => {
                if error.kind == ErrorKind::Denied {
                    self.skip(relative, Skip::Unreadable);
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn link(&self, from: Place<'_>, to: Place<'_>) -> Result<(Stat, Bytes)> {
        let target = fs_sys::read_link(from)?;
        let wanted = Attributes::of(&fs_sys::stat_at(from)?);
        Ok((copy_link(&target, wanted, to, self.shared.user)?, Bytes::default()))
    }

    /// `None` if it is a further name of a file that is copied elsewhere, or no file any more.
    fn file(
        &mut self,
        from: Place<'_>,
        to: Place<'_>,
        relative: &Path,
    ) -> Result<Option<(Stat, Bytes)>> {
        let source = File::open(from)?;
        for _ in 0..ATTEMPTS {
            let before = source.stat()?;
            if before.kind != Kind::File {
                self.skip(relative.to_owned(), Skip::Special);
                return Ok(None);
            }
            if before.links > 1 && self.has_first_name(&before, relative) {
                return Ok(None);
            }
            let ladder = self.shared.options.ladder;
            let (file, bytes) = copy_content(&source, &before, to, ladder, &mut self.buffer)?;
            for lost in fs_sys::copy_xattrs(&source, &file, || to.path())? {
                self.tree.lost_attributes.push((relative.to_owned(), lost.name));
            }
            let stat = finish(&file, Attributes::of(&before), self.shared.user)?;
            if source.stat()?.is_same_content(&before) && stat.size == before.size {
                return Ok(Some((stat, bytes)));
            }
            fs_sys::remove_file_at(to)?;
        }
        Err(Error::KeepsChanging { path: from.path() })
    }

    /// Whether another name of the same file came first; then this one is noted as a link to it.
    fn has_first_name(&mut self, stat: &Stat, relative: &Path) -> bool {
        let mut names = self.shared.first_names.lock().unwrap_or_else(PoisonError::into_inner);
        let first =
            names.entry((stat.dev, stat.ino)).or_insert_with(|| relative.to_owned()).clone();
        drop(names);
        let is_other = first != relative;
        if is_other {
            self.links.push((relative.to_owned(), first));
        }
        is_other
    }
}

impl Visitor for Worker<'_> {
    type Error = Error;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend> {
        self.shared.options.cancel.check()?;
        if !self.is_copied(parent, entry) {
            return Ok(Descend::Past);
        }
        let relative = parent.relative.join(&entry.name);
        let source = match parent.dir.open_beneath(Path::new(&entry.name)) {
            Ok(dir) => dir,
            Err(error) if error.kind == ErrorKind::CrossDevice => {
                self.skip(relative, Skip::Mount);
                return Ok(Descend::Past);
            }
            Err(error) if error.kind == ErrorKind::Denied => {
                self.skip(relative, Skip::Unreadable);
                return Ok(Descend::Past);
            }
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Descend::Past),
            Err(error) => return Err(error.into()),
        };
        let dest = self.shared.dest.open_beneath(&parent.relative)?;
        fs_sys::make_dir_at(dest.at(&entry.name), Mode(0o700))?;
        let made = dest.open_child(&entry.name)?;
        for lost in fs_sys::copy_xattrs(&source, &made, || made.path().to_owned())? {
            self.tree.lost_attributes.push((relative.clone(), lost.name));
        }
        self.directories.push((relative, Attributes::of(&source.stat()?)));
        self.tree.directories += 1;
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<()> {
        let dest = self.shared.dest.open_beneath(&parent.relative)?;
        for entry in files {
            if self.is_copied(parent, entry) {
                self.entry(parent, &dest, entry)?;
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, relative: &Path, error: fs_sys::Error) -> Result<()> {
        if is_skipped(&error) {
            self.skip(relative.to_owned(), Skip::Unreadable);
            return Ok(());
        }
        Err(error.into())
    }
}

/// Whether an error at the source concerns this entry alone: it vanished, or may not be read.
fn is_skipped(error: &fs_sys::Error) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::Denied)
}

fn is_at(error: &fs_sys::Error, place: Place<'_>) -> bool {
    error.path == place.path()
}

fn link_again(dest: &Dir, first: &Path, path: &Path) -> Result<Stat> {
    let open = |path: &Path| dest.open_beneath(path.parent().unwrap_or(Path::new("")));
    let (from, to) = (open(first)?, open(path)?);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    let (first, path) = (name(first), name(path));
    fs_sys::hard_link(from.at(&first), to.at(&path))?;
    Ok(fs_sys::stat_at(to.at(&path))?)
}

fn finish_directory(dir: &Dir, wanted: Attributes, user: User) -> Result<()> {
    let made = dir.stat()?;
    let wanted = user.may_keep(wanted, made.owner);
    if made.owner != wanted.owner {
        dir.set_owner(wanted.owner)?;
    }
    dir.set_mtime(wanted.mtime)?;
    dir.set_mode(wanted.mode)?;
    Ok(())
}
