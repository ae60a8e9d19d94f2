//! Installs the programs that the tests call, where that is possible.

use std::process::Command;

use crate::command::require_success;
use crate::machine::{self, User, find_program};
use crate::talk::say;

/// Whether packages may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installation {
    /// Missing programs are installed, as root on Debian and its relatives.
    Allowed,
    /// Missing programs are only named.
    Forbidden,
}

/// Each program that the tests call, and the Debian package that has it.
const PROGRAMS: &[(&str, &str)] = &[
    ("git", "git"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mount", "mount"),
    ("losetup", "mount"),
    ("unshare", "util-linux"),
    ("setfattr", "attr"),
    ("setfacl", "acl"),
    ("strace", "strace"),
];

/// Installs what is missing, or says what to install. What stays missing is not an error here:
/// the tests that need it say so themselves, by name.
pub(crate) fn install_missing(installation: Installation, user: User) {
    if !machine::is_linux() {
        return;
    }
    let packages = missing_packages(|program| find_program(program).is_some());
    if packages.is_empty() {
        return;
    }
    let list = packages.join(" ");
    let may_install = installation == Installation::Allowed && user == User::Root;
    let Some(apt) = find_program("apt-get").filter(|_| may_install) else {
        say(&format!("some programs that the tests call are missing; install: {list}"));
        return;
    };
    say(&format!("installing {list}"));
    let apt = || {
        let mut command = Command::new(&apt);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let install = || {
        require_success(apt().args(["install", "--yes", "--no-install-recommends"]).args(&packages))
    };
    // A fresh image has no package lists, an old one has lists of packages that are gone: both
    // show as a failing install, so that the lists are fetched only when they are needed.
    let outcome = install().or_else(|_| {
        require_success(apt().arg("update"))?;
        install()
    });
    if let Err(error) = outcome {
        say(&format!("going on without {list}: {error:#}"));
    }
}

fn missing_packages(is_installed: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut packages = PROGRAMS
        .iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(_, package)| *package)
        .collect::<Vec<_>>();
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::missing_packages;

    #[test]
    fn nothing_is_installed_when_nothing_is_missing() {
        assert!(missing_packages(|_| true).is_empty());
    }

    #[test]
    fn a_package_is_named_once() {
        let packages = missing_packages(|program| !matches!(program, "mount" | "losetup"));
        assert_eq!(packages, ["mount"]);
    }
}
