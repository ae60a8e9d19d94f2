//! Getting contents out, checked.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fs_sys::{ErrorKind, File};

use super::id::ContentId;
use super::index::{Index, pack_file};
use super::pack::{is_gone, pack_path};
use super::record::{Encoding, Kind, Located};
use super::{Store, read_full};
use crate::error::{Error, Result};

/// Length of one chunk in a list: its id and its length.
pub(super) const CHUNK_ENTRY_BYTES: usize = 36;

/// Reads contents. It holds no lock: what is named in a log stays, and may only move to another pack.
#[derive(Debug)]
pub struct Reader<'s> {
    store: &'s Store,
    index: Mutex<Index>,
}

impl Store {
    /// A reader of what is there now.
    pub fn reader(&self) -> Result<Reader<'_>> {
        let index = Mutex::new(Index::load(self, &HashSet::new())?);
        Ok(Reader { store: self, index })
    }

    /// Where a file is kept as itself.
    pub(super) fn whole_path(&self, name: &str) -> PathBuf {
        self.whole.path().join(&name[..2]).join(name)
    }
}

impl Reader<'_> {
    /// The content, exactly as it was put in. What is missing or damaged is an error.
    pub fn read(&self, id: &ContentId) -> Result<Vec<u8>> {
        let bytes = match self.record(id)? {
            Some((Kind::Bytes, bytes, path)) => (bytes, path),
            Some((_, list, path)) => (self.join(&list, &path)?, path),
            None => {
                let path = self.store.whole_path(&id.to_string());
                match fs_sys::read_file(&path) {
                    Err(error) if error.kind == ErrorKind::NotFound => {
                        return Err(Error::Missing(*id));
                    }
                    bytes => (bytes?, path),
                }
            }
        };
        let (bytes, path) = bytes;
        if ContentId::of(&bytes) == *id { Ok(bytes) } else { Err(Error::Damaged { path }) }
    }

    /// The bytes of the record of this id, decompressed and not yet compared with the id.
    fn record(&self, id: &ContentId) -> Result<Option<(Kind, Vec<u8>, PathBuf)>> {
        let found = self.locate(id);
        match found.map(|(name, located)| self.load(&name, located)).transpose() {
            Err(Error::Fs(error)) if is_gone(&error) => {}
            Ok(None) => {}
            loaded => return loaded,
        }
        // Written, or moved by a collection, since the index was read.
        let fresh = Index::load(self.store, &HashSet::new())?;
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        self.locate(id).map(|(name, located)| self.load(&name, located)).transpose()
    }

    fn locate(&self, id: &ContentId) -> Option<(String, Located)> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.find(id).map(|(pack, located)| (pack.name.clone(), located))
    }

    fn load(&self, name: &str, located: Located) -> Result<(Kind, Vec<u8>, PathBuf)> {
        let path = pack_path(self.store, name);
        let stored = load_stored(self.store, name, located)?;
        let raw = located.header.raw as usize;
        let bytes = match located.header.encoding {
            Encoding::Raw => stored,
            Encoding::Zstd => match zstd::bulk::decompress(&stored, raw) {
                Ok(bytes) => bytes,
                Err(_damaged) => return Err(Error::Damaged { path }),
            },
        };
        Ok((located.header.kind, bytes, path))
    }

    fn join(&self, list: &[u8], path: &Path) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        for id in chunk_ids(list) {
            match self.record(&id)? {
                Some((Kind::Bytes, bytes, _)) => whole.extend_from_slice(&bytes),
                Some(_) => return Err(Error::Damaged { path: path.to_owned() }),
                None => return Err(Error::Missing(id)),
            }
        }
        Ok(whole)
    }

    /// The chunks that a content is made of; none for one that is no list.
    pub(super) fn chunks_of(&self, id: &ContentId) -> Result<Vec<ContentId>> {
        let is_list =
            self.locate(id).is_some_and(|(_, located)| located.header.kind == Kind::Chunks);
        if !is_list {
            return Ok(Vec::new());
        }
        let (_, list, _) = self.record(id)?.ok_or(Error::Missing(*id))?;
        Ok(chunk_ids(&list).collect())
    }
}

fn chunk_ids(list: &[u8]) -> impl Iterator<Item = ContentId> {
    list.chunks_exact(CHUNK_ENTRY_BYTES)
        .filter_map(|entry| entry[..32].try_into().ok().map(ContentId))
}

/// The bytes of a record as they are stored.
pub(super) fn load_stored(store: &Store, name: &str, located: Located) -> Result<Vec<u8>> {
    let file_name = pack_file(name);
    let pack = File::open(store.packs.at(&file_name))?;
    let mut stored = vec![0; located.header.stored as usize];
    if read_full(&pack, &mut stored, located.offset)? < stored.len() {
        return Err(Error::Damaged { path: pack_path(store, name) });
    }
    Ok(stored)
}
