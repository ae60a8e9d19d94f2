//! Extended attributes: which ones belong to a file's content, and copying them.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use crate::error::{ErrorKind, Result, call};

/// An attribute that could not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xattr {
    /// Its name.
    pub name: OsString,
}

/// The kernel's limit for one value and for all names (xattr(7)).
const LIMIT_BYTES: usize = 64 * 1024;

/// Copies the attributes that belong to the content: `user.*`, POSIX ACLs, and
/// `security.capability`. Never `*.overlay.*`, which would change what a directory means below an
/// overlay mount. Says which ones the destination could not keep.
pub fn copy_xattrs(
    from: impl AsFd,
    to: impl AsFd,
    path: impl Fn() -> PathBuf,
) -> Result<Vec<Xattr>> {
    let mut names = vec![0_u8; 1024];
    let length = loop {
        match call("list attributes of", &path, || flistxattr(&from, &mut names[..])) {
            Ok(length) => break length,
            Err(error) if error.kind == ErrorKind::Unsupported => return Ok(Vec::new()),
            Err(error) if is_too_small(&error) && names.len() < LIMIT_BYTES => {
                names.resize(LIMIT_BYTES, 0);
            }
            Err(error) => return Err(error),
        }
    };
    let mut lost = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| belongs_to_content(name)) {
        let name = OsStr::from_bytes(name);
        let mut value = vec![0_u8; LIMIT_BYTES];
        let read = call("read an attribute of", &path, || fgetxattr(&from, name, &mut value[..]));
        let size = match read {
            Ok(size) => size,
            Err(error) if error.source.raw_os_error() == Some(Errno::NODATA.raw_os_error()) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        let written = call("set an attribute of", &path, || {
            fsetxattr(&to, name, &value[..size], XattrFlags::empty())
        });
        match written {
            Ok(()) => {}
            Err(error) if matches!(error.kind, ErrorKind::Unsupported | ErrorKind::Denied) => {
                lost.push(Xattr { name: OsString::from_vec(name.as_bytes().to_vec()) });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(lost)
}

fn belongs_to_content(name: &[u8]) -> bool {
    let is_overlay = name.windows(9).any(|part| part == b".overlay.");
    let is_kept = name.starts_with(b"user.")
        || name.starts_with(b"system.posix_acl_")
        || name == b"security.capability";
    is_kept && !is_overlay
}

fn is_too_small(error: &crate::Error) -> bool {
    error.source.raw_os_error() == Some(Errno::RANGE.raw_os_error())
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
