//! The file systems that tests run on, handed in by variables.

use std::fmt;
use std::path::PathBuf;

/// A file system by the variable that says where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filesystem {
    /// Without reflinks.
    Ext4,
    /// With reflinks.
    Xfs,
    /// With reflinks and subvolumes.
    Btrfs,
    /// In memory, without reflinks.
    Tmpfs,
    /// Small enough to be filled.
    Full,
}

/// A file system that this run was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(pub Filesystem);

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variable = self.0.variable();
        write!(formatter, "{variable} is not set: it names a directory on such a file system")
    }
}

impl Filesystem {
    /// Those that every case is run on.
    pub const ROOMY: [Self; 4] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::Tmpfs];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
            Self::Full => "full",
        }
    }

    /// The variable that says where it is.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Ext4 => "FWT_TEST_EXT4",
            Self::Xfs => "FWT_TEST_XFS",
            Self::Btrfs => "FWT_TEST_BTRFS",
            Self::Tmpfs => "FWT_TEST_TMPFS",
            Self::Full => "FWT_TEST_FULL",
        }
    }

    /// Whether files on it can share their bytes.
    pub fn has_reflinks(self) -> bool {
        match self {
            Self::Xfs | Self::Btrfs => true,
            Self::Ext4 | Self::Tmpfs | Self::Full => false,
        }
    }

    /// A directory on it that all may write to.
    pub fn directory(self) -> Result<PathBuf, Missing> {
        match std::env::var_os(self.variable()) {
            Some(path) if !path.is_empty() => Ok(path.into()),
            _ => Err(Missing(self)),
        }
    }

    /// The directory; `None` after saying that the test is skipped. Where `CI` is set nothing may be
    /// missing, and this panics.
    #[expect(clippy::print_stderr, reason = "a skipped test says what it lacks")]
    pub fn directory_or_skip(self) -> Option<PathBuf> {
        match self.directory() {
            Ok(path) => Some(path),
            Err(missing) => {
                assert!(!is_ci(), "{missing}");
                eprintln!("skipped: {missing}");
                None
            }
        }
    }
}

/// Whether a missing file system is a failure.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}
