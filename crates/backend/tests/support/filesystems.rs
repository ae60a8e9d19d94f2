//! The file systems that a trial runs on.
#![expect(clippy::print_stderr, reason = "what a test skips or leaves is said on its stderr")]

use std::path::Path;

use tempfile::TempDir;

/// An empty directory that goes with all in it: a plain user's read-only directories too, which
/// `TempDir` leaves behind.
pub(crate) struct Room(TempDir);

impl Room {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = fs_sys::remove_tree(self.path()) {
            eprintln!("{error} stays behind");
        }
    }
}

/// Every variable that may name a directory on a file system.
pub(crate) const ALL: &[&str] =
    &["FWT_TEST_EXT4", "FWT_TEST_XFS", "FWT_TEST_BTRFS", "FWT_TEST_TMPFS"];

/// Runs `act` in an empty directory on each of the file systems that `variables` name. One that is
/// missing is said to be, and in CI it is a failure.
pub(crate) fn on_each(variables: &[&str], act: impl Fn(&str, &Path)) {
    for variable in variables {
        if let Some(directory) = directory_on(variable) {
            eprintln!("on {variable}");
            act(variable, directory.path());
        }
    }
}

/// An empty directory on the file system that `variable` names.
pub(crate) fn directory_on(variable: &str) -> Option<Room> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(Room(tempfile::tempdir_in(path).unwrap()));
    }
    skip(&format!("{variable} is not set"));
    None
}

/// Says that a trial is skipped, which in CI it may not be.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "in CI nothing may be skipped, but {why}");
    eprintln!("skipped: {why}");
}

/// Whether this is root, who alone can run a trial. The suite runs as root and as a plain user: for
/// the one it is said to be skipped, the other runs it.
pub(crate) fn is_root(what: &str) -> bool {
    let is_root = fs_sys::process::effective_user() == 0;
    if !is_root {
        eprintln!("skipped: only root {what}");
    }
    is_root
}
