//! Regular files by descriptor: open, create, clone, copy, and what is set on them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, SeekFrom, Timespec, Timestamps, UTIME_OMIT, openat};
use rustix::io::Errno;

use crate::dir::Place;
use crate::error::{ErrorKind, Result, call};
use crate::os;
use crate::stat::{Mode, Owner, Stat, Time};

/// An open regular file and the place it was opened at.
#[derive(Debug)]
pub struct File<'a> {
    fd: OwnedFd,
    place: Place<'a>,
}

impl<'a> File<'a> {
    /// Opens for reading. A link is an error; a FIFO or device that took the file's place does not
    /// block (the caller looks at [`File::stat`] before it reads).
    pub fn open(place: Place<'a>) -> Result<Self> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Self::open_with("open", place, flags, Mode(0))
    }

    /// Creates for writing, and fails if anything is there. The mode is cut by the umask.
    pub fn create(place: Place<'a>, mode: Mode) -> Result<Self> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Self::open_with("create", place, flags, mode)
    }

    /// Opens what is there for reading and writing; a link is an error. It is for files of our own:
    /// nothing is cut off, and what is written goes where the caller says.
    pub fn open_to_write(place: Place<'a>) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Self::open_with("open", place, flags, Mode(0))
    }

    /// Creates a file that shares all of `source`'s bytes, and fails if anything is there. Nothing
    /// stays behind on failure; [`ErrorKind::Unsupported`] and [`ErrorKind::CrossDevice`] mean that
    /// these two places can never share.
    pub fn create_clone(source: &File<'_>, place: Place<'a>, mode: Mode) -> Result<Self> {
        os::create_clone(source, place, mode)
    }

    fn open_with(op: &'static str, place: Place<'a>, flags: OFlags, mode: Mode) -> Result<Self> {
        let fd = call(op, || place.path(), || openat(place.dir, place.name, flags, mode.raw()))?;
        Ok(Self { fd, place })
    }

    /// Where it was opened.
    pub fn place(&self) -> Place<'a> {
        self.place
    }

    /// What it is now.
    pub fn stat(&self) -> Result<Stat> {
        self.call("stat", || rustix::fs::fstat(&self.fd)).map(|raw| Stat::of(&raw))
    }

    /// Reads at `offset`; 0 is the end.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.call("read", || rustix::io::pread(&self.fd, &mut *buffer, offset))
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> Result<()> {
        while !bytes.is_empty() {
            let written = self.call("write", || rustix::io::pwrite(&self.fd, bytes, offset))?;
            if written == 0 {
                return self.call("write", || Err(Errno::IO));
            }
            bytes = &bytes[written..];
            offset += written as u64;
        }
        Ok(())
    }

    /// Lets the kernel copy up to `length` bytes from `source`, both at `offset`; says how many it
    /// did. [`ErrorKind::Unsupported`] and [`ErrorKind::CrossDevice`] mean: read and write instead.
    pub fn copy_range_from(&self, source: &File<'_>, offset: u64, length: usize) -> Result<usize> {
        self.call("copy", || os::copy_range(source.as_fd(), self.as_fd(), offset, length)).map_err(
            |error| {
                // EINVAL is what old kernels say of file systems that cannot (copy_file_range(2)),
                // EPERM what a sandbox's filter says of the call: both files are open already.
                let cannot = error.is_of_these_files() || error.is_errno(Errno::PERM);
                if cannot { error.with_kind(ErrorKind::Unsupported) } else { error }
            },
        )
    }

    /// Sets the length; what is added reads as zeros and takes no room.
    pub fn set_length(&self, length: u64) -> Result<()> {
        self.call("truncate", || rustix::fs::ftruncate(&self.fd, length))
    }

    /// Sets permission bits, whatever the umask.
    pub fn set_mode(&self, mode: Mode) -> Result<()> {
        self.call("chmod", || rustix::fs::fchmod(&self.fd, mode.raw()))
    }

    /// Sets user and group. The kernel drops setuid and setgid with it: set the mode afterwards.
    pub fn set_owner(&self, owner: Owner) -> Result<()> {
        let uid = Some(rustix::fs::Uid::from_raw(owner.uid));
        let gid = Some(rustix::fs::Gid::from_raw(owner.gid));
        self.call("chown", || rustix::fs::fchown(&self.fd, uid, gid))
    }

    /// Sets the modification time and leaves the access time.
    pub fn set_mtime(&self, mtime: Time) -> Result<()> {
        let times = timestamps(mtime);
        self.call("set times of", || rustix::fs::futimens(&self.fd, &times))
    }

    /// Writes bytes and inode to the disk.
    pub fn sync(&self) -> Result<()> {
        self.call("sync", || rustix::fs::fsync(&self.fd))
    }

    /// The parts of a sparse file that hold data, as offset and length. A file system that knows no
    /// holes reports one part (lseek(2)).
    pub fn data_ranges(&self, size: u64) -> Ranges<'_, 'a> {
        Ranges { file: self, next: 0, size }
    }

    pub(crate) fn call<T>(
        &self,
        op: &'static str,
        attempt: impl FnMut() -> rustix::io::Result<T>,
    ) -> Result<T> {
        call(op, || self.place.path(), attempt)
    }
}

impl AsFd for File<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The data parts of a sparse file; see [`File::data_ranges`].
#[derive(Debug)]
pub struct Ranges<'f, 'a> {
    file: &'f File<'a>,
    next: u64,
    size: u64,
}

impl Iterator for Ranges<'_, '_> {
    type Item = Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.size {
            return None;
        }
        let seek = |to| self.file.call("seek", || rustix::fs::seek(&self.file.fd, to));
        let start = match seek(SeekFrom::Data(self.next)) {
            Ok(start) => start,
            // ENXIO: nothing but a hole up to the end.
            Err(error) if error.is_errno(Errno::NXIO) => {
                self.next = self.size;
                return None;
            }
            Err(error) => return Some(Err(error)),
        };
        let end = match seek(SeekFrom::Hole(start)) {
            Ok(end) => end.min(self.size),
            Err(error) => return Some(Err(error)),
        };
        self.next = end.max(start + 1);
        (start < end).then(|| Ok((start, end - start)))
    }
}

/// Times for `futimens`: the access time stays as it is.
pub(crate) fn timestamps(mtime: Time) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime.seconds, tv_nsec: mtime.nanos.into() },
    }
}
