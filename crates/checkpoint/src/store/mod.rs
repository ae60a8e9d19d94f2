//! The content store: bytes by their blake3, written once, checked whenever they are read.
//!
//! ```text
//! format          the version, one line
//! lock            shared by whoever writes, from before its first look until what it wrote is named
//!                 in a log; a collection takes it for an instant, to see that nobody is half way
//! packs/ID.pack   small contents and chunks, compressed, appended one after the other (`record`)
//! packs/ID.index  where they are in it; with it the pack is sealed, and never grows again (`index`)
//! whole/AB/HASH   a large file as itself, sharing its blocks with the tree where that can be
//! tmp/            what is not yet whole; what a dead process left goes with the next collection
//! condemned       what the next collection removes, if nothing has come to need it (`collect`)
//! ```
//!
//! A pack is written by one process at a time, whoever has the lock on it; others begin one of their
//! own, so that nobody waits. What counts in it ends at its last commit record, which is written when
//! all before it is on the disk: what a killed process leaves behind that is no content. Nothing is
//! ever cut off or overwritten.

mod collect;
mod id;
mod index;
mod pack;
mod read;
mod record;
#[cfg(test)]
mod tests;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_sys::{Dir, ErrorKind, FileLock, Mode, Sharing, try_lock};

pub use self::collect::{Collected, Grace};
pub use self::id::ContentId;
pub use self::read::Reader;
pub use self::write::{Origin, Writer};
use crate::error::{Error, Result};

/// Contents up to this size are one record of a pack; larger ones are shared or cut into chunks.
pub const SMALL_BYTES: u64 = 1 << 20;

const FORMAT: &[u8] = b"fwt-checkpoint-store 1\n";
const PRIVATE_DIR: Mode = Mode(0o700);
const PRIVATE_FILE: Mode = Mode(0o600);

/// The contents that checkpoints of one file system share.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    packs: Dir,
    whole: Dir,
    tmp: Dir,
}

/// Says that a process is between its first look into the store and the end of its writing. No
/// content that is there now goes while this lives.
#[derive(Debug)]
pub struct InUse(#[expect(dead_code, reason = "dropping it gives the lock up")] FileLock);

impl Store {
    /// The store at `root`, made if it is not there.
    pub fn open(root: &Path) -> Result<Self> {
        fs_sys::make_dirs(root, PRIVATE_DIR)?;
        for name in ["packs", "whole", "tmp"] {
            make_dir(&root.join(name))?;
        }
        let format = root.join("format");
        if !fs_sys::exists(&format)? {
            // Whoever is first writes the same bytes.
            let temporary = OsString::from(format!("format.{}", random_name()?));
            fs_sys::replace_file(&format, &temporary, FORMAT, PRIVATE_FILE)?;
        }
        Self::open_existing(root)
    }

    /// The store at `root`; nothing is written.
    pub fn open_existing(root: &Path) -> Result<Self> {
        let format = root.join("format");
        if fs_sys::read_file(&format)? != FORMAT {
            return Err(Error::UnknownFormat { path: format });
        }
        let open = |name: &str| fs_sys::open_dir(&root.join(name));
        let root = root.to_owned();
        Ok(Self { packs: open("packs")?, whole: open("whole")?, tmp: open("tmp")?, root })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keeps collections from taking away what is there now.
    pub fn lock_in_use(&self) -> Result<InUse> {
        // A collection has it for an instant only; still, no prompt waits for one that hangs.
        wait_for_lock(&self.root.join("lock"), Sharing::Shared, LOCK_WAIT).map(InUse)
    }
}

const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Takes a lock that others hold for short times only.
pub(crate) fn wait_for_lock(path: &Path, sharing: Sharing, wait: Duration) -> Result<FileLock> {
    let mut waited = Duration::ZERO;
    loop {
        if let Some(lock) = try_lock(path, sharing)? {
            return Ok(lock);
        }
        if waited >= wait {
            return Err(Error::Busy { path: path.to_owned() });
        }
        std::thread::sleep(LOCK_POLL);
        waited += LOCK_POLL;
    }
}

fn make_dir(path: &Path) -> fs_sys::Result<()> {
    match fs_sys::make_dir(path, PRIVATE_DIR) {
        Err(error) if error.kind != ErrorKind::Exists => Err(error),
        _ => Ok(()),
    }
}

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A name that nothing else has: 80 random bits.
pub(crate) fn random_name() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    // 256 is a multiple of 32, so every character is equally likely.
    Ok(bytes.map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).iter().collect())
}

/// Fills as much of `buffer` as the file has from `offset` on.
fn read_full(file: &fs_sys::File<'_>, buffer: &mut [u8], offset: u64) -> fs_sys::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
