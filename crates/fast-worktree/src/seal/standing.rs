//! Who stands on a sealed tree: the worktrees that are named in it, whatever home they belong to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Mode, Sharing, try_lock};
use pool_db::{Registry, WorktreeId};

use super::{Held, SEALED, TREE, TREES, lock_of, record};
use crate::api::ApiError;
use crate::backing::private_dir_in;

impl Held {
    /// Writes down that a worktree of `home` stands on it. After its row and before its first file, so
    /// that a crash leaves a name too many rather than one too few.
    pub(crate) fn add_tree(&self, id: WorktreeId, home: &Path) -> Result<(), ApiError> {
        let path = name_of_tree(&self.directory, id.as_str());
        Ok(fs_sys::write_new(&path, home.as_os_str().as_bytes(), Mode(0o600))?)
    }
}

/// Writes down that the worktree is gone.
pub(crate) fn remove_tree_of(directory: &Path, id: WorktreeId) -> Result<(), ApiError> {
    remove_name(&name_of_tree(directory, id.as_str()))
}

fn name_of_tree(directory: &Path, id: &str) -> PathBuf {
    directory.join(TREES).join(id)
}

fn remove_name(path: &Path) -> Result<(), ApiError> {
    match fs_sys::remove_file(path) {
        Err(error) if error.kind != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The ids of the worktrees that are named in a sealed tree.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, ApiError> {
    let mut names: Vec<String> = match fs_sys::list(&directory.join(TREES)) {
        Err(error) if error.kind == ErrorKind::NotFound => Vec::new(),
        listed => listed?.into_iter().map(|(name, _)| name.to_string_lossy().into()).collect(),
    };
    names.sort();
    Ok(names)
}

/// A name in a sealed tree whose worktree is no more.
#[derive(Debug)]
pub(crate) struct Stale {
    pub(crate) id: String,
    pub(crate) sealed: PathBuf,
}

/// The names in the sealed trees of a store whose worktrees are known to be gone: of an overlay by the
/// layer that it wrote to, which is in this store whosever it was; of a snapshot, which may be anywhere, by
/// the registry of `home`, if it is that home's.
pub(crate) fn stale_names(
    store: &Path,
    (registry, home): (&Registry, &Path),
) -> Result<Vec<Stale>, ApiError> {
    let mut stale = Vec::new();
    for (sealed, _) in record::list(&store.join(SEALED))? {
        for id in names(&sealed)? {
            if is_stale(store, &sealed, &id, (registry, home))? {
                stale.push(Stale { id, sealed: sealed.clone() });
            }
        }
    }
    Ok(stale)
}

fn is_stale(
    store: &Path,
    sealed: &Path,
    id: &str,
    (registry, home): (&Registry, &Path),
) -> Result<bool, ApiError> {
    let named = match fs_sys::read_file(&name_of_tree(sealed, id)) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(false),
        read => read?,
    };
    // A name is written after the row, and removed before it.
    let is_ours = OsStr::from_bytes(&named) == home.as_os_str();
    let known = match id.parse::<WorktreeId>() {
        Ok(id) => registry.get(id)?,
        Err(_) => None,
    };
    if known.is_some() {
        return Ok(false);
    }
    if fs_sys::is_subvolume_root(&fs_sys::open_dir(&sealed.join(TREE))?)? {
        return Ok(is_ours);
    }
    // Whoever makes a tree has the lock until the tree has a layer of its own.
    let lock = try_lock(&lock_of(sealed), Sharing::Exclusive)?;
    Ok(lock.is_some() && !fs_sys::exists(&private_dir_in(store, id))?)
}

/// Removes such a name.
pub(crate) fn remove_stale(stale: &Stale) -> Result<(), ApiError> {
    remove_name(&name_of_tree(&stale.sealed, &stale.id))
}
