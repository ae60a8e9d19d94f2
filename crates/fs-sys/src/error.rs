//! The one error of this crate, and the one place where errno gets its meaning.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A system call that failed: what was tried, on which path, and what the kernel meant.
#[derive(Debug, thiserror::Error)]
#[error("cannot {op} {}", path.display())]
pub struct Error {
    /// What was tried, as a verb (`open`, `clone`, `rename`).
    pub op: &'static str,
    /// The path it was tried on.
    pub path: PathBuf,
    /// What the kernel's answer means.
    pub kind: ErrorKind,
    /// The answer itself.
    #[source]
    pub source: io::Error,
}

/// What an errno means to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing is there (ENOENT).
    NotFound,
    /// Something is there already (EEXIST, or ENOTEMPTY of a rename that may not replace).
    Exists,
    /// A directory that should be empty is not (ENOTEMPTY).
    NotEmpty,
    /// A path component is no directory (ENOTDIR).
    NotADirectory,
    /// A directory where a file was meant (EISDIR).
    IsADirectory,
    /// A symbolic link where none may be followed (ELOOP), or a path that leaves its root.
    Link,
    /// Two file systems or mounts (EXDEV).
    CrossDevice,
    /// This file system or kernel has no such operation (EOPNOTSUPP, ENOTTY, ENOSYS, EINVAL of a
    /// clone): "cannot here", not "failed".
    Unsupported,
    /// Not allowed (EACCES, EPERM).
    Denied,
    /// Mounted read-only (EROFS).
    ReadOnly,
    /// No room left: blocks, inodes or quota (ENOSPC, EDQUOT, EFBIG).
    NoSpace,
    /// No descriptors left (EMFILE, ENFILE).
    TooManyOpen,
    /// A name or path that is too long (ENAMETOOLONG).
    NameTooLong,
    /// In use (EBUSY, ETXTBSY).
    Busy,
    /// A file handle that leads nowhere (ESTALE): of an overlay, that its upper layer belongs to other
    /// layers or to a copy of them.
    Stale,
    /// The device, or something unforeseen.
    Other,
}

/// The kernel's own ENOTSUPP, which is no errno of POSIX and has no name outside it.
const LINUX_ENOTSUPP: i32 = 524;

impl ErrorKind {
    fn of(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::EXIST => Self::Exists,
            Errno::NOTEMPTY => Self::NotEmpty,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ISDIR => Self::IsADirectory,
            Errno::LOOP => Self::Link,
            Errno::XDEV => Self::CrossDevice,
            Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS => Self::Unsupported,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::ROFS => Self::ReadOnly,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Self::NoSpace,
            Errno::MFILE | Errno::NFILE => Self::TooManyOpen,
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::BUSY | Errno::TXTBSY => Self::Busy,
            Errno::STALE => Self::Stale,
            // macOS tells ENOTSUP from EOPNOTSUPP, and Linux lets NFS servers' 524 through.
            _ if errno == Errno::NOTSUP || errno.raw_os_error() == LINUX_ENOTSUPP => {
                Self::Unsupported
            }
            _ => Self::Other,
        }
    }
}

impl Error {
    pub(crate) fn new(op: &'static str, path: PathBuf, errno: Errno) -> Self {
        Self { op, path, kind: ErrorKind::of(errno), source: errno.into() }
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// Whether [`ErrorKind::Unsupported`] may be true of the two files of a clone or copy alone: the
    /// kernel says EINVAL, or ETXTBSY of a swap file, also where the file system can otherwise.
    pub fn is_of_these_files(&self) -> bool {
        self.is_errno(Errno::INVAL) || self.is_errno(Errno::TXTBSY)
    }

    pub(crate) fn is_errno(&self, errno: Errno) -> bool {
        self.source.raw_os_error() == Some(errno.raw_os_error())
    }

    /// An I/O error that this crate did not make itself, for callers that read through `std::io`.
    pub fn from_io(op: &'static str, path: PathBuf, source: io::Error) -> Self {
        let kind = Errno::from_io_error(&source).map_or(ErrorKind::Other, ErrorKind::of);
        Self { op, path, kind, source }
    }
}

/// Makes a call: counts it for fault injection, repeats it when a signal interrupted it, and puts
/// operation and path to its error.
pub(crate) fn call<T>(
    op: &'static str,
    path: impl Fn() -> PathBuf,
    mut attempt: impl FnMut() -> rustix::io::Result<T>,
) -> Result<T> {
    crate::faults::before_call(op).map_err(|errno| Error::new(op, path(), errno))?;
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Error::new(op, path(), errno)),
        }
    }
}
