//! Sealed trees: images of a commit that never change, over which trees are made in no time.
//!
//! `<store>/sealed/<key>/` holds the files (`tree`), an index whose stat data is valid for them (`index`),
//! the manifest that removals compare with, and last of all `sealed.json`: without it nothing is sealed.
//! A later commit is sealed as what differs ([`compare`], [`difference`]): a layer over the layers of
//! another, or a snapshot of another in which that was changed.
//! `trees/` names the worktrees that stand on it, one file each, whatever `FWT_HOME` they belong to.
//! A lock beside it is held shared while a tree is made on it, and alone while it is made or removed.

mod ahead;
mod base;
mod compare;
mod debris;
mod difference;
mod evict;
mod ignored;
mod image;
mod key;
mod make;
mod record;
mod standing;
mod usage;
mod verify;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use backend::{Kind, Sealed};
use fs_sys::{Dir, ErrorKind, FileLock, Mode, Sharing, Time, try_lock};

pub(crate) use self::debris::{half_sealed, remove_half_sealed};
pub(crate) use self::evict::{evict, sweep_locks};
pub(crate) use self::ignored::IgnoredRoot;
pub(crate) use self::image::Image;
use self::key::LENGTH as KEY_LENGTH;
use self::record::{Content, Record};
pub(crate) use self::standing::{remove_stale, remove_tree_of, stale_names};
pub(crate) use self::usage::usage;
pub(crate) use self::verify::altered;
use crate::api::{ApiError, Stats};
use crate::create::Order;
use crate::limits::Limits;
use crate::manifest::{self, Provisioned};
use crate::place;
use crate::service::Service;

/// How often a lock is tried for.
const POLL: Duration = Duration::from_millis(10);

/// A sealed tree that stays as long as this is held.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) directory: PathBuf,
    pub(crate) sealed: Sealed,
    /// The same by the names of the sealed trees that they are of.
    layers: Vec<String>,
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
        let what = (start.commit, kind);
        let key = key::of(&self.git, source, what, rules.request.lfs)?;
        let parent = store.join(SEALED);
        if !fs_sys::exists(&parent)? {
            place::mark(store)?;
            fs_sys::make_dirs(&parent, Mode(0o700))?;
        }
        let directory = parent.join(&key.name);
        let lock = lock_of(&directory);
        let mut made = None;
        loop {
            let shared = self.wait_for(&lock, Sharing::Shared)?;
            if let Some(record) = record::load(&directory)? {
                if made.is_some() {
                    self.make_room(store, order.limits);
                }
                return Ok(Held::new(directory, record, made, shared));
            }
            drop(shared);
            let alone = self.wait_for(&lock, Sharing::Exclusive)?;
            if record::load(&directory)?.is_none() {
                match self.make_sealed(order, (kind, &key), &directory) {
                    Ok(stats) => made = Some(stats),
                    Err(error) => {
                        alone.remove(&lock)?;
                        return Err(error);
                    }
                }
            }
        }
    }

    /// The sealed tree in `directory`, which somebody's tree stands on; `None` if it is gone.
    pub(crate) fn hold_sealed(&self, directory: &Path) -> Result<Option<Held>, ApiError> {
        let lock = self.wait_for(&lock_of(directory), Sharing::Shared)?;
        let record = record::load(directory)?;
        Ok(record.map(|record| Held::new(directory.to_owned(), record, None, lock)))
    }

    /// Removes what is over the limits now that one more is sealed, as far as that
    /// can be done: the sealed tree is good whether it can or not.
    fn make_room(&self, store: &Path, limits: Limits) {
        if let Err(error) = evict(store, limits, (&self.settings.home, self.now())) {
            tracing::warn!(%error, "nothing can be evicted");
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
    fn new(directory: PathBuf, record: Record, made: Option<Stats>, lock: FileLock) -> Self {
        let sealed = record.sealed(&directory);
        let Content { files, bytes } = record.total;
        Self { directory, sealed, layers: record.layers, files, bytes, made, _lock: lock }
    }

    /// Its index.
    pub(crate) fn index(&self) -> PathBuf {
        self.directory.join(INDEX)
    }
}

/// Where sealed trees are in a store.
const SEALED: &str = "sealed";

const INDEX: &str = "index";
const TREE: &str = "tree";
const TREES: &str = "trees";

/// The lock of a sealed tree, by its directory or the one it is made in.
fn lock_of(directory: &Path) -> PathBuf {
    directory.with_extension("lock")
}

/// The name of the directory, by which others know it.
fn name_of(directory: &Path) -> Option<String> {
    directory.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// When a tree was last put on it, or taken from it; where that cannot be told, long ago.
fn last_used(directory: &Path) -> Time {
    let found = fs_sys::stat(&directory.join(TREES));
    found.map_or(Time { seconds: 0, nanos: 0 }, |stat| stat.mtime)
}

/// What was provisioned in a tree that stands on the sealed tree in `directory`.
pub(crate) fn provisioned(directory: &Path) -> Result<Vec<Provisioned>, ApiError> {
    manifest::load(&directory.join(manifest::FILE_NAME))
}

/// The layers of the sealed tree in `directory`; `None` if there is none.
pub(crate) fn layers(directory: &Path) -> Result<Option<Sealed>, ApiError> {
    Ok(record::load(directory)?.map(|record| record.sealed(directory)))
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
