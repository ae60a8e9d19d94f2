//! Extended attributes: which ones belong to a file's content, and copying them.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result, call};
use crate::os;

/// An attribute that could not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xattr {
    /// Its name.
    pub name: OsString,
}

/// The attributes of an entry that belong to its content: `user.*`, POSIX ACLs, and
/// `security.capability`. Never `*.overlay.*`, which would change what a directory means below an
/// overlay mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Xattrs {
    /// Names and values, in the order in which they can be set.
    attributes: Vec<(OsString, Vec<u8>)>,
}

/// The kernel's limit for one value and for all names (xattr(7)).
const LIMIT_BYTES: usize = 64 * 1024;

impl Xattrs {
    /// Reads those of an open entry; `path` is for messages.
    pub fn read(from: impl AsFd, path: impl Fn() -> PathBuf) -> Result<Self> {
        let names = read_names(&from, &path)?;
        let mut attributes = Vec::new();
        let mut value = Vec::new();
        for name in names.split(|byte| *byte == 0).filter(|name| belongs_to_content(name)) {
            let name = OsStr::from_bytes(name);
            value.resize(LIMIT_BYTES, 0);
            match call("read an attribute of", &path, || fgetxattr(&from, name, &mut value[..])) {
                Ok(size) => attributes.push((name.to_owned(), value[..size].to_vec())),
                // Removed since it was listed.
                Err(error) if error.is_errno(os::NO_ATTRIBUTE) => {}
                Err(error) => return Err(error),
            }
        }
        // An ACL may take away the right to write, which a `user.*` attribute needs.
        attributes.sort_by_key(|(name, _)| !name.as_bytes().starts_with(USER));
        Ok(Self { attributes })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Sets them on another open entry and says which ones it could not keep. A change of owner
    /// afterwards would drop `security.capability` again.
    pub fn write(&self, to: impl AsFd, path: impl Fn() -> PathBuf) -> Result<Vec<Xattr>> {
        let mut lost = Vec::new();
        for (name, value) in &self.attributes {
            let written = call("set an attribute of", &path, || {
                fsetxattr(&to, name, value, XattrFlags::empty())
            });
            match written {
                Ok(()) => {}
                Err(error) if is_not_kept(&error) => lost.push(Xattr { name: name.clone() }),
                Err(error) => return Err(error),
            }
        }
        Ok(lost)
    }
}

/// Copies the attributes that belong to the content (see [`Xattrs`]). Says which ones the
/// destination could not keep.
pub fn copy_xattrs(
    from: impl AsFd,
    to: impl AsFd,
    path: impl Fn() -> PathBuf,
) -> Result<Vec<Xattr>> {
    Xattrs::read(from, &path)?.write(to, &path)
}

/// The names of all attributes, each ended by a zero.
fn read_names(from: &impl AsFd, path: &impl Fn() -> PathBuf) -> Result<Vec<u8>> {
    let mut names = vec![0_u8; 1024];
    loop {
        match call("list attributes of", path, || flistxattr(from, &mut names[..])) {
            Ok(length) => {
                names.truncate(length);
                return Ok(names);
            }
            Err(error) if error.kind == ErrorKind::Unsupported => return Ok(Vec::new()),
            Err(error) if error.is_errno(Errno::RANGE) && names.len() < LIMIT_BYTES => {
                names.resize(LIMIT_BYTES, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

const USER: &[u8] = b"user.";

fn belongs_to_content(name: &[u8]) -> bool {
    let is_overlay = name.windows(9).any(|part| part == b".overlay.");
    let is_kept = name.starts_with(USER)
        || name.starts_with(b"system.posix_acl_")
        || name == b"security.capability";
    is_kept && !is_overlay
}

/// Whether the destination has no place for this attribute. ext4 says ENOSPC of a value beyond its
/// 4 KiB, however empty the disk is; a disk that is full is noticed at the next block.
fn is_not_kept(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Unsupported | ErrorKind::Denied | ErrorKind::NoSpace)
        || error.is_errno(Errno::TOOBIG)
        || error.is_errno(Errno::RANGE)
}

#[cfg(test)]
mod tests {
    use super::belongs_to_content;

    #[test]
    fn overlay_marks_are_never_content() {
        assert!(belongs_to_content(b"user.k"));
        assert!(belongs_to_content(b"system.posix_acl_access"));
        assert!(belongs_to_content(b"security.capability"));
        assert!(!belongs_to_content(b"user.overlay.opaque"));
        assert!(!belongs_to_content(b"trusted.overlay.origin"));
        assert!(!belongs_to_content(b"security.selinux"));
    }
}
