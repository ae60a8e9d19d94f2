//! The same by absolute path, for the few files of our own: markers, manifests, git's admin files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, openat};

use crate::dir::{Dir, Place};
use crate::error::{Error, ErrorKind, Result, call};
use crate::file::File;
use crate::stat::{Kind, Mode, Stat};
use crate::{node, os};

/// Opens a directory by path; links on the way and at its end are followed.
pub fn open_dir(path: &Path) -> Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd =
        call("open", || path.to_owned(), || openat(CWD, path, flags, rustix::fs::Mode::empty()))?;
    Ok(Dir::from_fd(fd, path.to_owned()))
}

/// lstat by path.
pub fn stat(path: &Path) -> Result<Stat> {
    let raw = call("stat", || path.to_owned(), || rustix::fs::lstat(path))?;
    Ok(Stat::of(&raw))
}

/// stat by path: the end of a chain of links.
pub fn stat_following(path: &Path) -> Result<Stat> {
    let raw = call("stat", || path.to_owned(), || rustix::fs::stat(path))?;
    Ok(Stat::of(&raw))
}

/// Whether anything is there, a dangling link included.
pub fn exists(path: &Path) -> Result<bool> {
    match stat(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The path with every link resolved (realpath(3)).
pub fn canonicalize(path: &Path) -> Result<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    let resolved = std::fs::canonicalize(path);
    resolved.map_err(|source| Error::from_io("resolve", path.to_owned(), source))
}

/// The target of a link.
pub fn read_link_path(path: &Path) -> Result<OsString> {
    with_parent(path, node::read_link)
}

/// Room for what files without a size usually hold.
const PROC_BYTES: usize = 4096;

/// Reads a whole file; a link at the end is not followed.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    with_parent(path, |place| {
        let file = File::open(place)?;
        let stat = file.stat()?;
        if stat.kind != Kind::File {
            return file.call("read", || Err(rustix::io::Errno::INVAL));
        }
        // One byte more than the size, so that one read finds the end. Files of /proc have no size.
        let size = usize::try_from(stat.size).unwrap_or(0).saturating_add(1);
        let mut bytes = vec![0; size.max(PROC_BYTES)];
        let mut filled = 0;
        loop {
            let count = file.read_at(&mut bytes[filled..], filled as u64)?;
            if count == 0 {
                bytes.truncate(filled);
                return Ok(bytes);
            }
            filled += count;
            if filled == bytes.len() {
                bytes.resize(filled * 2, 0);
            }
        }
    })
}

/// Creates a file with these bytes, and fails if anything is there. It is whole or not there; the
/// mode is cut by the umask.
pub fn write_new(path: &Path, bytes: &[u8], mode: Mode) -> Result<()> {
    with_parent(path, |place| {
        let file = File::create(place, mode)?;
        file.write_all_at(bytes, 0).inspect_err(|_| take_away(place))
    })
}

/// Puts a file with these bytes in place at once: written beside, synced, renamed over the old one.
/// `temporary` is the name beside; what a crashed run left there is replaced, so whoever may write
/// at the same time uses another name or holds a lock. The mode is cut by the umask.
pub fn replace_file(path: &Path, temporary: &OsStr, bytes: &[u8], mode: Mode) -> Result<()> {
    with_parent(path, |place| {
        let beside = place.dir.at(temporary);
        if let Err(error) = node::remove_file_at(beside)
            && error.kind != ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = File::create(beside, mode)?;
        file.write_all_at(bytes, 0)
            .and_then(|()| file.sync())
            .and_then(|()| node::rename_at(beside, place))
            .inspect_err(|_| take_away(beside))
    })
}

/// Removes what a failed write made. The error to report is the write's, so this one is logged.
fn take_away(place: Place<'_>) {
    if let Err(error) = node::remove_file_at(place) {
        tracing::warn!(path = %place.path().display(), %error, "a half-written file stays behind");
    }
}

/// Makes one directory.
pub fn make_dir(path: &Path, mode: Mode) -> Result<()> {
    call("make the directory", || path.to_owned(), || rustix::fs::mkdir(path, mode.raw()))
}

/// Makes a directory and what is missing above it. Says which directories it made, the topmost
/// first, so that a caller that fails can take exactly those away again; if it fails itself, it has
/// done so.
pub fn make_dirs(path: &Path, mode: Mode) -> Result<Vec<PathBuf>> {
    match make_one(path, mode) {
        Ok(made) => Ok(made.into_iter().collect()),
        Err(error) if error.kind == ErrorKind::NotFound => {
            let Some(parent) = path.parent() else { return Err(error) };
            let mut made = make_dirs(parent, mode)?;
            // A second time: somebody else may have been quicker, and then it is theirs, not ours.
            match make_one(path, mode) {
                Ok(is_ours) => made.extend(is_ours),
                Err(error) => {
                    take_dirs_away(&made);
                    return Err(error);
                }
            }
            Ok(made)
        }
        Err(error) => Err(error),
    }
}

/// Makes a directory where there is none; the path comes back if this call made it.
fn make_one(path: &Path, mode: Mode) -> Result<Option<PathBuf>> {
    match make_dir(path, mode) {
        Ok(()) => Ok(Some(path.to_owned())),
        Err(error) if error.kind == ErrorKind::Exists => match stat_following(path) {
            Ok(found) if found.kind == Kind::Directory => Ok(None),
            Err(unknown) if unknown.kind != ErrorKind::NotFound => Err(unknown),
            // A file, or a link that leads nowhere.
            Ok(_) | Err(_) => Err(error.with_kind(ErrorKind::NotADirectory)),
        },
        Err(error) => Err(error),
    }
}

/// Removes the directories that a failed [`make_dirs`] made, the deepest first.
fn take_dirs_away(made: &[PathBuf]) {
    for path in made.iter().rev() {
        if let Err(error) = remove_dir(path) {
            tracing::warn!(path = %path.display(), %error, "a new directory stays behind");
        }
    }
}

/// Makes a symbolic link by path.
pub fn symlink_path(target: &OsStr, path: &Path) -> Result<()> {
    with_parent(path, |place| node::symlink(target, place))
}

/// Renames, replacing what is there (rename(2)).
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    call("rename", || from.to_owned(), || rustix::fs::rename(from, to))
}

/// Renames, and fails with [`ErrorKind::Exists`] if anything is there, an empty directory included.
/// The error names the destination.
pub fn rename_noreplace(from: &Path, to: &Path) -> Result<()> {
    os::rename_noreplace(from, to)
}

/// Unlinks anything but a directory.
pub fn remove_file(path: &Path) -> Result<()> {
    call("remove", || path.to_owned(), || rustix::fs::unlink(path))
}

/// Removes an empty directory.
pub fn remove_dir(path: &Path) -> Result<()> {
    call("remove", || path.to_owned(), || rustix::fs::rmdir(path))
}

/// The names and kinds in a directory, sorted by name.
pub fn list(path: &Path) -> Result<Vec<(OsString, Kind)>> {
    let dir = open_dir(path)?;
    let mut found = Vec::new();
    dir.list(&mut Vec::new(), &mut |entry| {
        found.push((entry.name.to_owned(), entry.kind));
        Ok(())
    })?;
    found.sort();
    Ok(found)
}

/// Whether the error says that nothing is there.
fn is_absent(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(crate) fn with_parent<T>(path: &Path, act: impl FnOnce(Place<'_>) -> Result<T>) -> Result<T> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return call("open", || path.to_owned(), || Err(rustix::io::Errno::ISDIR));
    };
    let dir = open_dir(parent).map_err(|error| Error { path: path.to_owned(), ..error })?;
    act(dir.at(name))
}
