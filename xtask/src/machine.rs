//! What this machine is: its system, its user, its programs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::require_output;

/// Who runs us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// May mount, install packages, and become somebody else.
    Root,
    /// May do none of these.
    Plain,
}

/// Asks `id`, which says it the same way on every system.
pub(crate) fn load_user() -> anyhow::Result<User> {
    let output = require_output(Command::new("id").arg("-u"))?;
    Ok(if output.trim_ascii() == b"0" { User::Root } else { User::Plain })
}

/// Whether loop devices and the like can be expected.
pub(crate) fn is_linux() -> bool {
    std::env::consts::OS == "linux"
}

/// Finds a program in PATH, and in the directories of root's programs, which a plain user's PATH
/// often lacks.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

/// Whether every user can enter this directory: each one above it must allow it too.
pub(crate) fn is_world_traversable(directory: &Path) -> bool {
    const OTHERS_MAY_ENTER: u32 = 0o001;
    directory.ancestors().all(|ancestor| {
        ancestor
            .metadata()
            .is_ok_and(|metadata| metadata.permissions().mode() & OTHERS_MAY_ENTER != 0)
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
