//! The checksum at the end of an index.

use super::error::ParseError;
use crate::object::{Hasher, ObjectFormat, ObjectId};

/// What an index ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trailer {
    /// The hash of everything before it.
    Hash,
    /// Zeros in its place, as `index.skipHash` has it.
    Zeros,
}

/// Checks the trailer of `raw`, which is at least as long as one.
pub(super) fn verify(raw: &[u8], format: ObjectFormat) -> Result<Trailer, ParseError> {
    let (body, trailer) = raw.split_at(raw.len() - format.hash_len());
    let recorded = ObjectId::from_bytes(trailer).expect("as long as the format's");
    if recorded.is_null() {
        return Ok(Trailer::Zeros);
    }
    let computed = hash(body, format);
    if computed == recorded {
        Ok(Trailer::Hash)
    } else {
        Err(ParseError::Checksum { recorded, computed })
    }
}

/// Appends the trailer to an index that has none yet.
pub(super) fn append(body: &mut Vec<u8>, format: ObjectFormat, trailer: Trailer) {
    let id = match trailer {
        Trailer::Hash => hash(body, format),
        Trailer::Zeros => format.null_id(),
    };
    body.extend_from_slice(id.as_bytes());
}

fn hash(body: &[u8], format: ObjectFormat) -> ObjectId {
    let mut hasher = Hasher::new(format);
    hasher.update(body);
    hasher.finish()
}
