//! Taking away everything that the row of a worktree in state `Removing` names.

use std::path::Path;

use fs_sys::{ErrorKind, Kind, Mode};
use git_cli::{ADMIN_PARENT, Admin, Context, Git};
use pool_db::{Registry, Worktree as Row, marker};

use crate::api::{ApiError, Code};
use crate::{backing, plain, seal};

/// Takes it away: registration first, so that git never sees a worktree that is half gone, then
/// files, then the row. What a process that died began is taken up where it stopped.
pub(crate) fn dispose(git: &Git, registry: &Registry, row: &Row) -> Result<(), ApiError> {
    let was_finished = row.trash_path.is_some();
    if !was_finished && !backing::is_overlay(row) {
        take_back(registry, row)?;
    }
    if let Some(admin) = &row.admin_dir {
        Admin { path: admin.clone() }.unregister()?;
        fs_sys::remove_tree(admin)?;
        remove_if_empty(&row.repository.common_dir.join(ADMIN_PARENT))?;
    }
    backing::remove_files(row)?;
    if let Some(sealed) = &row.sealed {
        seal::remove_tree_of(sealed, row.id)?;
    }
    if !was_finished && let Some(branch) = &row.branch {
        delete_branch(git, row, branch)?;
    }
    if row.is_plain() {
        fs_sys::remove_tree(&plain::state_dir(registry, row))?;
    }
    match registry.delete(row.id, row.epoch) {
        // Somebody else has finished it meanwhile.
        Err(pool_db::Error::NoSuchWorktree { .. }) => Ok(()),
        deleted => Ok(deleted?),
    }
}

/// The first line in the log of a branch that is made for a worktree: it says whose it is.
pub(crate) fn branch_message(row: &Row) -> String {
    format!("fwt: made for worktree {}", row.id)
}

/// Whether what is at `tree` is this very worktree: its `.git` names the admin directory, whose name
/// is the worktree's id.
pub(crate) fn is_tree_of(registry: &Registry, row: &Row, tree: &Path) -> bool {
    if row.is_plain() {
        return plain::is_tree_of(registry, row, tree);
    }
    let Some(admin) = &row.admin_dir else {
        // A standalone tree has its marker in its own repository.
        let marker = marker::read(&tree.join(".git").join(marker::FILE_NAME));
        return marker.is_ok_and(|found| (found.id, &found.nonce) == (row.id, &row.nonce));
    };
    let admin = Admin { path: admin.clone() };
    fs_sys::read_file(&tree.join(".git")).is_ok_and(|content| content == admin.git_file())
}

/// A making that got as far as its place and no further goes back, so that nobody sees it go.
fn take_back(registry: &Registry, row: &Row) -> Result<(), ApiError> {
    let is_published = is_tree_of(registry, row, &row.path);
    let Some(wrapper) = row.making_path.as_deref().filter(|_| is_published) else {
        return require_foreign(registry, row);
    };
    // Of the last two steps of a making, the first takes the private directory away.
    match fs_sys::make_dir(wrapper, Mode(0o700)) {
        Err(error) if error.kind != ErrorKind::Exists => return Err(error.into()),
        _ => {}
    }
    Ok(fs_sys::rename_noreplace(&row.path, &wrapper.join(row.id.as_str()))?)
}

/// An error unless what is at the place of a making is known to be none of ours. A tree that could not
/// be read for a moment would else stay there, and no row would name it.
fn require_foreign(registry: &Registry, row: &Row) -> Result<(), ApiError> {
    use ErrorKind::{Denied, Link, NameTooLong, NotADirectory, NotFound};
    let git = row.path.join(".git");
    let file = if row.admin_dir.is_some() { git } else { git.join(marker::FILE_NAME) };
    let found = fs_sys::stat(&file).and_then(|stat| {
        if stat.kind == Kind::File { fs_sys::read_file(&file) } else { Ok(vec![]) }
    });
    match found {
        Err(error) if matches!(error.kind, NotFound | NotADirectory | Link | NameTooLong) => Ok(()),
        Err(error) if error.kind != Denied => Err(error.into()),
        _ if row.making_path.is_some() && is_tree_of(registry, row, &row.path) => {
            let text = format!("{} could not be read, and now it can", file.display());
            Err(ApiError::new(Code::Failed, text))
        }
        _ => Ok(()),
    }
}

/// The branch goes if it was made for this worktree and is still where it was made.
fn delete_branch(git: &Git, row: &Row, branch: &str) -> Result<(), ApiError> {
    let Some(base) = &row.base else { return Ok(()) };
    let Some(commit) = git_cli::object::ObjectId::from_hex(&base.commit) else { return Ok(()) };
    let common_dir = &row.repository.common_dir;
    let context = Context::Explicit { git_dir: common_dir, work_tree: common_dir, index: None };
    if git.has_ref(context, &format!("refs/heads/{branch}"))?
        && git.is_branch_created_by(context, branch, &branch_message(row))?
    {
        git.delete_branch_at(context, branch, commit)?;
    }
    Ok(())
}

fn remove_if_empty(directory: &Path) -> Result<(), ApiError> {
    use ErrorKind::{Exists, NotEmpty, NotFound};
    // On a read-only file system even what is not there cannot be removed.
    if !fs_sys::exists(directory)? {
        return Ok(());
    }
    match fs_sys::remove_dir(directory) {
        Err(error) if !matches!(error.kind, NotEmpty | Exists | NotFound) => Err(error.into()),
        _ => Ok(()),
    }
}
