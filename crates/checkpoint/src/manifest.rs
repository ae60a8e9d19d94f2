//! The last known state of a tree, on the disk: what each path's lstat was, and which content.
//!
//! A line that names the format; then directories sorted by path, each with its entries sorted by
//! name; then the blake3 of all that. Only names are in it, paths never twice. It is read and written
//! in one pass, so that half a million files need little memory.

use std::ffi::OsStr;
use std::path::Path;

use fs_sys::{Dir, ErrorKind, File, Kind, Mode, Stat, Time};

use crate::codec::{put, put_bytes, take, take_bytes};
use crate::error::{Error, Result};
use crate::state::{put_time, take_time};
use crate::store::ContentId;

const HEADER: &[u8] = b"fwt-tree 1\n";
const CHECK_BYTES: usize = 32;

/// What tells whether a path changed, in little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print {
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime: Time,
    pub(crate) ctime: Time,
    pub(crate) mode: Mode,
    pub(crate) kind: Kind,
}

impl Print {
    /// Of something that is there and not kept. Nothing that is kept is special.
    pub(crate) const LEFT_OUT: Self = Self {
        ino: 0,
        size: 0,
        mtime: Time { seconds: 0, nanos: 0 },
        ctime: Time { seconds: 0, nanos: 0 },
        mode: Mode(0),
        kind: Kind::Special,
    };

    pub(crate) fn of(stat: &Stat) -> Self {
        let Stat { ino, size, mtime, ctime, mode, kind, .. } = *stat;
        if kind == Kind::Directory {
            // All else of a directory changes with its entries, which are looked at themselves.
            return Self { mode, kind, ..Self::LEFT_OUT };
        }
        Self { ino, size, mtime, ctime, mode, kind }
    }
}

/// What is known of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) name: Box<[u8]>,
    pub(crate) print: Print,
    /// It may have changed after it was read without its lstat telling.
    pub(crate) racy: Racy,
    /// Its bytes; `None` of a directory, and where nobody could keep them.
    pub(crate) content: Option<ContentId>,
}

/// Whether an equal lstat says that nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Racy {
    No,
    Yes,
}

/// A directory and what is known of its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Below the root.
    pub(crate) directory: Box<[u8]>,
    pub(crate) entries: Vec<Known>,
}

/// A manifest in memory, as bytes.
#[derive(Debug, Default)]
pub(crate) struct Manifest(Vec<u8>);

impl Manifest {
    /// Reads the manifest at `path`. What is not whole is an error: nothing is guessed.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let mut bytes = match fs_sys::read_file(path) {
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Err(Error::Damaged { path: path.to_owned() });
            }
            read => read?,
        };
        let body = bytes.len().saturating_sub(CHECK_BYTES);
        if blake3::hash(&bytes[..body]).as_bytes() != &bytes[body..] {
            return Err(Error::Damaged { path: path.to_owned() });
        }
        if !bytes.starts_with(HEADER) {
            return Err(Error::UnknownFormat { path: path.to_owned() });
        }
        bytes.truncate(body);
        Ok(Self(bytes))
    }

    /// Its directories, one by one.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Group> {
        let mut rest = self.0.get(HEADER.len()..).unwrap_or_default();
        // The check of the whole holds, so there is nothing in it that was not written.
        std::iter::from_fn(move || take_group(&mut rest))
    }
}

fn take_group(rest: &mut &[u8]) -> Option<Group> {
    let directory = take_bytes(rest)?.into();
    let count = usize::try_from(take(rest)?).ok()?;
    let entries = (0..count).map(|_| take_known(rest)).collect::<Option<Vec<_>>>()?;
    Some(Group { directory, entries })
}

fn take_known(rest: &mut &[u8]) -> Option<Known> {
    let name = take_bytes(rest)?.into();
    let flags = take(rest)?;
    let kinds = [Kind::File, Kind::Directory, Kind::Symlink, Kind::Special];
    let kind = *kinds.get(usize::try_from(flags & 3).ok()?)?;
    let mode = Mode(u32::try_from(take(rest)?).ok()?);
    let (ino, size) = (take(rest)?, take(rest)?);
    let (mtime, ctime) = (take_time(rest)?, take_time(rest)?);
    let content = if flags & 8 == 0 {
        None
    } else {
        let (id, after) = rest.split_first_chunk::<32>()?;
        *rest = after;
        Some(ContentId(*id))
    };
    let racy = if flags & 4 == 0 { Racy::No } else { Racy::Yes };
    Some(Known { name, print: Print { ino, size, mtime, ctime, mode, kind }, racy, content })
}

/// Writes a manifest, directory by directory.
#[derive(Debug)]
pub(crate) struct ManifestWriter<'d> {
    file: File<'d>,
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
    at: u64,
}

const BUFFER_BYTES: usize = 64 << 10;

impl<'d> ManifestWriter<'d> {
    /// Begins one in a new file.
    pub(crate) fn create(dir: &'d Dir, name: &'d OsStr) -> Result<Self> {
        let file = File::create(dir.at(name), Mode(0o600))?;
        let buffer = HEADER.to_vec();
        Ok(Self { file, hasher: blake3::Hasher::new(), buffer, at: 0 })
    }

    /// Adds a directory: later by path than those before.
    pub(crate) fn add(&mut self, group: &Group) -> Result<()> {
        put_bytes(&mut self.buffer, &group.directory);
        put(&mut self.buffer, group.entries.len() as u64);
        for known in &group.entries {
            put_known(&mut self.buffer, known);
        }
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Puts it on the disk.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.file.write_all_at(self.hasher.finalize().as_bytes(), self.at)?;
        Ok(self.file.sync()?)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.hasher.update(&self.buffer);
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

fn put_known(bytes: &mut Vec<u8>, known: &Known) {
    let Known { name, print, racy, content } = known;
    put_bytes(bytes, name);
    let kind = match print.kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Special => 3,
    };
    let racy = u64::from(*racy == Racy::Yes);
    put(bytes, kind | racy << 2 | u64::from(content.is_some()) << 3);
    put(bytes, print.mode.0.into());
    put(bytes, print.ino);
    put(bytes, print.size);
    put_time(bytes, print.mtime);
    put_time(bytes, print.ctime);
    if let Some(content) = content {
        bytes.extend_from_slice(&content.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_damage_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let dir = fs_sys::open_dir(directory.path()).unwrap();
        let known = |name: &[u8], racy, content| Known {
            name: name.into(),
            print: Print {
                ino: u64::MAX,
                size: 1 << 40,
                mtime: Time { seconds: -5, nanos: 999_999_999 },
                ctime: Time { seconds: i64::MAX, nanos: 0 },
                mode: Mode(0o7777),
                kind: Kind::Symlink,
            },
            racy,
            content,
        };
        let groups = [
            Group {
                directory: b"".as_slice().into(),
                entries: vec![known(b"a\xff", Racy::Yes, None)],
            },
            Group {
                directory: b"d/e".as_slice().into(),
                entries: vec![known(b"b", Racy::No, Some(ContentId([7; 32])))],
            },
        ];
        let mut writer = ManifestWriter::create(&dir, OsStr::new("m")).unwrap();
        for group in &groups {
            writer.add(group).unwrap();
        }
        writer.finish().unwrap();
        let path = directory.path().join("m");
        assert!(Manifest::load(&path).unwrap().groups().eq(groups));
        let bytes = fs_sys::read_file(&path).unwrap();
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            fs_sys::replace_file(&path, OsStr::new("new"), cut, Mode(0o600)).unwrap();
            assert!(matches!(Manifest::load(&path), Err(Error::Damaged { .. })), "{length}");
        }
    }
}
