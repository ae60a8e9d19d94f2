//! Copying all that a walk finds, with times, attributes, hard links and holes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fs_sys::{Dir, ErrorKind, File, Kind, Mode, Place, Stat, Xattrs};
use walk::{Descend, Directory, Entry, Ignore, Visitor, walk};

use crate::file::{Attributes, Buffer, User, copy_content, copy_link, finish};
use crate::progress::Bytes;
use crate::settle::{Link, Made, finish_directories, link_all};
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
    /// The repository of a jj workspace: a copy would share its operation log or its git repository.
    JjRepository,
    /// It is managed by whoever copies: a tree or a store of theirs.
    Managed,
    /// It may not be read.
    Unreadable,
    /// Something else is at its place already.
    Exists,
    /// An ignored file that never held still long enough. One that no rule hides fails the copy.
    KeepsChanging,
}

/// An entry that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path below the root.
    pub path: PathBuf,
    /// Why.
    pub skip: Skip,
    /// Whether the rules hide it: then its loss is a smaller one.
    pub ignore: Ignore,
}

/// A file or link that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its path below the root.
    pub path: PathBuf,
    /// What lstat said of the source before and after the copy.
    pub source: Stat,
    /// What lstat says of the copy after the last write.
    pub stat: Stat,
    /// Whether the rules hide it.
    pub ignore: Ignore,
}

/// What becomes of an entry whose place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The copy fails: its destination was to be empty.
    Fail,
    /// It is left out and listed; what is there is not touched. A directory that is there is used.
    Keep,
}

/// What was copied.
#[derive(Debug, Default)]
pub struct Tree {
    /// Files and links.
    pub files: Vec<CopiedFile>,
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
    existing: Existing,
    options: &Options<'_>,
) -> Result<Tree> {
    let shared = Shared {
        dest,
        filter,
        existing,
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
    link_all(dest, &mut tree, &links, options)?;
    finish_directories(dest, &mut tree, directories, shared.user)?;
    tree.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(tree)
}

struct Shared<'a> {
    dest: &'a Dir,
    filter: &'a dyn Filter,
    existing: Existing,
    options: &'a Options<'a>,
    user: User,
    /// Where the first name of each file with several was copied to, by device and inode.
    first_names: Mutex<HashMap<(u64, u64), PathBuf>>,
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    tree: Tree,
    /// Further names, made when every first name is whole.
    links: Vec<Link>,
    directories: Vec<Made>,
    buffer: Buffer,
}

/// A file that was copied; a link has no attributes.
struct Copied {
    source: Stat,
    stat: Stat,
    bytes: Bytes,
    lost: Vec<fs_sys::Xattr>,
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

    fn skip(&mut self, path: PathBuf, skip: Skip, ignore: Ignore) {
        self.tree.skipped.push(Skipped { path, skip, ignore });
    }

    fn is_kept(&self, error: &fs_sys::Error) -> bool {
        error.kind == ErrorKind::Exists && self.shared.existing == Existing::Keep
    }

    fn is_copied(&mut self, parent: &Directory, entry: &Entry) -> bool {
        let relative = parent.relative.join(&entry.name);
        match self.shared.filter.judge(&parent.dir, &relative, entry.kind, entry.ignore) {
            Verdict::Copy if entry.kind == Kind::Special => {
                self.skip(relative, Skip::Special, entry.ignore);
                false
            }
            Verdict::Copy => true,
            Verdict::LeaveOut => false,
            Verdict::Skip(skip) => {
                self.skip(relative, skip, entry.ignore);
                false
            }
        }
    }

    fn entry(&mut self, parent: &Directory, dest: &Dir, entry: &Entry) -> Result<()> {
        self.shared.options.cancel.check()?;
        let relative = parent.relative.join(&entry.name);
        let (from, to) = (parent.dir.at(&entry.name), dest.at(&entry.name));
        match self.copy(from, to, &relative, entry) {
            Ok(Some(copied)) => {
                self.tree.bytes.cloned += copied.bytes.cloned;
                self.tree.bytes.copied += copied.bytes.copied;
                self.shared.options.progress.add(copied.bytes);
                for lost in copied.lost {
                    self.tree.lost_attributes.push((relative.clone(), lost.name));
                }
                self.tree.files.push(CopiedFile {
                    path: relative,
                    source: copied.source,
                    stat: copied.stat,
                    ignore: entry.ignore,
                });
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(Error::Fs(error)) if is_at(&error, from) && is_skipped(&error) => {
                if error.kind == ErrorKind::Denied {
                    self.skip(relative, Skip::Unreadable, entry.ignore);
                }
                Ok(())
            }
            Err(Error::Fs(error)) if is_at(&error, to) && self.is_kept(&error) => {
                self.skip(relative, Skip::Exists, entry.ignore);
                Ok(())
            }
            Err(Error::KeepsChanging { .. }) if entry.ignore == Ignore::Ignored => {
                self.skip(relative, Skip::KeepsChanging, entry.ignore);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Copies an entry as what it is; where that is not what was listed, it is looked at again.
    fn copy(
        &mut self,
        from: Place<'_>,
        to: Place<'_>,
        relative: &Path,
        entry: &Entry,
    ) -> Result<Option<Copied>> {
        let mut kind = entry.kind;
        for _ in 0..ATTEMPTS {
            let copied = match kind {
                Kind::Symlink => self.link(from, to, relative, entry.ignore),
                Kind::File => self.file(from, to, relative, entry.ignore),
                Kind::Special => {
                    self.skip(relative.to_owned(), Skip::Special, entry.ignore);
                    return Ok(None);
                }
                Kind::Directory => break,
            };
            match copied {
                Err(Error::Fs(error)) if is_at(&error, from) && !is_skipped(&error) => {
                    let now = fs_sys::stat_at(from)?.kind;
                    if now == kind {
                        return Err(error.into());
                    }
                    kind = now;
                }
                other => return other,
            }
        }
        Err(Error::KeepsChanging { path: from.path() })
    }

    /// `None` if it is a further name of a link that is copied elsewhere.
    fn link(
        &mut self,
        from: Place<'_>,
        to: Place<'_>,
        relative: &Path,
        ignore: Ignore,
    ) -> Result<Option<Copied>> {
        let target = fs_sys::read_link(from)?;
        let before = fs_sys::stat_at(from)?;
        if before.links > 1 && self.has_first_name(&before, relative, ignore) {
            return Ok(None);
        }
        let stat = copy_link(&target, Attributes::of(&before), to, self.shared.user)?;
        Ok(Some(Copied { source: before, stat, bytes: Bytes::default(), lost: Vec::new() }))
    }

    /// `None` if it is a further name of a file that is copied elsewhere, or no file any more.
    fn file(
        &mut self,
        from: Place<'_>,
        to: Place<'_>,
        relative: &Path,
        ignore: Ignore,
    ) -> Result<Option<Copied>> {
        let source = File::open(from)?;
        for _ in 0..ATTEMPTS {
            let before = source.stat()?;
            if before.kind != Kind::File {
                self.skip(relative.to_owned(), Skip::Special, ignore);
                return Ok(None);
            }
            let xattrs = Xattrs::read(&source, || from.path())?;
            if before.links > 1 && self.has_first_name(&before, relative, ignore) {
                return Ok(None);
            }
            let (options, user) = (self.shared.options, self.shared.user);
            let copied = copy_content(&source, &before, to, options, &mut self.buffer);
            let (file, bytes) = copied.or_else(|error| take_back(error, from, to))?;
            let wanted = Attributes::of(&before);
            let mut lost = Vec::new();
            if !xattrs.is_empty() {
                // The owner first: a change of it drops the capabilities of a program.
                user.give(wanted, file.stat()?.owner, |owner| file.set_owner(owner))?;
                lost = xattrs.write(&file, || to.path())?;
            }
            let stat = finish(&file, wanted, user)?;
            if source.stat()?.is_same_content(&before) && stat.size == before.size {
                return Ok(Some(Copied { source: before, stat, bytes, lost }));
            }
            fs_sys::remove_file_at(to)?;
        }
        Err(Error::KeepsChanging { path: from.path() })
    }

    /// Whether another name of the same file came first; then this one is noted as a link to it.
    fn has_first_name(&mut self, stat: &Stat, relative: &Path, ignore: Ignore) -> bool {
        let mut names = self.shared.first_names.lock().unwrap_or_else(PoisonError::into_inner);
        let first =
            names.entry((stat.dev, stat.ino)).or_insert_with(|| relative.to_owned()).clone();
        drop(names);
        let is_other = first != relative;
        if is_other {
            self.links.push(Link { path: relative.to_owned(), first, source: *stat, ignore });
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
                self.skip(relative, Skip::Mount, entry.ignore);
                return Ok(Descend::Past);
            }
            Err(error) if error.kind == ErrorKind::Denied => {
                self.skip(relative, Skip::Unreadable, entry.ignore);
                return Ok(Descend::Past);
            }
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Descend::Past),
            Err(error) if matches!(error.kind, ErrorKind::NotADirectory | ErrorKind::Link) => {
                return Err(Error::KeepsChanging { path: error.path });
            }
            Err(error) => return Err(error.into()),
        };
        let dest = self.shared.dest.open_beneath(&parent.relative)?;
        match fs_sys::make_dir_at(dest.at(&entry.name), Mode(0o700)) {
            Err(error) if self.is_kept(&error) => {
                // Neither its attributes nor what is in it are ours to change.
                if dest.open_child(&entry.name).is_ok() {
                    return Ok(Descend::Into);
                }
                self.skip(relative, Skip::Exists, entry.ignore);
                return Ok(Descend::Past);
            }
            made => made?,
        }
        let wanted = Attributes::of(&source.stat()?);
        let xattrs = Xattrs::read(&source, || source.path().to_owned())?;
        self.directories.push(Made { relative, wanted, xattrs });
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
        if error.kind == ErrorKind::Denied {
            // The walk does not say whether rules hide a directory that it could not open.
            self.skip(relative.to_owned(), Skip::Unreadable, Ignore::Not);
        } else if error.kind != ErrorKind::NotFound {
            return Err(error.into());
        }
        Ok(())
    }
}

/// A source that can be opened and not read (a network file system may do that) leaves nothing.
fn take_back<T>(error: Error, from: Place<'_>, to: Place<'_>) -> Result<T> {
    if matches!(&error, Error::Fs(error) if is_at(error, from)) {
        fs_sys::remove_file_at(to)?;
    }
    Err(error)
}

/// Whether an error at the source concerns this entry alone: it vanished, or may not be read.
fn is_skipped(error: &fs_sys::Error) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::Denied)
}

fn is_at(error: &fs_sys::Error, place: Place<'_>) -> bool {
    error.path == place.path()
}
