//! What lstat says of an entry, in one type for every platform.

use rustix::fs::FileType;

/// What kind of thing an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A FIFO, socket or device: never opened, never copied.
    Special,
}

impl Kind {
    /// `None` where a directory listing does not say, and a stat must.
    pub(crate) fn of(file_type: FileType) -> Option<Self> {
        match file_type {
            FileType::RegularFile => Some(Self::File),
            FileType::Directory => Some(Self::Directory),
            FileType::Symlink => Some(Self::Symlink),
            FileType::Unknown => None,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice => Some(Self::Special),
        }
    }
}

/// Permission bits with setuid, setgid and sticky: the low twelve bits of `st_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode(pub u32);

impl Mode {
    /// The mode without setuid, setgid and sticky.
    #[must_use]
    pub fn permissions(self) -> Self {
        Self(self.0 & 0o777)
    }

    /// Whether nobody but the owner may do anything.
    pub fn is_private(self) -> bool {
        self.0.trailing_zeros() >= 6
    }

    /// Whether the owner may execute.
    pub fn is_executable(self) -> bool {
        self.0 & 0o100 != 0
    }

    pub(crate) fn raw(self) -> rustix::fs::Mode {
        rustix::fs::Mode::from_raw_mode((self.0 & 0o7777) as rustix::fs::RawMode)
    }
}

/// User and group of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Numeric user.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
}

/// A point in time as the file system keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds within that second, 0 to 999,999,999.
    pub nanos: u32,
}

/// What lstat says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Device number of the file system.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: Mode,
    /// How many names it has.
    pub links: u64,
    /// Who owns it.
    pub owner: Owner,
    /// Bytes (of a link: the length of its target).
    pub size: u64,
    /// Allocated units of 512 bytes; fewer than `size` needs means the file has holes.
    pub blocks: u64,
    /// When its bytes last changed.
    pub mtime: Time,
    /// When its inode last changed; no program can set it.
    pub ctime: Time,
}

impl Stat {
    /// Whether both describe the same unchanged file. Access time, link count and blocks do not
    /// count: reading a file, linking it or flushing it changes no byte of it.
    pub fn is_same_content(&self, other: &Self) -> bool {
        (self.dev, self.ino, self.kind, self.mode, self.size, self.mtime, self.ctime)
            == (other.dev, other.ino, other.kind, other.mode, other.size, other.mtime, other.ctime)
    }

    /// Whether fewer blocks are allocated than the size needs.
    pub fn is_sparse(&self) -> bool {
        self.blocks.saturating_mul(512) < self.size
    }

    #[expect(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        clippy::useless_conversion,
        reason = "the fields' widths and signs differ between platforms; none loses a value here"
    )]
    pub(crate) fn of(raw: &rustix::fs::Stat) -> Self {
        let kind = Kind::of(FileType::from_raw_mode(raw.st_mode)).unwrap_or(Kind::Special);
        Self {
            dev: raw.st_dev as u64,
            ino: raw.st_ino as u64,
            kind,
            mode: Mode(u32::from(raw.st_mode) & 0o7777),
            links: raw.st_nlink as u64,
            owner: Owner { uid: raw.st_uid, gid: raw.st_gid },
            size: raw.st_size as u64,
            blocks: raw.st_blocks as u64,
            mtime: Time { seconds: raw.st_mtime as i64, nanos: raw.st_mtime_nsec as u32 },
            ctime: Time { seconds: raw.st_ctime as i64, nanos: raw.st_ctime_nsec as u32 },
        }
    }
}
