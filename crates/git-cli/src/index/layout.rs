//! Where things are in the file: offsets, widths and bits.

/// The version of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Padded paths.
    V2,
    /// As 2, with a second word of flags in some entries.
    V3,
    /// Paths compressed against the one before, not padded.
    V4,
}

impl Version {
    pub(super) fn from_number(number: u32) -> Option<Self> {
        match number {
            2 => Some(Self::V2),
            3 => Some(Self::V3),
            4 => Some(Self::V4),
            _ => None,
        }
    }
}

/// The first four bytes of every index.
pub(super) const MAGIC: [u8; 4] = *b"DIRC";
/// Magic, version and number of entries.
pub(super) const HEADER_LEN: usize = 12;
/// Signature and size, in front of an extension's data.
pub(super) const EXTENSION_HEADER_LEN: usize = 8;

/// Offset of the mode within an entry. Before it: ctime, mtime, device and inode.
pub(super) const MODE_AT: usize = 24;
/// Offset of the id within an entry. Before it, after the mode: owner, group and size.
pub(super) const ID_AT: usize = 40;

/// Bits of an entry's first word of flags.
pub(super) const ASSUME_VALID: u16 = 0x8000;
/// Set if a second word of flags follows the first.
pub(super) const EXTENDED: u16 = 0x4000;
/// How far to shift the first word for its two bits of stage.
pub(super) const STAGE_SHIFT: u16 = 12;
/// The length of the path, or this value for "this long or longer".
pub(super) const NAME_MASK: u16 = 0x0FFF;

/// Bits of an entry's second word of flags.
pub(super) const SKIP_WORKTREE: u16 = 0x4000;
/// The path is known and its content is not.
pub(super) const INTENT_TO_ADD: u16 = 0x2000;

/// Entries of versions 2 and 3 are padded to a multiple of this.
const PADDING: usize = 8;

/// The length of a padded entry, whose path is `path_len` and starts at `path_at` in it.
pub(super) const fn padded_len(path_at: usize, path_len: usize) -> usize {
    (path_at + path_len + PADDING) & !(PADDING - 1)
}

/// Where in an entry its first word of flags is.
pub(super) const fn flags_at(hash_len: usize) -> usize {
    ID_AT + hash_len
}

/// The length of the shortest entry there can be: no second word of flags, and an empty path (as a
/// split index has).
pub(super) const fn min_entry_len(version: Version, hash_len: usize) -> usize {
    let path_at = flags_at(hash_len) + 2;
    match version {
        Version::V2 | Version::V3 => padded_len(path_at, 0),
        // One byte says how much to strip, one ends the path.
        Version::V4 => path_at + 2,
    }
}

/// The 16-bit number at `at`, which is within `bytes`.
pub(super) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number at `at`, which is within `bytes`.
pub(super) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Widens a number from the file. Lossless on every target with 32-bit pointers or wider.
pub(super) const fn widen(number: u32) -> usize {
    number as usize
}

/// Narrows an offset into a buffer that was checked to be under 4 GiB.
pub(super) fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).expect("the buffer was checked to be under 4 GiB")
}
