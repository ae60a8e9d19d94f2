//! What overlayfs writes into a layer: marks on directories and files, and whiteouts.
//!
//! The marks are attributes `trusted.overlay.*` (the kernel's `Documentation/filesystems/overlayfs.rst`),
//! which only a process with `CAP_SYS_ADMIN` in the first user namespace sees.

use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use crate::dir::Place;
use crate::error::{Result, call};
use crate::os;

/// A mark of overlayfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Of a directory: nothing of the layers below shows in it.
    Opaque,
    /// Of a directory: which directory of the layers below it continues, by an absolute path in the
    /// overlay or by a name beside it.
    Redirect,
    /// The file handle of the entry that it was copied up from.
    Origin,
    /// Of a directory: entries in it were copied up or renamed, so that their inode numbers are looked
    /// up.
    Impure,
    /// Of a file: how many names it has beyond those in the upper layer.
    LinkCount,
    /// Of an upper layer's topmost directory: the id of the overlay's file system.
    Uuid,
}

impl Mark {
    /// The attribute.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Opaque => "trusted.overlay.opaque",
            Self::Redirect => "trusted.overlay.redirect",
            Self::Origin => "trusted.overlay.origin",
            Self::Impure => "trusted.overlay.impure",
            Self::LinkCount => "trusted.overlay.nlink",
            Self::Uuid => "trusted.overlay.uuid",
        }
    }
}

/// A redirect is a path, with a zero behind it.
const LIMIT_BYTES: usize = 4096;

/// The value of a mark of an open directory or file; `None` where it has none, or where its file system
/// knows no attributes. `path` is for messages.
pub fn load_mark(of: impl AsFd, mark: Mark, path: impl Fn() -> PathBuf) -> Result<Option<Vec<u8>>> {
    let mut value = vec![0_u8; LIMIT_BYTES];
    let name = mark.attribute();
    match call("read an attribute of", path, || fgetxattr(&of, name, &mut value[..])) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(error) if error.is_errno(os::NO_ATTRIBUTE) || error.is_errno(Errno::OPNOTSUPP) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Sets a mark of an open directory or file.
pub fn set_mark(of: impl AsFd, mark: Mark, value: &[u8], path: impl Fn() -> PathBuf) -> Result<()> {
    let name = mark.attribute();
    call("set an attribute of", path, || fsetxattr(&of, name, value, XattrFlags::empty()))
}

/// Removes a mark; one that is not there is success.
pub fn remove_mark(of: impl AsFd, mark: Mark, path: impl Fn() -> PathBuf) -> Result<()> {
    match call("remove an attribute of", path, || fremovexattr(&of, mark.attribute())) {
        Err(error) if error.is_errno(os::NO_ATTRIBUTE) => Ok(()),
        other => other,
    }
}

/// Whether the entry is a whiteout: a character device 0:0, which hides the entry of that name in the
/// layers below.
pub fn is_whiteout(place: Place<'_>) -> Result<bool> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let found = call("stat", || place.path(), || rustix::fs::statat(place.dir, place.name, flags))?;
    let is_device = FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice;
    Ok(is_device && found.st_rdev == 0)
}

/// Makes a whiteout, and fails if anything is there. Everybody may (Linux 5.8).
pub fn make_whiteout(place: Place<'_>) -> Result<()> {
    os::make_whiteout(place)
}
