//! Entries that are not opened: links, directories, names.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::AtFlags;

use crate::dir::Place;
use crate::error::{Result, call};
use crate::file::timestamps;
use crate::stat::{Mode, Owner, Stat, Time};

/// lstat: a link is not followed.
pub fn stat_at(place: Place<'_>) -> Result<Stat> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    call("stat", || place.path(), || rustix::fs::statat(place.dir, place.name, flags))
        .map(|raw| Stat::of(&raw))
}

/// The target of a link, byte for byte.
pub fn read_link(place: Place<'_>) -> Result<OsString> {
    call(
        "read the link",
        || place.path(),
        || rustix::fs::readlinkat(place.dir, place.name, Vec::new()),
    )
    .map(|target| OsString::from_vec(target.into_bytes()))
}

/// Makes a symbolic link and fails if anything is there.
pub fn symlink(target: &OsStr, place: Place<'_>) -> Result<()> {
    call(
        "link",
        || place.path(),
        || rustix::fs::symlinkat(Path::new(target), place.dir, place.name),
    )
}

/// Gives the file at `existing` a second name, and fails if anything is there.
pub fn hard_link(existing: Place<'_>, place: Place<'_>) -> Result<()> {
    call(
        "link",
        || place.path(),
        || rustix::fs::linkat(existing.dir, existing.name, place.dir, place.name, AtFlags::empty()),
    )
}

/// Makes a directory and fails if anything is there. The mode is cut by the umask.
pub fn make_dir_at(place: Place<'_>, mode: Mode) -> Result<()> {
    call(
        "make the directory",
        || place.path(),
        || rustix::fs::mkdirat(place.dir, place.name, mode.raw()),
    )
}

/// Unlinks anything but a directory.
pub fn remove_file_at(place: Place<'_>) -> Result<()> {
    let flags = AtFlags::empty();
    call("remove", || place.path(), || rustix::fs::unlinkat(place.dir, place.name, flags))
}

/// Removes an empty directory.
pub fn remove_dir_at(place: Place<'_>) -> Result<()> {
    let flags = AtFlags::REMOVEDIR;
    call("remove", || place.path(), || rustix::fs::unlinkat(place.dir, place.name, flags))
}

/// Renames; what is at the new place is replaced, as rename(2) does.
pub fn rename_at(from: Place<'_>, to: Place<'_>) -> Result<()> {
    call("rename", || from.path(), || rustix::fs::renameat(from.dir, from.name, to.dir, to.name))
}

/// Sets the modification time of an entry, a link itself included.
pub fn set_times(place: Place<'_>, mtime: Time) -> Result<()> {
    let (times, flags) = (timestamps(mtime), AtFlags::SYMLINK_NOFOLLOW);
    call(
        "set times of",
        || place.path(),
        || rustix::fs::utimensat(place.dir, place.name, &times, flags),
    )
}

/// Sets user and group of an entry, a link itself included.
pub fn set_link_owner(place: Place<'_>, owner: Owner) -> Result<()> {
    let uid = Some(rustix::fs::Uid::from_raw(owner.uid));
    let gid = Some(rustix::fs::Gid::from_raw(owner.gid));
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    call("chown", || place.path(), || rustix::fs::chownat(place.dir, place.name, uid, gid, flags))
}
