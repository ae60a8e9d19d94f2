//! One entry: a path, what is to be there, and the stat data it was last seen with.

use super::layout::{
    ASSUME_VALID, EXTENDED, ID_AT, INTENT_TO_ADD, MODE_AT, SKIP_WORKTREE, STAGE_SHIFT, be16, be32,
    flags_at, widen,
};
use crate::object::{ObjectFormat, ObjectId};

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Relative to the worktree; any bytes but NUL. Ends with a slash for a sparse directory.
    pub path: &'a [u8],
    /// What is to be there.
    pub mode: Mode,
    /// The blob, commit or tree that is to be there.
    pub id: ObjectId,
    /// The stat data of the file when its content was known to be that of `id`.
    pub stat: StatBlock,
    /// 0, or 1 to 3 while in conflict.
    pub stage: u8,
    /// What was asked for this path in this worktree.
    pub flags: Flags,
}

/// The kind of thing at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A regular file.
    File,
    /// A regular file that may be executed.
    Executable,
    /// A symbolic link; the blob is its target.
    Symlink,
    /// A submodule; the id is a commit of another repository.
    Gitlink,
    /// A whole directory outside of a sparse checkout; the id is a tree.
    SparseDirectory,
}

impl Mode {
    /// The number git writes for it, in the index and in trees.
    pub const fn bits(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Symlink => 0o120_000,
            Self::Gitlink => 0o160_000,
            Self::SparseDirectory => 0o040_000,
        }
    }

    pub(super) const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            0o100_644 => Some(Self::File),
            0o100_755 => Some(Self::Executable),
            0o120_000 => Some(Self::Symlink),
            0o160_000 => Some(Self::Gitlink),
            0o040_000 => Some(Self::SparseDirectory),
            _ => None,
        }
    }
}

/// The flags of an entry, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    first: u16,
    second: u16,
}

impl Flags {
    /// `git update-index --assume-unchanged`: the file is not looked at.
    pub const fn is_assume_valid(self) -> bool {
        self.first & ASSUME_VALID != 0
    }

    /// Outside of the sparse checkout, or `git update-index --skip-worktree`.
    pub const fn is_skip_worktree(self) -> bool {
        self.second & SKIP_WORKTREE != 0
    }

    /// `git add -N`: the path is to be added and the id is not yet its content's.
    pub const fn is_intent_to_add(self) -> bool {
        self.second & INTENT_TO_ADD != 0
    }
}

/// The stat data git compares, each number cut to its low 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatBlock {
    /// Change time, seconds.
    pub ctime_s: u32,
    /// Change time, nanoseconds within the second.
    pub ctime_ns: u32,
    /// Modification time, seconds.
    pub mtime_s: u32,
    /// Modification time, nanoseconds within the second.
    pub mtime_ns: u32,
    /// Device.
    pub dev: u32,
    /// Inode.
    pub ino: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size, bytes.
    pub size: u32,
}

impl StatBlock {
    fn read(entry: &[u8]) -> Self {
        Self {
            ctime_s: be32(entry, 0),
            ctime_ns: be32(entry, 4),
            mtime_s: be32(entry, 8),
            mtime_ns: be32(entry, 12),
            dev: be32(entry, 16),
            ino: be32(entry, 20),
            uid: be32(entry, 28),
            gid: be32(entry, 32),
            size: be32(entry, 36),
        }
    }

    /// Overwrites the stat data at the start of `entry`; the mode in its middle stays.
    pub(super) fn write(&self, entry: &mut [u8]) {
        let fields = [
            (0, self.ctime_s),
            (4, self.ctime_ns),
            (8, self.mtime_s),
            (12, self.mtime_ns),
            (16, self.dev),
            (20, self.ino),
            (28, self.uid),
            (32, self.gid),
            (36, self.size),
        ];
        for (at, field) in fields {
            entry[at..at + 4].copy_from_slice(&field.to_be_bytes());
        }
    }
}

/// Where an entry is, and where its path is: all that is kept of half a million entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// In the file.
    pub(super) start: u32,
    /// In the file, or in the buffer of uncompressed paths.
    pub(super) path_start: u32,
    pub(super) path_len: u32,
}

impl Record {
    pub(super) fn path(self, paths: &[u8]) -> &[u8] {
        &paths[widen(self.path_start)..][..widen(self.path_len)]
    }

    pub(super) fn entry<'a>(self, raw: &[u8], paths: &'a [u8], format: ObjectFormat) -> Entry<'a> {
        let bytes = &raw[widen(self.start)..];
        let flags_at = flags_at(format.hash_len());
        let first = be16(bytes, flags_at);
        let second = if first & EXTENDED == 0 { 0 } else { be16(bytes, flags_at + 2) };
        Entry {
            path: self.path(paths),
            mode: Mode::from_bits(be32(bytes, MODE_AT)).expect("the mode was checked when read"),
            id: ObjectId::from_bytes(&bytes[ID_AT..flags_at]).expect("as long as the format's"),
            stat: StatBlock::read(bytes),
            stage: stage(first),
            flags: Flags { first: first & ASSUME_VALID, second },
        }
    }
}

/// The stage in a first word of flags.
pub(super) fn stage(first: u16) -> u8 {
    ((first >> STAGE_SHIFT) & 3) as u8
}
