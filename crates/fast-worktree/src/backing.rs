//! What a tree's files are for its backend, as its row says it: a directory, a subvolume, or a mount.

use std::path::{Path, PathBuf};

use backend::{Active, Backend as _, Btrfs, Changes, Kind, Overlay, Sealed, Stack};
use pool_db::Worktree as Row;

use crate::api::ApiError;
use crate::seal;

/// Why git has a mounted tree locked for as long as it is: it would take one that is not mounted for gone,
/// and half remove one that is.
pub(crate) const MOUNTED_REASON: &str = "fwt mounts this worktree: remove it with fwt rm";

/// Whether the tree is an overlay, whose directory is only a mount point.
pub(crate) fn is_overlay(row: &Row) -> bool {
    row.backend == Kind::Overlay.name()
}

/// The store that a tree over a sealed one is in.
pub(crate) fn store(row: &Row) -> Option<PathBuf> {
    row.sealed.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned)
}

/// Where what an overlay has besides its files is, in the store of its sealed tree.
pub(crate) fn private_dir(sealed: &Path, row: &Row) -> PathBuf {
    let store = sealed.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    private_dir_in(store, row.id.as_str())
}

/// The same by the worktree's id.
pub(crate) fn private_dir_in(store: &Path, id: &str) -> PathBuf {
    store.join("uppers").join(id)
}

/// The overlay, mounted at `path` or to be; `None` if the tree is none, or not yet.
pub(crate) fn overlay_at(row: &Row, path: &Path) -> Result<Option<Active>, ApiError> {
    let Some(sealed) = row.sealed.as_ref().filter(|_| is_overlay(row)) else { return Ok(None) };
    // To unmount and remove it, its layers need not be there.
    let Sealed { layers } = seal::layers(sealed)?.unwrap_or(Sealed { layers: Vec::new() });
    let stack = Stack { layers, private: private_dir(sealed, row) };
    let path = path.to_owned();
    Ok(Some(Active { kind: Kind::Overlay, path, overlay: Some(stack) }))
}

/// What differs in the tree, which is at `tree` now, from what it stands on; `None` where only a comparison
/// of everything can tell.
pub(crate) fn changes(row: &Row, tree: &Path) -> Result<Option<Changes>, ApiError> {
    match overlay_at(row, tree)? {
        Some(active) => Ok(Overlay.changed(&active)?),
        None => Ok(None),
    }
}

/// Mounts the tree if it should be and is not. Says whether it was mounted just now.
pub(crate) fn attach(row: &Row) -> Result<bool, ApiError> {
    let Some(active) = overlay_at(row, &row.path)? else { return Ok(false) };
    if Overlay.is_attached(&active)? {
        return Ok(false);
    }
    Overlay.attach(&active)?;
    Ok(true)
}

/// Whether the tree can be reached: an overlay only while it is mounted.
pub(crate) fn is_attached(row: &Row) -> Result<bool, ApiError> {
    match overlay_at(row, &row.path)? {
        None => Ok(true),
        Some(active) => Ok(Overlay.is_attached(&active)?),
    }
}

/// Where the tree's files are once it was moved aside to `trash`. A mount point cannot be renamed: the
/// tree is mounted anew, in a directory there.
pub(crate) fn aside(row: &Row, trash: &Path) -> PathBuf {
    if is_overlay(row) { trash.join(row.id.as_str()) } else { trash.to_owned() }
}

/// Moves the tree to `trash`, where nobody finds it by its path. An overlay that is in use stays.
pub(crate) fn move_aside(row: &Row, trash: &Path) -> Result<(), ApiError> {
    let (here, there) = (overlay_at(row, &row.path)?, overlay_at(row, &aside(row, trash))?);
    let (Some(here), Some(there)) = (here, there) else {
        return Ok(fs_sys::rename_noreplace(&row.path, trash)?);
    };
    Overlay.detach(&here)?;
    fs_sys::make_dir(trash, fs_sys::Mode(0o700))?;
    Ok(Overlay.attach(&there)?)
}

/// Mounts an overlay that was moved aside at its own place again; one that was not is there.
pub(crate) fn mount_back(row: &Row, trash: &Path) -> Result<(), ApiError> {
    if let Some(there) = overlay_at(row, &aside(row, trash))? {
        Overlay.detach(&there)?;
        Overlay.remove_point(&there)?;
        fs_sys::remove_tree(trash)?;
    }
    attach(row).map(drop)
}

/// Removes the tree's files, wherever a making or a removal has put them.
pub(crate) fn remove_files(row: &Row) -> Result<(), ApiError> {
    let making = row.making_path.as_deref();
    if row.backend == Kind::Btrfs.name() {
        let half_made = making.map(|path| path.join(row.id.as_str()));
        for path in row.trash_path.as_deref().into_iter().chain(half_made.as_deref()) {
            let active = Active { kind: Kind::Btrfs, path: path.to_owned(), overlay: None };
            Btrfs.remove(&active)?;
        }
    }
    let aside = row.trash_path.as_deref().map(|trash| aside(row, trash));
    for path in aside.iter().chain([&row.path]) {
        if let Some(active) = overlay_at(row, path)? {
            Overlay.remove(&active)?;
        }
    }
    if let Some(making) = making.filter(|path| fs_sys::exists(path).unwrap_or(true)) {
        // What a probe left that was killed there may be a mount or a read-only subvolume.
        backend::clear_scratch(making)?;
    }
    for path in row.trash_path.as_deref().into_iter().chain(making) {
        fs_sys::remove_tree(path)?;
    }
    Ok(())
}
