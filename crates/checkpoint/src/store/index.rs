//! Where each content is: the indexes of all packs, and the whole files.
//!
//! An index file is eight bytes that name the format, entries of [`ENTRY_BYTES`] sorted by id (id,
//! offset, stored length, raw length, kind, encoding, two zeros), and the blake3 of all that. A pack
//! without one, or with a damaged one, is walked.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};

use fs_sys::{ErrorKind, File};

use super::id::ContentId;
use super::record::{Encoding, Header, Kind, Located, walk};
use super::{PRIVATE_FILE, Store, random_name};
use crate::error::Result;

const MAGIC: &[u8; 8] = b"fwtindx\x01";
const ENTRY_BYTES: usize = 52;
const CHECK_BYTES: usize = 32;

/// The name of a pack without its ending.
pub(super) type PackName = String;

/// A pack and what is in it.
#[derive(Debug)]
pub(super) struct Pack {
    pub(super) name: PackName,
    /// Sorted entries, as an index file has them.
    entries: Vec<u8>,
    pub(super) is_sealed: bool,
}

/// All packs, as they were at one moment.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) packs: Vec<Pack>,
}

impl Index {
    /// Reads what there is. `leave_out` are packs that are about to go.
    pub(super) fn load(store: &Store, leave_out: &HashSet<String>) -> Result<Self> {
        let mut names = Vec::new();
        store.packs.list(&mut Vec::new(), &mut |entry| {
            let name = entry.name.to_str().and_then(|name| name.strip_suffix(".pack"));
            names.extend(name.filter(|name| !leave_out.contains(*name)).map(str::to_owned));
            Ok(())
        })?;
        names.sort_unstable();
        let packs = names.into_iter().map(|name| Pack::load(store, name));
        Ok(Self { packs: packs.filter_map(Result::transpose).collect::<Result<_>>()? })
    }

    pub(super) fn find(&self, id: &ContentId) -> Option<(&Pack, Located)> {
        self.packs.iter().find_map(|pack| pack.find(id).map(|located| (pack, located)))
    }
}

impl Pack {
    /// `None` if it is gone meanwhile.
    fn load(store: &Store, name: PackName) -> Result<Option<Self>> {
        let is_sealed = is_sealed(store, &name)?;
        if is_sealed && let Some(entries) = load_entries(store, &name)? {
            return Ok(Some(Self { name, entries, is_sealed }));
        }
        let file_name = pack_file(&name);
        let walked = match File::open(store.packs.at(&file_name)) {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
            opened => walk(&opened?)?,
        };
        Ok(Some(Self { name, entries: encode(walked.records), is_sealed }))
    }

    fn find(&self, id: &ContentId) -> Option<Located> {
        let entry = |at: usize| &self.entries[at * ENTRY_BYTES..][..ENTRY_BYTES];
        let (mut low, mut high) = (0, self.entries.len() / ENTRY_BYTES);
        while low < high {
            let middle = low.midpoint(high);
            if entry(middle)[..32] < id.0[..] { low = middle + 1 } else { high = middle }
        }
        if low * ENTRY_BYTES == self.entries.len() {
            return None;
        }
        decode(entry(low)).filter(|located| located.header.id == *id)
    }

    /// Everything in it, by id.
    pub(super) fn records(&self) -> impl Iterator<Item = Located> {
        self.entries.chunks_exact(ENTRY_BYTES).filter_map(decode)
    }
}

/// The file of a pack.
pub(super) fn pack_file(name: &str) -> OsString {
    OsString::from(format!("{name}.pack"))
}

/// The file of its index.
pub(super) fn index_file(name: &str) -> OsString {
    OsString::from(format!("{name}.index"))
}

/// Seals a pack: from now on nobody appends to it. Whoever calls has the lock on it.
pub(super) fn seal(store: &Store, name: &str, records: Vec<Located>) -> Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(encode(records));
    let check = blake3::hash(&bytes);
    bytes.extend_from_slice(check.as_bytes());
    let path = store.packs.path().join(index_file(name));
    let temporary = format!("{name}.{}.tmp", random_name()?);
    Ok(fs_sys::replace_file(&path, OsStr::new(&temporary), &bytes, PRIVATE_FILE)?)
}

/// Whether nobody appends to it any more.
pub(super) fn is_sealed(store: &Store, name: &str) -> Result<bool> {
    Ok(fs_sys::exists(&store.packs.path().join(index_file(name)))?)
}

fn load_entries(store: &Store, name: &str) -> Result<Option<Vec<u8>>> {
    let path = store.packs.path().join(index_file(name));
    let mut bytes = match fs_sys::read_file(&path) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let body = bytes.len().saturating_sub(CHECK_BYTES);
    let is_whole = bytes.starts_with(MAGIC)
        && body >= MAGIC.len()
        && (body - MAGIC.len()).is_multiple_of(ENTRY_BYTES)
        && blake3::hash(&bytes[..body]).as_bytes() == &bytes[body..];
    if !is_whole {
        tracing::warn!(path = %path.display(), "a damaged index: its pack is read instead");
        return Ok(None);
    }
    bytes.truncate(body);
    Ok(Some(bytes.split_off(MAGIC.len())))
}

fn encode(mut records: Vec<Located>) -> Vec<u8> {
    records.sort_unstable_by_key(|located| located.header.id);
    let mut bytes = Vec::with_capacity(records.len() * ENTRY_BYTES);
    for Located { header, offset } in records {
        bytes.extend_from_slice(&header.id.0);
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&header.stored.to_le_bytes());
        bytes.extend_from_slice(&header.raw.to_le_bytes());
        bytes.push(u8::from(header.kind == Kind::Chunks));
        bytes.push(u8::from(header.encoding == Encoding::Zstd));
        bytes.extend_from_slice(&[0; 2]);
    }
    bytes
}

fn decode(entry: &[u8]) -> Option<Located> {
    let number = |at: usize| Some(u32::from_le_bytes(entry.get(at..at + 4)?.try_into().ok()?));
    let header = Header {
        kind: if entry.get(48)? == &1 { Kind::Chunks } else { Kind::Bytes },
        encoding: if entry.get(49)? == &1 { Encoding::Zstd } else { Encoding::Raw },
        stored: number(40)?,
        raw: number(44)?,
        id: ContentId(entry.get(..32)?.try_into().ok()?),
    };
    let offset = u64::from_le_bytes(entry.get(32..40)?.try_into().ok()?);
    Some(Located { header, offset })
}
