//! The pack that a process writes to: one that nobody else has, or a new one.

use std::ffi::OsString;
use std::path::Path;

use fs_sys::{ErrorKind, File, FileLock, Sharing, try_lock};

use super::index::{is_sealed, pack_file, seal};
use super::record::{Encoding, HEADER_BYTES, Header, Located, MAGIC, walk};
use super::{PRIVATE_FILE, Store, random_name};
use crate::error::Result;

/// A pack of this size or more is sealed. Until then all its headers are read whenever the store is.
const FULL_BYTES: u64 = 16 << 20;

/// A pack that this process alone writes to.
#[derive(Debug)]
pub(super) struct Reserved {
    pub(super) name: String,
    pub(super) file_name: OsString,
    known: Vec<Located>,
    end: u64,
    _lock: FileLock,
}

/// The same, open.
#[derive(Debug)]
pub(super) struct Appender<'p> {
    pack: &'p Reserved,
    file: File<'p>,
    added: Vec<Located>,
    end: u64,
}

/// Takes a pack that has room and that no other process has, or makes one. Those it meets that are
/// full, or that a killed process left with a tail, are sealed.
pub(super) fn reserve(store: &Store) -> Result<Reserved> {
    let mut names = Vec::new();
    store.packs.list(&mut Vec::new(), &mut |entry| {
        let name = entry.name.to_str().and_then(|name| name.strip_suffix(".pack"));
        names.extend(name.map(str::to_owned));
        Ok(())
    })?;
    names.sort_unstable();
    for name in names {
        if let Some(reserved) = try_reserve(store, name)? {
            return Ok(reserved);
        }
    }
    make(store)
}

/// The pack of this name, if it can be written to.
fn try_reserve(store: &Store, name: String) -> Result<Option<Reserved>> {
    let Some((lock, walked)) = lock_unsealed(store, &name)? else { return Ok(None) };
    if walked.has_tail || walked.end >= FULL_BYTES {
        seal(store, &name, walked.records)?;
        return Ok(None);
    }
    let file_name = pack_file(&name);
    Ok(Some(Reserved { name, file_name, known: walked.records, end: walked.end, _lock: lock }))
}

/// Seals the pack of this name, unless another process writes to it.
pub(super) fn try_seal(store: &Store, name: &str) -> Result<bool> {
    let Some((_lock, walked)) = lock_unsealed(store, name)? else { return is_sealed(store, name) };
    seal(store, name, walked.records)?;
    Ok(true)
}

fn lock_unsealed(store: &Store, name: &str) -> Result<Option<(FileLock, super::record::Walked)>> {
    if is_sealed(store, name)? {
        return Ok(None);
    }
    let file_name = pack_file(name);
    let Some(lock) = try_lock(&store.packs.path().join(&file_name), Sharing::Exclusive)? else {
        return Ok(None);
    };
    // Whoever had the lock until now may have sealed it.
    if is_sealed(store, name)? {
        return Ok(None);
    }
    let walked = walk(&File::open(store.packs.at(&file_name))?)?;
    Ok(Some((lock, walked)))
}

fn make(store: &Store) -> Result<Reserved> {
    let name = random_name()?;
    let file_name = pack_file(&name);
    // Locked before anybody can see it.
    let hidden = store.tmp.at(&file_name);
    File::create(hidden, PRIVATE_FILE)?.write_all_at(MAGIC, 0)?;
    let lock = try_lock(&hidden.path(), Sharing::Exclusive)?
        .ok_or_else(|| crate::Error::Busy { path: hidden.path() })?;
    fs_sys::rename_at(hidden, store.packs.at(&file_name))?;
    store.packs.sync()?;
    Ok(Reserved { name, file_name, known: Vec::new(), end: MAGIC.len() as u64, _lock: lock })
}

impl Reserved {
    pub(super) fn open<'p>(&'p self, store: &'p Store) -> Result<Appender<'p>> {
        let file = File::open_to_write(store.packs.at(&self.file_name))?;
        Ok(Appender { pack: self, file, added: Vec::new(), end: self.end })
    }
}

impl Appender<'_> {
    /// Appends a record. It counts from the next [`Appender::commit`] on.
    pub(super) fn append(&mut self, header: Header, stored: &[u8]) -> Result<Located> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + stored.len());
        bytes.extend_from_slice(&header.encode());
        bytes.extend_from_slice(stored);
        self.file.write_all_at(&bytes, self.end)?;
        let located = Located { header, offset: self.end + HEADER_BYTES as u64 };
        self.end += bytes.len() as u64;
        self.added.push(located);
        Ok(located)
    }

    /// Puts everything on the disk, and lets it count. A pack that is full is sealed.
    pub(super) fn commit(mut self, store: &Store) -> Result<u64> {
        if self.added.is_empty() {
            return Ok(0);
        }
        self.file.sync()?;
        self.file.write_all_at(&Header::COMMIT.encode(), self.end)?;
        self.file.sync()?;
        self.end += HEADER_BYTES as u64;
        let added = self.end - self.pack.end;
        if self.end >= FULL_BYTES {
            let known = self.pack.known.iter().copied();
            seal(store, &self.pack.name, known.chain(self.added).collect())?;
        }
        Ok(added)
    }
}

/// The bytes of a record as they are stored: compressed where that helps.
pub(super) fn pack_bytes(bytes: &[u8]) -> (Encoding, Vec<u8>) {
    match zstd::bulk::compress(bytes, COMPRESSION) {
        Ok(packed) if packed.len() < bytes.len() => (Encoding::Zstd, packed),
        // Random bytes grow; what cannot be compressed is stored as it is.
        Ok(_) | Err(_) => (Encoding::Raw, bytes.to_vec()),
    }
}

const COMPRESSION: i32 = 1;

/// Where a pack is, for messages.
pub(super) fn pack_path(store: &Store, name: &str) -> std::path::PathBuf {
    Path::new(store.packs.path()).join(pack_file(name))
}

/// Whether a pack that was listed is gone meanwhile.
pub(super) fn is_gone(error: &fs_sys::Error) -> bool {
    error.kind == ErrorKind::NotFound
}
