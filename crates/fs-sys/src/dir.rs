//! An open directory, and places in it: everything below is reached by descriptor.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{OFlags, openat};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result, call};
use crate::node::stat_at;
use crate::os;
use crate::stat::{Kind, Mode, Stat};

/// An open directory. Its path is kept for messages only.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

/// A name in an open directory. The name is a single component.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The directory.
    pub dir: &'a Dir,
    /// The name in it.
    pub name: &'a OsStr,
}

/// An entry of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// Its name.
    pub name: &'a OsStr,
    /// What it is.
    pub kind: Kind,
}

pub(crate) const OPEN_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Dir {
    pub(crate) fn from_fd(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd, path }
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name in this directory.
    pub fn at<'a>(&'a self, name: &'a OsStr) -> Place<'a> {
        Place { dir: self, name }
    }

    /// Opens a directory at `relative` below this one. No link is followed, `..` does not lead out,
    /// and no mount point is crossed. The empty path is this directory.
    pub fn open_beneath(&self, relative: &Path) -> Result<Self> {
        let path = self.path.join(relative);
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let (first, mut rest) = split_for_one_call(relative);
        let mut fd = os::open_dir_beneath(self, first)?;
        while let Some(more) = rest {
            let above = Self { fd, path: path.clone() };
            let (next, left) = split_for_one_call(more);
            (fd, rest) = (os::open_dir_beneath(&above, next)?, left);
        }
        Ok(Self { fd, path })
    }

    /// What lstat says of the entry at `relative`, on the same terms; `None` if nothing is there.
    pub fn stat_beneath(&self, relative: &Path) -> Result<Option<Stat>> {
        let is_absent = |error: &Error| {
            matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link)
        };
        let found = self
            .open_beneath(relative.parent().unwrap_or(Path::new("")))
            .and_then(|parent| stat_at(parent.at(relative.file_name().unwrap_or_default())));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the child `name`; a link or another kind of entry is an error.
    pub fn open_child(&self, name: &OsStr) -> Result<Self> {
        let fd = call(
            "open",
            || self.path.join(name),
            || openat(&self.fd, name, OPEN_DIR, rustix::fs::Mode::empty()),
        )?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    /// What the directory itself is.
    pub fn stat(&self) -> Result<Stat> {
        call("stat", || self.path.clone(), || rustix::fs::fstat(&self.fd)).map(|raw| Stat::of(&raw))
    }

    /// Sets the directory's own mode.
    pub fn set_mode(&self, mode: Mode) -> Result<()> {
        call("chmod", || self.path.clone(), || rustix::fs::fchmod(&self.fd, mode.raw()))
    }

    /// Sets the directory's own owner.
    pub fn set_owner(&self, owner: crate::Owner) -> Result<()> {
        let uid = Some(rustix::fs::Uid::from_raw(owner.uid));
        let gid = Some(rustix::fs::Gid::from_raw(owner.gid));
        call("chown", || self.path.clone(), || rustix::fs::fchown(&self.fd, uid, gid))
    }

    /// Sets the directory's own modification time.
    pub fn set_mtime(&self, mtime: crate::Time) -> Result<()> {
        let times = crate::file::timestamps(mtime);
        call("set times of", || self.path.clone(), || rustix::fs::futimens(&self.fd, &times))
    }

    /// Writes the directory's entries to the disk.
    pub fn sync(&self) -> Result<()> {
        call("sync", || self.path.clone(), || rustix::fs::fsync(&self.fd))
    }

    /// Calls `each` for every entry but `.` and `..`, in the order of the file system. The names
    /// live in `buffer`, which is reused from call to call.
    pub fn list(
        &self,
        buffer: &mut ListBuffer,
        each: &mut dyn FnMut(Listed<'_>) -> Result<()>,
    ) -> Result<()> {
        os::list(self, buffer, each)
    }
}

/// Bytes of a path that one call is given. The kernel takes 4,096 with the zero at the end; a deeper
/// tree is reached in steps, since whoever works in a tree can make one that deep.
const CALL_PATH_BYTES: usize = 4000;

/// What one call takes of `relative`, and the rest of it.
fn split_for_one_call(relative: &Path) -> (&Path, Option<&Path>) {
    let bytes = relative.as_os_str().as_bytes();
    let end = bytes.get(..CALL_PATH_BYTES).and_then(|head| head.iter().rposition(|b| *b == b'/'));
    match end {
        Some(end) if bytes.len() > CALL_PATH_BYTES => {
            let path = |part| Path::new(OsStr::from_bytes(part));
            (path(&bytes[..end]), Some(path(&bytes[end + 1..])))
        }
        _ => (relative, None),
    }
}

/// Opens the directory at `relative` one component at a time, for where no single call can: neither
/// a link nor a mount point is passed.
pub(crate) fn open_by_component(dir: &Dir, relative: &Path) -> Result<OwnedFd> {
    let path = || dir.path().join(relative);
    let open = |fd: BorrowedFd<'_>, name: &OsStr| {
        call("open", path, || openat(fd, name, OPEN_DIR, rustix::fs::Mode::empty()))
    };
    let mount = os::mount_id(dir)?;
    let mut fd = open(dir.as_fd(), OsStr::new("."))?;
    for component in relative.components() {
        let name = match component {
            Component::CurDir => continue,
            Component::Normal(name) => name,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Error::new("open", path(), Errno::XDEV).with_kind(ErrorKind::Link));
            }
        };
        let child = Dir::from_fd(open(fd.as_fd(), name)?, path());
        if os::mount_id(&child)? != mount {
            return Err(Error::new("open", path(), Errno::XDEV));
        }
        fd = child.fd;
    }
    Ok(fd)
}

/// The memory that [`Dir::list`] reads entries into: 32 KiB, as much as getdents fills at once.
pub(crate) type ListBuffer = Vec<u8>;

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Place<'_> {
    /// The whole path, for messages.
    pub fn path(&self) -> PathBuf {
        self.dir.path.join(self.name)
    }
}
