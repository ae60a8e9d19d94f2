//! Putting contents in.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fastcdc::v2020::StreamCDC;
use fs_sys::{Dir, ErrorKind, File};

use super::collect::load_condemned;
use super::id::ContentId;
use super::index::Index;
use super::pack::{Appender, pack_bytes, reserve};
use super::record::{Encoding, Header, Kind, Located};
use super::{InUse, PRIVATE_FILE, SMALL_BYTES, Store, make_dir, random_name, read_full};
use crate::error::{Error, Result};

/// Where a large file comes from, which decides how it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Seen for the first time: it shares its blocks with the tree where that can be.
    Baseline,
    /// It has changed, and may again: only the chunks that are new are kept.
    Changed,
}

/// Puts contents into the store. They count once [`Store::write`] returns.
#[derive(Debug)]
pub struct Writer<'s> {
    store: &'s Store,
    /// What was there at the beginning, without what is about to go.
    index: Index,
    condemned: HashSet<String>,
    state: Mutex<State<'s>>,
}

#[derive(Debug)]
struct State<'s> {
    pack: Appender<'s>,
    added: HashMap<ContentId, Located>,
    /// Directories of whole files with new names in them.
    unsynced: HashSet<OsString>,
    cannot_share: bool,
}

impl Store {
    /// Runs `act` with a writer, and puts on the disk what it wrote. If it fails, nothing of that
    /// counts.
    pub fn write<T, E: From<Error>>(
        &self,
        _in_use: &InUse,
        act: impl FnOnce(&Writer<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let condemned = load_condemned(self)?.names();
        let pack = reserve(self)?;
        let state = State {
            pack: pack.open(self)?,
            added: HashMap::new(),
            unsynced: HashSet::new(),
            cannot_share: false,
        };
        let index = Index::load(self, &condemned)?;
        let writer = Writer { store: self, index, condemned, state: Mutex::new(state) };
        let done = act(&writer)?;
        let state = writer.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for name in &state.unsynced {
            self.whole.open_child(name).and_then(|dir| dir.sync()).map_err(Error::from)?;
        }
        state.pack.commit(self)?;
        Ok(done)
    }
}

impl<'s> Writer<'s> {
    /// Keeps these bytes.
    pub fn put_bytes(&self, bytes: &[u8]) -> Result<ContentId> {
        let id = ContentId::of(bytes);
        self.put_record(Kind::Bytes, id, bytes)?;
        Ok(id)
    }

    /// Keeps what the file holds now. Whoever calls compares its stat before and after.
    pub fn put_file(&self, file: &File<'_>, origin: Origin) -> Result<ContentId> {
        let size = file.stat()?.size;
        if size <= SMALL_BYTES {
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
            let count = read_full(file, &mut bytes, 0)?;
            return self.put_bytes(&bytes[..count]);
        }
        if origin == Origin::Baseline
            && let Some(id) = self.put_shared(file)?
        {
            return Ok(id);
        }
        let id = hash(file)?;
        if self.has(&id)? { Ok(id) } else { self.put_chunks(file) }
    }

    fn put_record(&self, kind: Kind, id: ContentId, bytes: &[u8]) -> Result<()> {
        if self.has(&id)? {
            return Ok(());
        }
        // Not under the lock: this is the work that several threads share.
        let (encoding, packed) = pack_bytes(bytes);
        self.append(kind, encoding, id, (bytes.len(), &packed))
    }

    /// Appends a record as it is stored.
    pub(super) fn append(
        &self,
        kind: Kind,
        encoding: Encoding,
        id: ContentId,
        (raw, packed): (usize, &[u8]),
    ) -> Result<()> {
        let length = |bytes: usize| u32::try_from(bytes).expect("a record is of some MiB at most");
        let header = Header { kind, encoding, stored: length(packed.len()), raw: length(raw), id };
        let mut state = self.state();
        if !state.added.contains_key(&id) {
            let located = state.pack.append(header, packed)?;
            state.added.insert(id, located);
        }
        Ok(())
    }

    /// Whether the content is there and stays.
    fn has(&self, id: &ContentId) -> Result<bool> {
        if self.state().added.contains_key(id) || self.index.find(id).is_some() {
            return Ok(true);
        }
        let name = id.to_string();
        let is_going = self.condemned.contains(&name);
        Ok(!is_going && fs_sys::exists(&self.store.whole_path(&name))?)
    }

    /// Keeps a large file as itself. `None` where blocks cannot be shared.
    fn put_shared(&self, file: &File<'_>) -> Result<Option<ContentId>> {
        if self.state().cannot_share {
            return Ok(None);
        }
        let name = OsString::from(random_name()?);
        let hidden = self.store.tmp.at(&name);
        let clone = match File::create_clone(file, hidden, PRIVATE_FILE) {
            Err(error) if matches!(error.kind, ErrorKind::Unsupported | ErrorKind::CrossDevice) => {
                self.state().cannot_share = true;
                return Ok(None);
            }
            clone => clone?,
        };
        // The clone holds still, whatever happens to the file.
        let id = hash(&clone)?;
        if self.has(&id)? {
            fs_sys::remove_file_at(hidden)?;
            return Ok(Some(id));
        }
        clone.sync()?;
        let id_name = id.to_string();
        let shelf = self.shelf(&id_name)?;
        fs_sys::rename_at(hidden, shelf.at(id_name.as_ref()))?;
        self.state().unsynced.insert(id_name[..2].into());
        Ok(Some(id))
    }

    fn shelf(&self, id: &str) -> Result<Dir> {
        let name = &id[..2];
        match self.store.whole.open_child(name.as_ref()) {
            Err(error) if error.kind == ErrorKind::NotFound => {
                make_dir(&self.store.whole.path().join(name))?;
                self.store.whole.sync()?;
                Ok(self.store.whole.open_child(name.as_ref())?)
            }
            opened => Ok(opened?),
        }
    }

    fn put_chunks(&self, file: &File<'_>) -> Result<ContentId> {
        let mut whole = blake3::Hasher::new();
        let mut list = Vec::new();
        let reader = FileReader { file, at: 0 };
        for chunk in StreamCDC::new(reader, CHUNK_LEAST, CHUNK_USUAL, CHUNK_MOST) {
            let bytes = chunk.map_err(|error| read_error(file, error.into()))?.data;
            whole.update(&bytes);
            let id = self.put_bytes(&bytes)?;
            list.extend_from_slice(&id.0);
            let length = u32::try_from(bytes.len()).expect("a chunk has a largest size");
            list.extend_from_slice(&length.to_le_bytes());
        }
        let id = ContentId(*whole.finalize().as_bytes());
        self.put_record(Kind::Chunks, id, &list)?;
        Ok(id)
    }

    fn state(&self) -> MutexGuard<'_, State<'s>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const CHUNK_LEAST: usize = 16 << 10;
const CHUNK_USUAL: usize = 64 << 10;
const CHUNK_MOST: usize = 256 << 10;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

fn hash(file: &File<'_>) -> Result<ContentId> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut at = 0;
    loop {
        let count = file.read_at(&mut buffer, at)?;
        if count == 0 {
            return Ok(ContentId(*hasher.finalize().as_bytes()));
        }
        hasher.update(&buffer[..count]);
        at += count as u64;
    }
}

struct FileReader<'f, 'a> {
    file: &'f File<'a>,
    at: u64,
}

impl Read for FileReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at).map_err(|error| error.source)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn read_error(file: &File<'_>, source: io::Error) -> Error {
    fs_sys::Error::from_io("read", file.place().path(), source).into()
}
