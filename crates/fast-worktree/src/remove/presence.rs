//! Whether a worktree's directory and registration are there, and are its own.

use std::path::{Path, PathBuf};

use fs_sys::ErrorKind;
use git_cli::{ADMIN_PARENT, Admin};
use pool_db::{Registry, Worktree as Row, marker};

use crate::api::{ApiError, Code};
use crate::backing;
use crate::dispose::is_tree_of;

/// How much of a tree is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Directory and registration, each naming the other.
    Whole,
    /// No directory: removed by git or by hand.
    Gone,
}

/// What is there of the tree; an error if something else has its place.
pub(crate) fn presence(registry: &Registry, row: &Row) -> Result<Presence, ApiError> {
    if row.trash_path.is_none() {
        // After a reboot nothing is mounted, and what was written there would not be seen.
        backing::attach(row)?;
    }
    let admin = row.admin_dir.clone().map(|path| Admin { path });
    let is_there = match fs_sys::stat(&row.path) {
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => false,
        found => found.map(|_| true)?,
    };
    if let Some(place) = admin.as_ref().and_then(|admin| registered_elsewhere(row, admin)) {
        return Err(not_ours(row, &format!("it was moved to {}", place.display())));
    }
    if !is_there {
        return Ok(Presence::Gone);
    }
    let Some(admin) = admin else {
        return match (is_tree_of(registry, row, &row.path), row.is_plain()) {
            (true, _) => Ok(Presence::Whole),
            (false, true) => Err(not_ours(row, "it is another directory, or its marker is gone")),
            (false, false) => Err(not_ours(row, "its repository does not hold our marker")),
        };
    };
    if !is_tree_of(registry, row, &row.path) {
        if fs_sys::exists(&admin.path)? {
            return Err(not_ours(row, "its .git names another repository"));
        }
        // git took the tree away, registration and all; what has its place now is somebody else's.
        return Ok(Presence::Gone);
    }
    let marker = marker::read(&admin.path.join(marker::FILE_NAME))
        .map_err(|_| not_ours(row, "its marker is missing"))?;
    if (marker.id, &marker.nonce) != (row.id, &row.nonce) {
        return Err(not_ours(row, "its marker names another worktree"));
    }
    Ok(Presence::Whole)
}

/// The error for something that has the worktree's place and is not the worktree.
pub(crate) fn not_ours(row: &Row, what: &str) -> ApiError {
    let text = format!("{} is not the worktree that fwt made: {what}", row.path.display());
    ApiError::new(Code::NotOurs, text).with_hint("fwt leaves it alone; move it away first")
}

/// An error if anything is mounted at or below `tree`: what is mounted there is not the tree's.
pub(crate) fn require_no_mount(row: &Row, tree: &Path) -> Result<(), ApiError> {
    let Some(mount) = find_mount(row, tree)? else { return Ok(()) };
    // While it is looked at aside, a person knows it by its own place.
    let shown = mount.strip_prefix(tree).map_or(mount.clone(), |below| row.path.join(below));
    let text = format!(
        "worktree {} at {} is kept: something is mounted at {}",
        row.name,
        row.path.display(),
        shown.display()
    );
    Err(ApiError::new(Code::MountInside, text)
        .with_hint(format!("unmount it first: umount {}", shown.display())))
}

/// Something that is mounted at or below `tree`, unless it is the tree itself.
fn find_mount(row: &Row, tree: &Path) -> Result<Option<PathBuf>, ApiError> {
    let dir = fs_sys::open_dir(tree)?;
    if !backing::is_overlay(row)
        && let Some(above) = tree.parent()
        && fs_sys::mount_id(&dir)? != fs_sys::mount_id(&fs_sys::open_dir(above)?)?
    {
        return Ok(Some(tree.to_owned()));
    }
    match fs_sys::mount_inside(&dir, tree) {
        // Where the system does not say, the removal itself stops at the mount.
        Err(error) if error.kind == ErrorKind::Unsupported => Ok(None),
        found => Ok(found?),
    }
}

/// An error if other worktrees have their repository in the tree at `tree`: they, and commits that are in
/// them alone, would go with it. That is not for whoever discards this one to decide.
pub(crate) fn require_no_worktrees(row: &Row, tree: &Path) -> Result<(), ApiError> {
    if row.admin_dir.is_some() || row.is_plain() {
        return Ok(());
    }
    let entries = match fs_sys::list(&tree.join(".git").join(ADMIN_PARENT)) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    if entries.is_empty() {
        return Ok(());
    }
    let text = format!(
        "worktree {} at {} is kept: it is the repository of {} other worktrees",
        row.name,
        row.path.display(),
        entries.len()
    );
    Err(ApiError::new(Code::UnsavedWork, text).with_hint(format!(
        "remove those first: git -C {} worktree list names them",
        row.path.display()
    )))
}

/// Where git has the tree registered, if that is another place where something is.
fn registered_elsewhere(row: &Row, admin: &Admin) -> Option<PathBuf> {
    let place = admin.tree().ok()?;
    (place != row.path && fs_sys::exists(&place).unwrap_or(true)).then_some(place)
}
