//! Changing an index in place: stat data and flags, then the extensions and the trailer.

use super::entry::Mode;
use super::error::PatchError;
use super::extension::{Extension, Signature};
use super::layout::{ASSUME_VALID, EXTENDED, SKIP_WORKTREE, be16, flags_at, narrow, widen};
use super::{Entry, Index, StatBlock, checksum};
use crate::object::{Hasher, ObjectFormat};

/// The extensions that a patched index does not have, since they are about the worktree that the
/// original belongs to: what its monitor had said, what was untracked in it, and which conflicts
/// were resolved in it. git makes each anew when it is wanted.
///
/// All others are kept as they are. The trees (`TREE`) follow from ids and paths, which no patch
/// changes; block offsets (`IEOT`) stay, since no entry moves; and the end-of-entries mark (`EOIE`)
/// hashes the other extensions' headers and is computed anew.
pub const DROPPED_EXTENSIONS: [Signature; 3] =
    [Signature::FSMONITOR, Signature::UNTRACKED_CACHE, Signature::RESOLVE_UNDO];

/// An index that is being changed; [`Patch::finish`] gives its bytes.
#[derive(Debug)]
#[must_use = "the bytes come from `finish`"]
pub struct Patch {
    index: Index,
}

impl Patch {
    pub(super) fn new(index: Index) -> Result<Self, PatchError> {
        if index.is_split() { Err(PatchError::Split) } else { Ok(Self { index }) }
    }

    /// The index as changed so far, with all of its extensions.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The entry at a position, as changed so far.
    pub fn entry(&self, position: usize) -> Entry<'_> {
        self.index.entry(position)
    }

    /// Says that the file at this entry's path has this stat data, and the content of its id.
    pub fn set_stat(&mut self, position: usize, stat: &StatBlock) {
        stat.write(self.entry_bytes(position));
    }

    /// Has git look at this entry's file again: clears assume-valid and skip-worktree, which are
    /// choices made for one worktree. (That a monitor vouches for a file is in `FSMN`, not here.)
    ///
    /// The second word of flags stays, zero or not, so that no entry moves. A sparse directory
    /// keeps skip-worktree: without it, it would be an entry that git does not expect.
    pub fn clear_local_flags(&mut self, position: usize) {
        let keep_skip = self.entry(position).mode == Mode::SparseDirectory;
        let at = flags_at(self.index.format.hash_len());
        let bytes = self.entry_bytes(position);
        let first = be16(bytes, at);
        bytes[at..at + 2].copy_from_slice(&(first & !ASSUME_VALID).to_be_bytes());
        if first & EXTENDED != 0 && !keep_skip {
            let second = be16(bytes, at + 2) & !SKIP_WORKTREE;
            bytes[at + 2..at + 4].copy_from_slice(&second.to_be_bytes());
        }
    }

    /// The bytes of the changed index, without [`DROPPED_EXTENSIONS`] and with a trailer of the
    /// same kind as the original's.
    pub fn finish(self) -> Vec<u8> {
        let Index { mut raw, format, trailer, entries_end, extensions, .. } = self.index;
        let tail = kept_extensions(&raw, &extensions, format, entries_end);
        raw.truncate(entries_end);
        raw.extend_from_slice(&tail);
        checksum::append(&mut raw, format, trailer);
        raw
    }

    fn entry_bytes(&mut self, position: usize) -> &mut [u8] {
        let start = widen(self.index.records[position].start);
        &mut self.index.raw[start..]
    }
}

/// The extensions that stay, with the end-of-entries mark last: git looks for it there only.
fn kept_extensions(
    raw: &[u8],
    extensions: &[Extension],
    format: ObjectFormat,
    entries_end: usize,
) -> Vec<u8> {
    let mut tail = Vec::new();
    let mut headers = Hasher::new(format);
    let kept = extensions.iter().filter(|extension| {
        extension.signature != Signature::END_OF_ENTRIES
            && !DROPPED_EXTENSIONS.contains(&extension.signature)
    });
    for extension in kept {
        let bytes = extension.bytes(raw);
        headers.update(&bytes[..bytes.len() - extension.data(raw).len()]);
        tail.extend_from_slice(bytes);
    }
    if extensions.iter().any(|extension| extension.signature == Signature::END_OF_ENTRIES) {
        let size = narrow(size_of::<u32>() + format.hash_len());
        tail.extend_from_slice(&Signature::END_OF_ENTRIES.0);
        tail.extend_from_slice(&size.to_be_bytes());
        tail.extend_from_slice(&narrow(entries_end).to_be_bytes());
        tail.extend_from_slice(headers.finish().as_bytes());
    }
    tail
}
