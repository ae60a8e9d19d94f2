//! The extensions after the entries: which there are, and whether each may be ignored.

use std::fmt;

use super::error::ParseError;
use super::layout::{EXTENSION_HEADER_LEN, HEADER_LEN, be32, narrow, widen};

/// The four bytes that name an extension.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature(pub [u8; 4]);

impl Signature {
    /// The trees that parts of the index are known to be.
    pub const TREE: Self = Self(*b"TREE");
    /// The conflicts that were resolved, for undoing that.
    pub const RESOLVE_UNDO: Self = Self(*b"REUC");
    /// The shared file that most entries are in.
    pub const LINK: Self = Self(*b"link");
    /// What was untracked in each directory.
    pub const UNTRACKED_CACHE: Self = Self(*b"UNTR");
    /// What a file system monitor had last said.
    pub const FSMONITOR: Self = Self(*b"FSMN");
    /// Where the entries end, with a hash of the other extensions' headers.
    pub const END_OF_ENTRIES: Self = Self(*b"EOIE");
    /// Where blocks of entries begin, for reading them in parallel.
    pub const ENTRY_OFFSETS: Self = Self(*b"IEOT");
    /// Some entries may stand for whole directories.
    pub const SPARSE_DIRECTORIES: Self = Self(*b"sdir");

    const KNOWN: [Self; 8] = [
        Self::TREE,
        Self::RESOLVE_UNDO,
        Self::LINK,
        Self::UNTRACKED_CACHE,
        Self::FSMONITOR,
        Self::END_OF_ENTRIES,
        Self::ENTRY_OFFSETS,
        Self::SPARSE_DIRECTORIES,
    ];

    /// Whether a reader that does not know it may go on without.
    const fn is_optional(self) -> bool {
        self.0[0].is_ascii_uppercase()
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}

/// Where an extension is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension {
    pub(super) signature: Signature,
    /// Where its header begins.
    start: u32,
    /// Where its data ends.
    end: u32,
}

impl Extension {
    /// The header and the data.
    pub(super) fn bytes(self, raw: &[u8]) -> &[u8] {
        &raw[widen(self.start)..widen(self.end)]
    }

    pub(super) fn data(self, raw: &[u8]) -> &[u8] {
        &self.bytes(raw)[EXTENSION_HEADER_LEN..]
    }
}

/// Finds the extensions between `at` and the end of `body`, which is a file without its trailer.
pub(super) fn read(
    body: &[u8],
    mut at: usize,
    hash_len: usize,
) -> Result<Vec<Extension>, ParseError> {
    let mut extensions = Vec::new();
    while at < body.len() {
        let truncated = ParseError::ExtensionTruncated { offset: at };
        let Some(header) = body.get(at..at + EXTENSION_HEADER_LEN) else {
            return Err(truncated);
        };
        let signature = Signature([header[0], header[1], header[2], header[3]]);
        let size = widen(be32(header, 4));
        if size > body.len() - at - EXTENSION_HEADER_LEN {
            return Err(truncated);
        }
        if !Signature::KNOWN.contains(&signature) && !signature.is_optional() {
            return Err(ParseError::RequiredExtension(signature));
        }
        // The one extension that is rewritten has one length.
        if signature == Signature::END_OF_ENTRIES && size != 4 + hash_len {
            return Err(ParseError::Extension(signature));
        }
        let end = at + EXTENSION_HEADER_LEN + size;
        extensions.push(Extension { signature, start: narrow(at), end: narrow(end) });
        at = end;
    }
    Ok(extensions)
}

/// Checks that tables of entry offsets say where entries begin: git trusts them when it reads
/// entries in parallel. `start_of` gives where an entry begins.
pub(super) fn check_offset_tables(
    body: &[u8],
    extensions: &[Extension],
    entries: usize,
    start_of: impl Fn(usize) -> Option<u32>,
) -> Result<(), ParseError> {
    const VERSION: u32 = 1;
    let tables = extensions.iter().filter(|e| e.signature == Signature::ENTRY_OFFSETS);
    for table in tables {
        let malformed = Err(ParseError::Extension(table.signature));
        let data = table.data(body);
        if data.len() % 8 != 4 || be32(data, 0) != VERSION {
            return malformed;
        }
        let mut position = 0_usize;
        for block in data[4..].chunks_exact(8) {
            let expected = start_of(position).unwrap_or(narrow(HEADER_LEN));
            let count = widen(be32(block, 4));
            if (count > 0 && be32(block, 0) != expected) || count > entries - position {
                return malformed;
            }
            position += count;
        }
        if position != entries {
            return malformed;
        }
    }
    Ok(())
}
