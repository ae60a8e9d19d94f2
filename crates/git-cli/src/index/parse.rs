//! Reading a whole index file, part by part.

use super::entries::Reader;
use super::error::ParseError;
use super::extension::{self, Signature};
use super::layout::{HEADER_LEN, MAGIC, Version, be32};
use super::{Index, checksum, tree};
use crate::object::ObjectFormat;

pub(super) fn parse(raw: Vec<u8>, format: ObjectFormat) -> Result<Index, ParseError> {
    let hash_len = format.hash_len();
    let len = raw.len();
    if len < HEADER_LEN + hash_len {
        return Err(ParseError::TooShort { len });
    }
    if u32::try_from(len).is_err() {
        return Err(ParseError::TooLarge { len });
    }
    if raw[..MAGIC.len()] != MAGIC {
        return Err(ParseError::Magic);
    }
    let number = be32(&raw, 4);
    let version = Version::from_number(number).ok_or(ParseError::Version(number))?;
    let trailer = checksum::verify(&raw, format)?;
    let body = &raw[..len - hash_len];

    let mut reader = Reader::new(body, version, hash_len);
    reader.read_all(be32(&raw, 8))?;
    let Reader { at: entries_end, records, paths, unmerged, sparse_directories, misplaced, .. } =
        reader;

    let starts = |position: usize| records.get(position).map(|record| record.start);
    let extensions = extension::read(body, entries_end, hash_len)?;
    let split = extensions.iter().any(|extension| extension.signature == Signature::LINK);
    // The entries of a split index are sorted by the places they replace in the shared file.
    if let Some(error) = misplaced
        && !split
    {
        return Err(error);
    }
    extension::check_offset_tables(body, &extensions, records.len(), starts)?;
    let expected_count = (!split).then_some(records.len());
    let tree_id = tree::root(body, &extensions, format, expected_count)?;
    Ok(Index {
        raw,
        format,
        version,
        trailer,
        records,
        paths,
        unmerged,
        sparse_directories,
        entries_end,
        extensions,
        tree_id,
    })
}
