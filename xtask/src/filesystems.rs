//! Filesystems for the tests: loop-mounted images and a tmpfs, made and removed as a set.

mod directory;
mod kinds;
mod loops;
mod mounts;
mod teardown;

use std::path::{Path, PathBuf};

use anyhow::bail;

pub(crate) use self::kinds::{Room, VARIABLES};
pub(crate) use self::mounts::load_kind_at;
use crate::machine::{self, User};
use crate::talk::{print_data, say};
use crate::workspace::Workspace;

/// Filesystems that are mounted; dropping this removes them.
#[derive(Debug)]
pub(crate) struct Filesystems {
    directory: PathBuf,
    available: Vec<Available>,
    at_end: AtEnd,
}

/// One mounted filesystem, by the variable that tests read.
#[derive(Clone, Debug)]
pub(crate) struct Available {
    /// Such as `FWT_TEST_EXT4`.
    pub(crate) variable: &'static str,
    /// Where it is mounted.
    pub(crate) path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtEnd {
    TakeDown,
    Leave,
}

/// Mounts every filesystem that this machine can make; what it cannot make is named on stderr,
/// with the reason. What an earlier run left mounted is used again.
pub(crate) fn bring_up(
    workspace: &Workspace,
    directory: Option<&Path>,
    room: Room,
) -> anyhow::Result<Filesystems> {
    require_ability()?;
    let directory = directory::prepare(workspace, directory)?;
    // From here on a failure must leave nothing mounted.
    let mut filesystems = Filesystems { directory, available: Vec::new(), at_end: AtEnd::TakeDown };
    directory::isolate(&filesystems.directory);
    for filesystem in kinds::FILESYSTEMS.iter().filter(|filesystem| filesystem.is_wanted(room)) {
        match kinds::require_mounted(filesystem, &filesystems.directory, room) {
            Ok(path) => {
                filesystems.available.push(Available { variable: filesystem.variable, path });
            }
            Err(reason) => say(&format!("no {} here: {reason:#}", filesystem.name)),
        }
    }
    Ok(filesystems)
}

impl Filesystems {
    /// What is mounted, and where.
    pub(crate) fn available(&self) -> &[Available] {
        &self.available
    }

    /// Unmounts and removes them, and says what could not be.
    pub(crate) fn take_down(mut self) -> anyhow::Result<()> {
        self.at_end = AtEnd::Leave;
        teardown::take_down(&self.directory)
    }
}

impl Drop for Filesystems {
    fn drop(&mut self) {
        if self.at_end == AtEnd::Leave {
            return;
        }
        if let Err(error) = teardown::take_down(&self.directory) {
            say(&format!("{error:#}"));
        }
    }
}

/// `cargo xtask filesystems up`: prints where they are, as shell code, and leaves them mounted.
pub(crate) fn print_up(
    workspace: &Workspace,
    directory: Option<&Path>,
    room: Room,
) -> anyhow::Result<()> {
    let mut filesystems = bring_up(workspace, directory, room)?;
    for Available { variable, path } in filesystems.available() {
        let value = quote_for_shell(&path.to_string_lossy());
        print_data(&format!("export {variable}={value}"));
    }
    filesystems.at_end = AtEnd::Leave;
    Ok(())
}

/// `cargo xtask filesystems down`: nothing to remove is success.
pub(crate) fn take_down_at(workspace: &Workspace, directory: Option<&Path>) -> anyhow::Result<()> {
    require_ability()?;
    match directory::find(workspace, directory)? {
        Some(directory) => teardown::take_down(&directory),
        None => Ok(()),
    }
}

fn require_ability() -> anyhow::Result<()> {
    if !machine::is_linux() {
        bail!("only Linux makes filesystems this way");
    }
    if machine::load_user()? != User::Root {
        bail!("only root can mount filesystems");
    }
    Ok(())
}

fn quote_for_shell(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quote_for_shell;

    #[test]
    fn what_a_shell_would_split_is_quoted() {
        assert_eq!(quote_for_shell("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(quote_for_shell("/a b"), "'/a b'");
        assert_eq!(quote_for_shell("it's"), r"'it'\''s'");
    }
}
