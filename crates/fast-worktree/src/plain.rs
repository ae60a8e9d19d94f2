//! What fwt keeps of a copy of a plain directory: in it there is no place for a marker, so marker and
//! manifest are in `FWT_HOME/plain/<id>`.

use std::path::{Path, PathBuf};

use pool_db::{Registry, Worktree as Row, marker};

use crate::row::git_dir;

/// The directory for a worktree's marker and manifest.
pub(crate) fn state_dir(registry: &Registry, row: &Row) -> PathBuf {
    parent(registry).join(row.id.as_str())
}

/// Where fwt's own files of a worktree are, whatever kind it is.
pub(crate) fn kept_dir(registry: &Registry, row: &Row) -> PathBuf {
    if row.is_plain() { state_dir(registry, row) } else { git_dir(row, &row.path) }
}

/// Whether what is at `tree` is this very copy: the directory is the one that was made, and its marker
/// is ours.
pub(crate) fn is_tree_of(registry: &Registry, row: &Row, tree: &Path) -> bool {
    let is_same = crate::identity::of(tree).is_ok_and(|found| Some(found) == row.directory);
    is_same
        && marker::read(&state_dir(registry, row).join(marker::FILE_NAME))
            .is_ok_and(|found| (found.id, &found.nonce) == (row.id, &row.nonce))
}

/// The markers of all copies of plain directories.
pub(crate) fn markers(registry: &Registry) -> Vec<Row> {
    let parent = parent(registry);
    let entries = fs_sys::list(&parent).unwrap_or_default();
    let markers = entries.into_iter().map(|(name, _)| parent.join(name).join(marker::FILE_NAME));
    markers.filter_map(|path| marker::read(&path).ok()).collect()
}

fn parent(registry: &Registry) -> PathBuf {
    registry.path().parent().unwrap_or(Path::new("/")).join("plain")
}
