//! Copying exactly the listed entries, each admitted by a gate at the open file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Dir, ErrorKind, File, Kind, Mode, Place, Stat};
use walk::{CHUNK_FILES, Queue, run_tasks};

use crate::file::{Attributes, Buffer, User, copy_content, copy_link, finish};
use crate::manifest::{Item, Manifest, Node};
use crate::progress::Bytes;
use crate::{Options, Result};

/// What a gate may look at.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// An open regular file.
    File(&'a File<'a>),
    /// A link's target.
    Link(&'a OsStr),
}

/// Decides, at the open source, whether an entry may be copied.
pub trait Gate: Sync {
    /// Whether the entry `id` may be copied, given its lstat and content now. It is asked before the
    /// copy, and the copy counts only if the source's lstat is the same afterwards.
    fn admits(&self, id: u32, stat: &Stat, content: Content<'_>) -> fs_sys::Result<bool>;
}

/// Why a listed entry was not copied. The caller decides what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It is not there, or something else is (a directory, a FIFO, a link above it).
    Missing,
    /// It may not be read.
    Unreadable,
    /// The gate said no.
    Declined,
    /// It changed while it was copied; the copy was taken away.
    Changed,
}

/// What became of the listed entries.
#[derive(Debug, Default)]
pub struct Listed {
    /// Those that were copied, with the lstat of the copy after its last write.
    pub copied: Vec<(u32, Stat)>,
    /// Those that were not. Nothing is at their place; their directories exist.
    pub rejected: Vec<(u32, Rejection)>,
    /// How the bytes came.
    pub bytes: Bytes,
}

/// Copies the entries of `manifest` from `source` into the empty directory `dest`. Permission bits
/// and times are kept, owners as root (those of directories too), setuid never; attributes and hard
/// links are not, since git has none. All directories of the manifest exist afterwards.
pub fn copy_listed(
    source: &Dir,
    dest: &Dir,
    manifest: &Manifest<'_>,
    gate: &dyn Gate,
    options: &Options<'_>,
) -> Result<Listed> {
    let job = Job { source, dest, manifest, gate, options, user: User::current() };
    let first = vec![Task { node: 0, part: Part::Whole }];
    let workers = run_tasks(options.workers, first, Worker::default, |worker, task, queue| {
        job.directory(worker, task, queue)
    })?;
    let mut listed = Listed::default();
    for worker in workers {
        listed.copied.extend(worker.listed.copied);
        listed.rejected.extend(worker.listed.rejected);
        listed.bytes.cloned += worker.listed.bytes.cloned;
        listed.bytes.copied += worker.listed.bytes.copied;
    }
    Ok(listed)
}

struct Job<'a> {
    source: &'a Dir,
    dest: &'a Dir,
    manifest: &'a Manifest<'a>,
    gate: &'a dyn Gate,
    options: &'a Options<'a>,
    user: User,
}

#[derive(Default)]
struct Worker {
    listed: Listed,
    buffer: Buffer,
}

/// A directory, or a part of the files of a huge one.
#[derive(Clone, Copy)]
struct Task {
    node: usize,
    part: Part,
}

#[derive(Clone, Copy)]
enum Part {
    /// Make the directory's children, then take its files.
    Whole,
    /// The files with these numbers; the directory has its children.
    Files { start: usize, end: usize },
}

impl Job<'_> {
    fn directory(&self, worker: &mut Worker, task: Task, queue: &Queue<Task>) -> Result<()> {
        self.options.cancel.check()?;
        let node = self.manifest.node(task.node);
        let relative = Path::new(OsStr::from_bytes(node.path));
        let dest = self.dest.open_beneath(relative)?;
        let source = match self.source.open_beneath(relative) {
            Ok(dir) => Ok(dir),
            Err(error) => Err(rejection(error)?),
        };
        let (mut start, mut end) = match task.part {
            Part::Files { start, end } => (start, end),
            Part::Whole => {
                if let Ok(source) = &source {
                    keep_directory(source, &dest, self.user)?;
                }
                self.make_children(node, &dest, queue)?;
                (0, node.items.len())
            }
        };
        while start < end {
            // Two workers in one directory wait for its lock, so its files are shared out only to one
            // that has nothing else to do.
            if end - start > CHUNK_FILES && queue.is_hungry() {
                let middle = start + (end - start) / 2;
                let part = Part::Files { start: middle, end };
                queue.push([Task { part, ..task }]);
                end = middle;
            }
            let chunk = end.min(start + CHUNK_FILES);
            for item in &node.items[start..chunk] {
                self.options.cancel.check()?;
                match &source {
                    Ok(source) => self.item(worker, source, &dest, *item)?,
                    Err(why) => worker.listed.rejected.push((item.id, *why)),
                }
            }
            start = chunk;
        }
        Ok(())
    }

    /// Only this directory's own worker makes anything in it; its children are free to run after.
    fn make_children(&self, node: &Node<'_>, dest: &Dir, queue: &Queue<Task>) -> Result<()> {
        for child in &node.children {
            let name = OsStr::from_bytes(self.manifest.node(*child).name());
            fs_sys::make_dir_at(dest.at(name), Mode(0o777))?;
        }
        queue.push(node.children.iter().map(|child| Task { node: *child, part: Part::Whole }));
        Ok(())
    }

    fn item(&self, worker: &mut Worker, source: &Dir, dest: &Dir, item: Item<'_>) -> Result<()> {
        let name = OsStr::from_bytes(item.name);
        let (from, to) = (source.at(name), dest.at(name));
        // Looked at first: opening a FIFO would let its writer run on, opening a device may act.
        let done = match fs_sys::stat_at(from) {
            Ok(found) => match found.kind {
                Kind::File => self.file(worker, from, to, (item.id, &found))?,
                Kind::Symlink => self.link(from, to, item.id, &found)?,
                Kind::Directory | Kind::Special => Err(Rejection::Missing),
            },
            Err(error) => Err(rejection(error)?),
        };
        match done {
            Ok((stat, bytes)) => {
                worker.listed.copied.push((item.id, stat));
                worker.listed.bytes.cloned += bytes.cloned;
                worker.listed.bytes.copied += bytes.copied;
                self.options.progress.add(bytes);
            }
            Err(why) => worker.listed.rejected.push((item.id, why)),
        }
        Ok(())
    }

    fn file(
        &self,
        worker: &mut Worker,
        from: Place<'_>,
        place: Place<'_>,
        (id, before): (u32, &Stat),
    ) -> Result<Copied> {
        let source = match File::open(from) {
            Ok(file) => file,
            // A link since a moment ago.
            Err(error) if error.kind == ErrorKind::Link => return Ok(Err(Rejection::Changed)),
            Err(error) => return Ok(Err(rejection(error)?)),
        };
        // `before` is the lstat from before the open: if that was another file, the one after the copy,
        // of the open file, tells.
        if !self.gate.admits(id, before, Content::File(&source))? {
            return Ok(Err(Rejection::Declined));
        }
        let buffer = &mut worker.buffer;
        let (file, bytes) = copy_content(&source, before, place, self.options, buffer)?;
        let wanted = Attributes { mode: before.mode.permissions(), ..Attributes::of(before) };
        let stat = finish(&file, wanted, self.user)?;
        if source.stat()?.is_same_content(before) && stat.size == before.size {
            return Ok(Ok((stat, bytes)));
        }
        fs_sys::remove_file_at(place)?;
        Ok(Err(Rejection::Changed))
    }

    fn link(&self, from: Place<'_>, place: Place<'_>, id: u32, before: &Stat) -> Result<Copied> {
        let target = match fs_sys::read_link(from) {
            Ok(target) => target,
            Err(_) if !is_link_still(from, before)? => return Ok(Err(Rejection::Changed)),
            Err(error) => return Ok(Err(rejection(error)?)),
        };
        if !self.gate.admits(id, before, Content::Link(&target))? {
            return Ok(Err(Rejection::Declined));
        }
        if !is_link_still(from, before)? {
            return Ok(Err(Rejection::Changed));
        }
        let stat = copy_link(&target, Attributes::of(before), place, self.user)?;
        Ok(Ok((stat, Bytes::default())))
    }
}

type Copied = std::result::Result<(Stat, Bytes), Rejection>;

/// What an error at the source means for the entry. Those that would meet every other entry too, or
/// that hide a broken disk, are errors of the whole copy.
fn rejection(error: fs_sys::Error) -> fs_sys::Result<Rejection> {
    if matches!(
        error.kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::Link
            | ErrorKind::CrossDevice
            | ErrorKind::IsADirectory
            | ErrorKind::NameTooLong
    ) || is_special(&error)
    {
        Ok(Rejection::Missing)
    } else if error.kind == ErrorKind::Denied {
        Ok(Rejection::Unreadable)
    } else {
        Err(error)
    }
}

/// Whether `before` is still what lstat says of the link. One that is gone is not.
fn is_link_still(link: Place<'_>, before: &Stat) -> fs_sys::Result<bool> {
    match fs_sys::stat_at(link) {
        Ok(now) => Ok(now.is_same_content(before)),
        Err(error) => rejection(error).map(|_| false),
    }
}

/// open(2) of a socket is ENXIO; a device without a driver ENODEV.
fn is_special(error: &fs_sys::Error) -> bool {
    const ENXIO: i32 = 6;
    const ENODEV: i32 = 19;
    matches!(error.source.raw_os_error(), Some(ENXIO | ENODEV))
}

/// A private directory stays private. Its owner may do all in it: git could not check anything out
/// otherwise. The owner is kept like that of the files in it.
fn keep_directory(source: &Dir, dest: &Dir, user: User) -> Result<()> {
    let (found, made) = (source.stat()?, dest.stat()?);
    let mode = Mode(found.mode.permissions().0 | 0o700);
    let wanted = Attributes { mode, ..Attributes::of(&found) };
    let wanted = user.give(wanted, made.owner, |owner| dest.set_owner(owner))?;
    if made.owner != wanted.owner || made.mode.permissions() != wanted.mode {
        dest.set_mode(wanted.mode)?;
    }
    Ok(())
}
