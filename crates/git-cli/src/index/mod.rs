//! git's index file: read, and changed in place.
//!
//! Bytes in, bytes out. The bytes are kept as git wrote them, and only what a [`Patch`] is told to
//! change differs in what comes out: nothing here sorts, adds or removes an entry. What is read is
//! versions 2, 3 and 4 with either hash, as `gitformat-index(5)` has it; where that page and git's
//! `read-cache.c` differ, the latter is followed.

mod checksum;
mod entries;
mod entry;
mod error;
mod extension;
mod layout;
mod parse;
mod patch;
mod path;
#[cfg(test)]
mod tests;
mod tree;
mod varint;

use self::checksum::Trailer;
use self::entry::Record;
pub use self::entry::{Entry, Flags, Mode, StatBlock};
pub use self::error::{EntryProblem, ParseError, PatchError};
use self::extension::Extension;
pub use self::extension::Signature;
pub use self::layout::Version;
pub use self::patch::{DROPPED_EXTENSIONS, Patch};
use crate::object::{ObjectFormat, ObjectId};

/// A parsed index, and the bytes it was parsed from.
///
/// Every entry lies within the bytes, in order, with a path that stays in the worktree: relative,
/// and without the components `.`, `..` and `.git` (of any case).
#[derive(Clone, Debug)]
pub struct Index {
    raw: Vec<u8>,
    format: ObjectFormat,
    version: Version,
    trailer: Trailer,
    records: Vec<Record>,
    /// The paths of a version 4 index, uncompressed; those of other versions are in `raw`.
    paths: Vec<u8>,
    unmerged: usize,
    sparse_directories: usize,
    /// Where the entries end in `raw`, and the extensions begin.
    entries_end: usize,
    extensions: Vec<Extension>,
    tree_id: Option<ObjectId>,
}

impl Index {
    /// Reads an index, and checks it against its trailer unless that is all zeros (which is what
    /// `index.skipHash` writes).
    pub fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Result<Self, ParseError> {
        parse::parse(bytes, format)
    }

    /// The file, as it was parsed.
    pub fn bytes(&self) -> &[u8] {
        &self.raw
    }

    /// The number of entries in this file; a split index has more in its shared file.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether this file has no entry.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The entry at a position below [`Self::len`]; panics beyond, as a slice does.
    pub fn entry(&self, position: usize) -> Entry<'_> {
        self.records[position].entry(&self.raw, self.paths_buffer(), self.format)
    }

    /// The entries, in git's order: by bytes of path, then by stage.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        let paths = self.paths_buffer();
        self.records.iter().map(|record| record.entry(&self.raw, paths, self.format))
    }

    /// The tree that `git write-tree` would give, if the index knows it (the root of its `TREE`
    /// extension is valid, and covers as many entries as there are).
    pub fn tree_id(&self) -> Option<ObjectId> {
        self.tree_id
    }

    /// Whether it is known to hold exactly the entries of this tree: none is in conflict, or only
    /// intended to be added.
    pub fn is_exactly(&self, tree: ObjectId) -> bool {
        self.tree_id == Some(tree)
            && !self.has_unmerged()
            && !self.iter().any(|entry| entry.flags.is_intent_to_add())
    }

    /// Whether some of its entries are in a shared file: those here may have an empty path, and
    /// are then replacements for entries there.
    pub fn is_split(&self) -> bool {
        self.has_extension(Signature::LINK)
    }

    /// Whether some entries stand for whole directories, or may.
    pub fn is_sparse(&self) -> bool {
        self.sparse_directories > 0 || self.has_extension(Signature::SPARSE_DIRECTORIES)
    }

    /// Whether some path is in conflict (has entries of stages 1 to 3).
    pub fn has_unmerged(&self) -> bool {
        self.unmerged > 0
    }

    /// Whether this extension is there.
    pub fn has_extension(&self, signature: Signature) -> bool {
        self.extensions().any(|other| other == signature)
    }

    /// The extensions, known or not, in the file's order.
    pub fn extensions(&self) -> impl Iterator<Item = Signature> {
        self.extensions.iter().map(|extension| extension.signature)
    }

    /// The version of the file format.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The format of the ids in it.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Makes the index one to be changed. A split index is refused, since half of its entries are
    /// elsewhere: have git unsplit (a copy of) it first.
    pub fn into_patch(self) -> Result<Patch, PatchError> {
        Patch::new(self)
    }

    fn paths_buffer(&self) -> &[u8] {
        match self.version {
            Version::V2 | Version::V3 => &self.raw,
            Version::V4 => &self.paths,
        }
    }
}
