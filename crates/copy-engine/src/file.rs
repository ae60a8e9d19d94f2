//! One file or link: bytes first, then owner, mode and time, then what lstat says of it.

use std::ffi::OsStr;

use fs_sys::{File, Mode, Owner, Place, Stat, Time};

use crate::method::{Ladder, Method};
use crate::progress::Bytes;

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
}

/// A worker's memory for reading and writing.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

/// Copies the bytes of `source` (whose lstat is `stat`) into a new file at `place`.
pub(crate) fn copy_content<'a>(
    source: &File<'_>,
    stat: &Stat,
    place: Place<'a>,
    ladder: &Ladder,
    buffer: &mut Buffer,
) -> fs_sys::Result<(File<'a>, Bytes)> {
    // Never wider than it will be in the end, and never setuid before the owner is right.
    let mode = stat.mode.permissions();
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
        copy_sparse(source, &file, stat.size, buffer)?
    } else if stat.size <= SMALL_BYTES || method == Method::ReadWrite {
        read_write(source, &file, (0, stat.size), buffer)?
    } else {
        copy_ranges(source, &file, stat.size, ladder, buffer)?
    };
    Ok((file, Bytes { cloned: 0, copied }))
}

fn copy_ranges(
    source: &File<'_>,
    file: &File<'_>,
    size: u64,
    ladder: &Ladder,
    buffer: &mut Buffer,
) -> fs_sys::Result<u64> {
    let mut offset = 0;
    while offset < size {
        let length = usize::try_from((size - offset).min(RANGE_BYTES)).unwrap_or(usize::MAX);
        match file.copy_range_from(source, offset, length) {
            // The source became shorter: the stat after the copy finds that out.
            Ok(0) => break,
            Ok(count) => {
                ladder.succeeded();
                offset += count as u64;
            }
            Err(error) => {
                ladder.after(Method::CopyRange, error)?;
                return Ok(offset + read_write(source, file, (offset, size), buffer)?);
            }
        }
    }
    Ok(offset)
}

/// Copies only what holds data, so that a disk image of 11 GB with 1 MB in it stays that small.
fn copy_sparse(
    source: &File<'_>,
    file: &File<'_>,
    size: u64,
    buffer: &mut Buffer,
) -> fs_sys::Result<u64> {
    let mut copied = 0;
    for range in source.data_ranges(size) {
        let (start, length) = range?;
        copied += read_write(source, file, (start, start + length), buffer)?;
    }
    file.set_length(size)?;
    Ok(copied)
}

fn read_write(
    source: &File<'_>,
    file: &File<'_>,
    (start, end): (u64, u64),
    buffer: &mut Buffer,
) -> fs_sys::Result<u64> {
    let Buffer(bytes) = buffer;
    if bytes.is_empty() {
        bytes.resize(usize::try_from(SMALL_BYTES).unwrap_or(usize::MAX), 0);
    }
    let mut offset = start;
    while offset < end {
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
    let wanted = who.may_keep(wanted, stat.owner);
    if (stat.owner, stat.mode) == (wanted.owner, wanted.mode) {
        return Ok(stat);
    }
    if stat.owner != wanted.owner {
        file.set_owner(wanted.owner)?;
    }
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
    let owner = who.may_keep(wanted, stat.owner).owner;
    if owner == stat.owner {
        return Ok(stat);
    }
    fs_sys::set_link_owner(place, owner)?;
    fs_sys::stat_at(place)
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
            Self::Plain => Attributes { owner: made, mode: Mode(wanted.mode.0 & 0o1777), ..wanted },
        }
    }
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
