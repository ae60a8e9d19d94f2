//! Sealed trees: images of a commit that never change, over which trees are made in no time.
//!
//! `<store>/sealed/<key>/` holds the files (`tree`), an index whose stat data is valid for them (`index`),
//! the manifest that removals compare with, and last of all `sealed.json`: without it nothing is sealed.
//! `trees/` names the worktrees that stand on it, one empty file each, whatever `FWT_HOME` they belong to.
//! A lock beside it is held shared while a tree is made on it, and alone while it is made or removed.

mod debris;
mod ignored;
mod image;
mod key;
mod make;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use backend::{Kind, Sealed};
use fs_sys::{Dir, ErrorKind, FileLock, Mode, Sharing, try_lock};
use pool_db::WorktreeId;
use serde::{Deserialize, Serialize};

pub(crate) use self::debris::{half_sealed, remove_half_sealed};
pub(crate) use self::ignored::IgnoredRoot;
pub(crate) use self::image::Image;
use self::key::LENGTH as KEY_LENGTH;
use crate::api::{ApiError, Code, Stats};
use crate::create::Order;
use crate::manifest::{self, Provisioned};
use crate::place;
use crate::service::Service;

/// How often a lock is tried for.
const POLL: Duration = Duration::from_millis(10);

/// What `sealed.json` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    version: u32,
    sealed: Sealed,
    files: u64,
    bytes: u64,
}

const VERSION: u32 = 1;

/// A sealed tree that stays as long as this is held.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) directory: PathBuf,
    pub(crate) sealed: Sealed,
    /// Files and links in it, and their bytes.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// What it took to seal it, if that was done just now.
    pub(crate) made: Option<Stats>,
    _lock: FileLock,
}

impl Service {
    /// The sealed tree of what is ordered, made if there is none; for trees by `kind`.
    pub(crate) fn seal(
        &self,
        order: &Order<'_>,
        kind: Kind,
        store: &Path,
    ) -> Result<Held, ApiError> {
        let Order { rules, source, start, .. } = order;
        let environment = &self.settings.environment;
        let key = key::of(environment, source, start.commit, rules.request.lfs)?;
        let parent = store.join("sealed");
        if !fs_sys::exists(&parent)? {
            place::mark(store)?;
            fs_sys::make_dirs(&parent, Mode(0o700))?;
        }
        // A subvolume can be a layer too, but a directory is no parent of a snapshot.
        let name = if kind == Kind::Btrfs { format!("{key}-subvolume") } else { key };
        let directory = parent.join(&name);
        let lock = parent.join(format!("{name}.lock"));
        let mut made = None;
        loop {
            let shared = self.wait_for(&lock, Sharing::Shared)?;
            if let Some(record) = load(&directory)? {
                let Record { sealed, files, bytes, .. } = record;
                return Ok(Held { directory, sealed, files, bytes, made, _lock: shared });
            }
            drop(shared);
            let alone = self.wait_for(&lock, Sharing::Exclusive)?;
            if load(&directory)?.is_none() {
                made = Some(self.make_sealed(order, kind, &directory)?);
            }
            drop(alone);
        }
    }

    fn wait_for(&self, lock: &Path, sharing: Sharing) -> Result<FileLock, ApiError> {
        loop {
            if let Some(held) = try_lock(lock, sharing)? {
                return Ok(held);
            }
            self.cancelled()?;
            thread::sleep(POLL);
        }
    }
}

impl Held {
    /// Writes down that a worktree stands on it. Before its first file, so that a crash leaves a name too
    /// many rather than one too few.
    pub(crate) fn add_tree(&self, id: WorktreeId) -> Result<(), ApiError> {
        Ok(fs_sys::write_new(&name_of(&self.directory, id), b"", Mode(0o600))?)
    }

    /// Its index.
    pub(crate) fn index(&self) -> PathBuf {
        self.directory.join(INDEX)
    }
}

const INDEX: &str = "index";
const TREE: &str = "tree";
const TREES: &str = "trees";
const RECORD: &str = "sealed.json";

fn name_of(directory: &Path, id: WorktreeId) -> PathBuf {
    directory.join(TREES).join(id.as_str())
}

/// Writes down that the worktree is gone.
pub(crate) fn remove_tree_of(directory: &Path, id: WorktreeId) -> Result<(), ApiError> {
    match fs_sys::remove_file(&name_of(directory, id)) {
        Err(error) if error.kind != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// What was provisioned in a tree that stands on the sealed tree in `directory`.
pub(crate) fn provisioned(directory: &Path) -> Result<Vec<Provisioned>, ApiError> {
    manifest::load(&directory.join(manifest::FILE_NAME))
}

/// The layers of the sealed tree in `directory`; `None` if there is none.
pub(crate) fn layers(directory: &Path) -> Result<Option<Sealed>, ApiError> {
    Ok(load(directory)?.map(|record| record.sealed))
}

/// Leaves only the paths at which the sealed tree in `directory` may have something.
pub(crate) fn retain_sealed(directory: &Path, paths: &mut Vec<&[u8]>) -> Result<(), ApiError> {
    let Some(Sealed { layers }) = layers(directory)? else { return Ok(()) };
    let layers = layers.iter().map(|layer| fs_sys::open_dir(layer));
    let layers = layers.collect::<fs_sys::Result<Vec<Dir>>>()?;
    paths.retain(|path| {
        layers.iter().any(|layer| may_hold(layer, Path::new(OsStr::from_bytes(path))))
    });
    Ok(())
}

/// Whether a layer has something at the path, be it a mark that hides what is below; when in doubt it has.
fn may_hold(layer: &Dir, path: &Path) -> bool {
    let parent = layer.open_beneath(path.parent().unwrap_or(Path::new("")));
    let found =
        parent.and_then(|dir| fs_sys::stat_at(dir.at(path.file_name().unwrap_or_default())));
    !matches!(found, Err(error) if error.kind == ErrorKind::NotFound)
}

fn load(directory: &Path) -> Result<Option<Record>, ApiError> {
    let path = directory.join(RECORD);
    let json = match fs_sys::read_file(&path) {
        Ok(json) => json,
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let damaged =
        |why: String| ApiError::new(Code::Failed, format!("{} is damaged: {why}", path.display()));
    let record: Record =
        serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?;
    if record.version != VERSION {
        return Err(damaged(format!("its version is {}", record.version)));
    }
    Ok(Some(record))
}
