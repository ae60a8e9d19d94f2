//! What sealings that died have left in a store.

use std::path::{Path, PathBuf};

use fs_sys::{Sharing, try_lock};

use super::make::remove;
use super::{KEY_LENGTH, SEALED, lock_of, record};
use crate::api::ApiError;

/// Directories of sealed trees that are not whole and that nobody is working on.
pub(crate) fn half_sealed(store: &Path) -> Result<Vec<PathBuf>, ApiError> {
    let parent = store.join(SEALED);
    let mut found = Vec::new();
    for (name, kind) in fs_sys::list(&parent).unwrap_or_default() {
        let path = parent.join(name);
        let is_ours = kind == fs_sys::Kind::Directory && is_name_of_ours(&path);
        if is_ours && is_half_sealed(&path)? && is_free(&path)? {
            found.push(path);
        }
    }
    Ok(found)
}

/// Removes one, unless somebody has begun to make it again.
pub(crate) fn remove_half_sealed(directory: &Path) -> Result<(), ApiError> {
    let path = lock_of(directory);
    let Some(_lock) = try_lock(&path, Sharing::Exclusive)? else { return Ok(()) };
    if is_half_sealed(directory)? { remove(directory) } else { Ok(()) }
}

/// Whether a sealing could have given this name: what anybody else puts there is left alone.
fn is_name_of_ours(directory: &Path) -> bool {
    let name = directory.file_stem().unwrap_or_default().to_string_lossy();
    let key = name.rsplit('-').next().unwrap_or_default();
    let before = &name[..name.len() - key.len()];
    ["", "ignored-", "stack-"].contains(&before)
        && key.len() == KEY_LENGTH
        && key.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Without its record, or under the name that it has while it is made or removed.
fn is_half_sealed(directory: &Path) -> Result<bool, ApiError> {
    let is_whole = || fs_sys::exists(&directory.join(record::FILE_NAME));
    Ok(directory.extension().is_some() || !is_whole()?)
}

fn is_free(directory: &Path) -> Result<bool, ApiError> {
    Ok(try_lock(&lock_of(directory), Sharing::Exclusive)?.is_some())
}
