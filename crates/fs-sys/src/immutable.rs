//! The flag that keeps even root from changing a directory.

use crate::dir::Dir;
use crate::error::Result;
use crate::os;

/// Whether anybody may make, remove or rename entries in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Immutable {
    /// Nobody; the directory itself cannot be removed or renamed either. What is mounted on it is not
    /// concerned.
    Yes,
    /// As its permissions say.
    No,
}

/// Sets or clears the flag of a directory (`chattr +i`): ext4, XFS, btrfs, and tmpfs from Linux 6.6 on
/// have it. It takes `CAP_LINUX_IMMUTABLE`. [`crate::ErrorKind::Unsupported`] where the file system has
/// no such flag.
pub fn set_immutable(dir: &Dir, immutable: Immutable) -> Result<()> {
    os::set_immutable(dir, immutable)
}
