//! Copying exactly the listed entries, each admitted by a gate at the open file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Dir, ErrorKind, File, Kind, Mode, Place, Stat};
use walk::{CHUNK_FILES, Queue, run_tasks};

use crate::file::{Attributes, Buffer, User, copy_content, copy_link, finish};
use crate::manifest::{Item, Manifest, Node};
use crate::progress::Bytes;
use crate::{Error, Options, Result};

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
/// and times are kept, owners as root, setuid never; attributes and hard links are not, since git
/// has none. All directories of the manifest exist afterwards.
pub fn copy_listed(
    source: &Dir,
    dest: &Dir,
    manifest: &Manifest<'_>,
    gate: &dyn Gate,
    options: &Options<'_>,
) -> Result<Listed> {
    let job = Job { source, dest, manifest, gate, options, user: User::current() };
    let first = vec![Task { node: 0, files: Part::Whole }];
    let workers = run_tasks(options.workers, first, Worker::default, |worker, task, queue| {
        job.directory(worker, &task, queue)
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
struct Task {
    node: usize,
    files: Part,
}

enum Part {
    /// Make the directory's children, then take the first files and hand out the rest.
    Whole,
    /// The files from this number on, [`CHUNK_FILES`] of them.
    From(usize),
}

impl Job<'_> {
    fn directory(&self, worker: &mut Worker, task: &Task, queue: &Queue<Task>) -> Result<()> {
        self.options.cancel.check()?;
        let node = self.manifest.node(task.node);
        let relative = Path::new(OsStr::from_bytes(node.path));
        let dest = self.dest.open_beneath(relative)?;
        let source = match self.source.open_beneath(relative) {
            Ok(dir) => Ok(dir),
            Err(error) => Err(rejection(error)?),
        };
        let start = match task.files {
            Part::From(start) => start,
            Part::Whole => {
                if let Ok(source) = &source {
                    keep_directory_mode(source, &dest)?;
                }
                self.make_children(node, &dest, queue)?;
                let rest = (CHUNK_FILES..node.items.len()).step_by(CHUNK_FILES);
                queue.push(rest.map(|from| Task { node: task.node, files: Part::From(from) }));
                0
            }
        };
        let end = node.items.len().min(start + CHUNK_FILES);
        for item in &node.items[start..end] {
            self.options.cancel.check()?;
            match &source {
                Ok(source) => self.item(worker, source, &dest, *item)?,
                Err(why) => worker.listed.rejected.push((item.id, *why)),
            }
        }
        Ok(())
    }

    /// Only this directory's own worker makes anything in it; its children are free to run after.
    fn make_children(&self, node: &Node<'_>, dest: &Dir, queue: &Queue<Task>) -> Result<()> {
        for child in &node.children {
            let name = OsStr::from_bytes(self.manifest.node(*child).name());
            fs_sys::make_dir_at(dest.at(name), Mode(0o777))?;
        }
        queue.push(node.children.iter().map(|child| Task { node: *child, files: Part::Whole }));
        Ok(())
    }

    fn item(&self, worker: &mut Worker, source: &Dir, dest: &Dir, item: Item<'_>) -> Result<()> {
        let name = OsStr::from_bytes(item.name);
        let done = match File::open(source.at(name)) {
            Ok(file) => self.file(worker, &file, dest.at(name), item.id),
            // O_NOFOLLOW on a link: it is copied as one.
            Err(error) if error.kind == ErrorKind::Link => {
                self.link(source.at(name), dest.at(name), item.id)
            }
            Err(error) => rejection(error).map(Err).map_err(Error::from),
        };
        match done? {
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
        source: &File<'_>,
        place: Place<'_>,
        id: u32,
    ) -> Result<Copied> {
        let before = source.stat()?;
        if before.kind != Kind::File {
            return Ok(Err(Rejection::Missing));
        }
        if !self.gate.admits(id, &before, Content::File(source))? {
            return Ok(Err(Rejection::Declined));
        }
        let ladder = self.options.ladder;
        let (file, bytes) = copy_content(source, &before, place, ladder, &mut worker.buffer)?;
        let wanted = Attributes { mode: before.mode.permissions(), ..Attributes::of(&before) };
        let stat = finish(&file, wanted, self.user)?;
        if source.stat()?.is_same_content(&before) && stat.size == before.size {
            return Ok(Ok((stat, bytes)));
        }
        fs_sys::remove_file_at(place)?;
        Ok(Err(Rejection::Changed))
    }

    fn link(&self, source: Place<'_>, place: Place<'_>, id: u32) -> Result<Copied> {
        let copied = (|| {
            let before = fs_sys::stat_at(source)?;
            if before.kind != Kind::Symlink {
                return Ok(Err(Rejection::Changed));
            }
            let target = fs_sys::read_link(source)?;
            if !self.gate.admits(id, &before, Content::Link(&target))? {
                return Ok(Err(Rejection::Declined));
            }
            if !fs_sys::stat_at(source)?.is_same_content(&before) {
                return Ok(Err(Rejection::Changed));
            }
            Ok(Ok((target, before)))
        })();
        match copied {
            Ok(Ok((target, before))) => {
                let stat = copy_link(&target, Attributes::of(&before), place, self.user)?;
                Ok(Ok((stat, Bytes::default())))
            }
            Ok(Err(why)) => Ok(Err(why)),
            Err(error) => Ok(Err(rejection(error)?)),
        }
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
    ) || is_special(&error)
    {
        Ok(Rejection::Missing)
    } else if error.kind == ErrorKind::Denied {
        Ok(Rejection::Unreadable)
    } else {
        Err(error)
    }
}

/// open(2) of a socket is ENXIO; a device without a driver ENODEV.
fn is_special(error: &fs_sys::Error) -> bool {
    const ENXIO: i32 = 6;
    const ENODEV: i32 = 19;
    matches!(error.source.raw_os_error(), Some(ENXIO | ENODEV))
}

/// A private directory stays private. One that its owner may not write in is left as it was made:
/// git could not check anything out in it.
fn keep_directory_mode(source: &Dir, dest: &Dir) -> Result<()> {
    let wanted = source.stat()?.mode.permissions();
    if wanted.0 & 0o700 == 0o700 && dest.stat()?.mode.permissions() != wanted {
        dest.set_mode(wanted)?;
    }
    Ok(())
}
