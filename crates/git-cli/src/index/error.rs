//! Why an index cannot be read or changed.

use super::extension::Signature;
use crate::object::ObjectId;

/// Why bytes are not an index we can rely on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is no room for a header and a trailer.
    #[error("index of {len} bytes is too short")]
    TooShort {
        /// The bytes there are.
        len: usize,
    },
    /// The offsets in it do not fit in the 32 bits that the format has for them.
    #[error("index of {len} bytes is 4 GiB or more")]
    TooLarge {
        /// The bytes there are.
        len: usize,
    },
    /// It does not begin as an index does.
    #[error("not an index file")]
    Magic,
    /// Not version 2, 3 or 4.
    #[error("index version {0} is not known")]
    Version(u32),
    /// The content is not what was written, or the ids have another format.
    #[error("index checksum {computed} is not the recorded {recorded}")]
    Checksum {
        /// What the trailer says.
        recorded: ObjectId,
        /// What the content gives.
        computed: ObjectId,
    },
    /// More entries are announced than can be there.
    #[error("{count} index entries do not fit in the file")]
    EntryCount {
        /// The entries announced.
        count: u32,
    },
    /// An entry is malformed.
    #[error("index entry {position} is malformed")]
    Entry {
        /// Which one, from 0.
        position: usize,
        /// What is wrong with it.
        #[source]
        problem: EntryProblem,
    },
    /// The end of the file is within an extension.
    #[error("index ends within the extension at byte {offset}")]
    ExtensionTruncated {
        /// Where that extension begins.
        offset: usize,
    },
    /// A known extension is malformed.
    #[error("index extension {0} is malformed")]
    Extension(Signature),
    /// An extension that changes what the entries mean, and which we do not know.
    #[error("index extension {0} is required and not known")]
    RequiredExtension(Signature),
}

/// What is wrong with an index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// The file ends within it.
    #[error("the file ends within it")]
    Truncated,
    /// A mode git never writes.
    #[error("mode {0:o} is not known")]
    Mode(u32),
    /// The second word of flags has bits nobody has defined yet.
    #[error("flags {0:#06x} are not known")]
    Flags(u16),
    /// Version 2 has no second word of flags.
    #[error("it has extended flags in a version 2 index")]
    ExtendedFlags,
    /// The path does not end where its recorded length says, or contains a NUL.
    #[error("its path is not as long as recorded")]
    PathLength,
    /// More is stripped of the path before than it has, or by a number too large to be one.
    #[error("its path is compressed against one that is too short")]
    PathPrefix,
    /// Uncompressed, the paths are longer than paths that can be opened would be.
    #[error("the paths up to it are too long")]
    PathExpansion,
    /// The path leaves the worktree, enters a `.git`, or has an empty component.
    #[error("its path is not one of a worktree")]
    UnsafePath,
    /// A path that ends with a slash is not a sparse directory's, or one that does not end so is.
    #[error("its path and its mode disagree about being a directory")]
    DirectorySlash,
    /// It does not come after the entry before it.
    #[error("it is out of order")]
    Order,
}

/// Why an index cannot be changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Some of its entries are in a shared file.
    #[error("the index is split")]
    Split,
}
