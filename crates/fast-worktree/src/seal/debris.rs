//! What sealings that died have left in a store.

use std::path::{Path, PathBuf};

use fs_sys::{Sharing, try_lock};

use super::make::remove;
use super::{RECORD, load};
use crate::api::ApiError;

/// Directories of sealed trees that are not whole and that nobody is working on.
pub(crate) fn half_sealed(store: &Path) -> Result<Vec<PathBuf>, ApiError> {
    let parent = store.join("sealed");
    let mut found = Vec::new();
    for (name, kind) in fs_sys::list(&parent).unwrap_or_default() {
        let path = parent.join(name);
        let is_whole = || fs_sys::exists(&path.join(RECORD));
        if kind == fs_sys::Kind::Directory && !is_whole()? && is_free(&path)? {
            found.push(path);
        }
    }
    Ok(found)
}

/// Removes one, unless somebody has begun to make it again.
pub(crate) fn remove_half_sealed(directory: &Path) -> Result<(), ApiError> {
    let Some(_lock) = try_lock(&lock_of(directory), Sharing::Exclusive)? else { return Ok(()) };
    if load(directory)?.is_none() { remove(directory) } else { Ok(()) }
}

fn is_free(directory: &Path) -> Result<bool, ApiError> {
    Ok(try_lock(&lock_of(directory), Sharing::Exclusive)?.is_some())
}

/// The lock of a sealed tree, by its directory or the one it is made in.
fn lock_of(directory: &Path) -> PathBuf {
    directory.with_extension("lock")
}
