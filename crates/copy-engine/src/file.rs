//! One file or link: bytes first, then owner, mode and time, then what lstat says of it.

use std::ffi::OsStr;

use fs_sys::{ErrorKind, File, Mode, Owner, Place, Stat, Time};

use crate::method::Method;
use crate::progress::{Bytes, Cancel};
use crate::{Options, Result};

/// Up to here one read and one write beat `copy_file_range`, which sets up a pipe for each file.
const SMALL_BYTES: u64 = 256 * 1024;

/// Bytes that one `copy_file_range` is asked for, so that a cancel is noticed in a large file.
const RANGE_BYTES: u64 = 256 << 20;

/// What is to be kept of an entry besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) owner: Owner,
    pub(crate) mode: Mode,
    pub(crate) mtime: Time,
}

impl Attributes {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { owner: stat.owner, mode: stat.mode, mtime: stat.mtime }
    }

    /// The same for an entry that stays with `owner`.
    fn of_another(self, owner: Owner) -> Self {
        Self { owner, mode: Mode(self.mode.0 & 0o1777), ..self }
    }
}

/// A worker's memory for reading and writing.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

/// Copies the bytes of `source` (whose lstat is `stat`) into a new file at `place`.
pub(crate) fn copy_content<'a>(
    source: &File<'_>,
    stat: &Stat,
    place: Place<'a>,
    options: &Options<'_>,
    buffer: &mut Buffer,
) -> Result<(File<'a>, Bytes)> {
    let ladder = options.ladder;
    // Never wider for others than it will be in the end, and never setuid before the owner is right.
    // Its owner may write until then: `user.*` attributes cannot be set otherwise.
    let mode = Mode(stat.mode.permissions().0 | 0o200);
    let mut method = ladder.method();
    while method == Method::Reflink {
        if stat.size == 0 {
            // Nothing to share, and a clone of nothing proves nothing about the file systems.
            return Ok((File::create(place, mode)?, Bytes::default()));
        }
        match File::create_clone(source, place, mode) {
            Ok(file) => {
                ladder.succeeded();
                return Ok((file, Bytes { cloned: stat.size, copied: 0 }));
            }
            Err(error) => method = ladder.after(method, error)?,
        }
    }
    let file = File::create(place, mode)?;
    let copied = if stat.is_sparse() {
        copy_sparse(source, &file, stat.size, options.cancel, buffer)?
    } else if stat.size <= SMALL_BYTES || method == Method::ReadWrite {
        read_write(source, &file, (0, stat.size), options.cancel, buffer)?
    } else {
        copy_ranges(source, &file, stat.size, options, buffer)?
    };
    Ok((file, Bytes { cloned: 0, copied }))
}

fn copy_ranges(
    source: &File<'_>,
    file: &File<'_>,
    size: u64,
    options: &Options<'_>,
    buffer: &mut Buffer,
) -> Result<u64> {
    let mut offset = 0;
    while offset < size {
        options.cancel.check()?;
        let length = usize::try_from((size - offset).min(RANGE_BYTES)).unwrap_or(usize::MAX);
        match file.copy_range_from(source, offset, length) {
            // The source became shorter, or the kernel only says so: files of /proc and some of FUSE
            // do that. Reading finds out.
            Ok(0) => break,
            Ok(count) => {
                options.ladder.succeeded();
                offset += count as u64;
            }
            Err(error) => {
                options.ladder.after(Method::CopyRange, error)?;
                break;
            }
        }
    }
    Ok(offset + read_write(source, file, (offset, size), options.cancel, buffer)?)
}

/// Copies only what holds data, so that a disk image of 11 GB with 1 MB in it stays that small.
fn copy_sparse(
    source: &File<'_>,
    file: &File<'_>,
    size: u64,
    cancel: &Cancel,
    buffer: &mut Buffer,
) -> Result<u64> {
    let mut copied = 0;
    for range in source.data_ranges(size) {
        let (start, length) = range?;
        copied += read_write(source, file, (start, start + length), cancel, buffer)?;
    }
    file.set_length(size)?;
    Ok(copied)
}

fn read_write(
    source: &File<'_>,
    file: &File<'_>,
    (start, end): (u64, u64),
    cancel: &Cancel,
    buffer: &mut Buffer,
) -> Result<u64> {
    let Buffer(bytes) = buffer;
    if bytes.is_empty() {
        bytes.resize(usize::try_from(SMALL_BYTES).unwrap_or(usize::MAX), 0);
    }
    let mut offset = start;
    while offset < end {
        cancel.check()?;
        let room = usize::try_from(end - offset).unwrap_or(usize::MAX).min(bytes.len());
        let count = source.read_at(&mut bytes[..room], offset)?;
        if count == 0 {
            break;
        }
        file.write_all_at(&bytes[..count], offset)?;
        offset += count as u64;
    }
    Ok(offset - start)
}

/// Puts owner, mode and time on a file that was just written and returns its final lstat. What is
/// right already costs nothing: usually one call sets the time and one reads the stat.
pub(crate) fn finish(file: &File<'_>, wanted: Attributes, who: User) -> fs_sys::Result<Stat> {
    file.set_mtime(wanted.mtime)?;
    let stat = file.stat()?;
    let wanted = who.give(wanted, stat.owner, |owner| file.set_owner(owner))?;
    if (stat.owner, stat.mode) == (wanted.owner, wanted.mode) {
        return Ok(stat);
    }
    // A change of owner may have dropped bits: the mode comes last.
    file.set_mode(wanted.mode)?;
    file.stat()
}

/// Copies a link and returns its final lstat.
pub(crate) fn copy_link(
    target: &OsStr,
    wanted: Attributes,
    place: Place<'_>,
    who: User,
) -> fs_sys::Result<Stat> {
    fs_sys::symlink(target, place)?;
    fs_sys::set_times(place, wanted.mtime)?;
    let stat = fs_sys::stat_at(place)?;
    let given = who.give(wanted, stat.owner, |owner| fs_sys::set_link_owner(place, owner))?;
    if given.owner == stat.owner { Ok(stat) } else { fs_sys::stat_at(place) }
}

/// Who copies, which decides whose files may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Plain,
}

impl User {
    pub(crate) fn current() -> Self {
        if fs_sys::process::effective_user() == 0 { Self::Root } else { Self::Plain }
    }

    /// The attributes that can be had: only root gives a file away, and where the owner is another
    /// one, setuid and setgid would hand out rights that nobody gave.
    pub(crate) fn may_keep(self, wanted: Attributes, made: Owner) -> Attributes {
        match self {
            Self::Root => wanted,
            Self::Plain if wanted.owner == made => wanted,
            Self::Plain => wanted.of_another(made),
        }
    }

    /// Gives what was `made` by us to the wanted owner, by `set`, and says which attributes it can
    /// have. Root in a container or a user namespace may be refused.
    pub(crate) fn give(
        self,
        wanted: Attributes,
        made: Owner,
        set: impl FnOnce(Owner) -> fs_sys::Result<()>,
    ) -> fs_sys::Result<Attributes> {
        let wanted = self.may_keep(wanted, made);
        if wanted.owner == made {
            return Ok(wanted);
        }
        match set(wanted.owner) {
            Ok(()) => Ok(wanted),
            Err(error) if is_refusal(&error) => Ok(wanted.of_another(made)),
            Err(error) => Err(error),
        }
    }
}

/// EPERM without `CAP_CHOWN`, EINVAL for an owner that the user namespace does not map.
fn is_refusal(error: &fs_sys::Error) -> bool {
    error.kind == ErrorKind::Denied || error.is_of_these_files()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_owners_setuid_bit_is_not_taken_over() {
        let theirs = Owner { uid: 1, gid: 1 };
        let mine = Owner { uid: 2, gid: 2 };
        let mtime = Time { seconds: 0, nanos: 0 };
        let wanted = Attributes { owner: theirs, mode: Mode(0o6755), mtime };
        assert_eq!(User::Plain.may_keep(wanted, mine).mode, Mode(0o755));
        assert_eq!(User::Plain.may_keep(wanted, theirs).mode, Mode(0o6755));
        assert_eq!(User::Root.may_keep(wanted, mine).owner, theirs);
    }
}
