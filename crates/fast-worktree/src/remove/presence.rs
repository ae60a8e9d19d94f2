//! Whether a worktree's directory and registration are there, and are its own.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
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
    let mounts = match fs_sys::read_file(Path::new("/proc/self/mountinfo")) {
        Ok(mounts) => mounts,
        // Where the system does not say, the removal itself stops at the mount.
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // The tree itself may be one.
    let is_inside =
        |point: &PathBuf| point.starts_with(tree) && !(backing::is_overlay(row) && point == tree);
    let Some(mount) = mount_points(&mounts).find(is_inside) else {
        return Ok(());
    };
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

/// The mount points in `proc_pid_mountinfo(5)`: the fifth field, with awkward bytes as `\ooo`.
fn mount_points(mountinfo: &[u8]) -> impl Iterator<Item = PathBuf> {
    mountinfo.split(|byte| *byte == b'\n').filter_map(|line| {
        let field = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(unescape(field))))
    })
}

fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [byte, after @ ..] = rest {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let escaped = escaped.filter(|_| *byte == b'\\');
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_whatever_is_in_their_names() {
        let text = b"22 1 0:20 / /proc rw - proc proc rw\n\
            30 22 254:0 /x /a\\040b\\134c\\012d rw,nosuid shared:1 - ext4 /dev/vda rw\n\n";
        let points: Vec<PathBuf> = mount_points(text).collect();
        assert_eq!(points, [Path::new("/proc"), Path::new("/a b\\c\nd")]);
    }
}
