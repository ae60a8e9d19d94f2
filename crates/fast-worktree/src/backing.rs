//! What a tree's files are for its backend, as its row says it.

use std::path::Path;

use backend::{Active, Backend as _, Btrfs, Kind};
use pool_db::Worktree as Row;

use crate::api::ApiError;

/// Whether the tree's files are a subvolume.
fn is_subvolume(row: &Row) -> bool {
    row.backend == Kind::Btrfs.name()
}

/// Removes the tree's files, wherever a making or a removal has put them.
pub(crate) fn remove_files(row: &Row) -> Result<(), ApiError> {
    let making = row.making_path.as_deref();
    if is_subvolume(row) {
        let half_made = making.map(|path| path.join(row.id.as_str()));
        for path in row.trash_path.as_deref().into_iter().chain(half_made.as_deref()) {
            remove_subvolume(path)?;
        }
    }
    for path in row.trash_path.as_deref().into_iter().chain(making) {
        fs_sys::remove_tree(path)?;
    }
    Ok(())
}

fn remove_subvolume(path: &Path) -> Result<(), ApiError> {
    let active = Active { kind: Kind::Btrfs, path: path.to_owned(), overlay: None };
    Ok(Btrfs.remove(&active)?)
}
