//! `cargo xtask macos-check`: whether the code compiles for macOS, without an Apple machine.
//!
//! Checking needs neither Apple's linker nor its frameworks. It needs the standard library's
//! sources, since no Linux distribution has it built for macOS, and a C compiler that knows the
//! system's headers, for `SQLite`.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::semver::Version;

use crate::command::{cargo, require_output, require_success};
use crate::machine::{self, find_program};
use crate::talk::say;
use crate::workspace::Workspace;

const TARGET: &str = "aarch64-apple-darwin";

/// Debian's packages `rustc-web` and `rust-web-src` put a compiler beside the sources it was built
/// from; a compiler of rustup has them as the component `rust-src`.
const DEBIAN_COMPILER: &str = "/usr/bin/rustc";
const NO_COMPILER: &str = "there is no rustc with the sources of its standard library: \
     `rustup component add rust-src`, or `apt-get install rustc-web rust-web-src` on Debian";
const NO_ZIGBUILD: &str = "cargo-zigbuild is not installed: `pip install cargo-zigbuild`";
const NO_ZIG: &str = "zig, which compiles C for macOS, is not installed: `pip install ziglang`";

/// Checks the whole workspace. Where the tools are missing it says which, and is no failure.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    match find_tools(workspace) {
        Ok(tools) => check_with(workspace, &tools),
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            Ok(())
        }
    }
}

#[derive(Debug)]
struct Tools {
    compiler: PathBuf,
    zigbuild: PathBuf,
}

/// The tools, or why they do not do.
fn find_tools(workspace: &Workspace) -> Result<Tools, String> {
    if !machine::is_linux() {
        return Err("only Linux checks for macOS; on a Mac the tests do more".to_owned());
    }
    let compiler = find_compiler().ok_or(NO_COMPILER)?;
    let zigbuild = find_program("cargo-zigbuild").ok_or(NO_ZIGBUILD)?;
    if !has_zig() {
        return Err(NO_ZIG.to_owned());
    }
    let version = require_output(Command::new(&compiler).arg("--version"))
        .map_err(|error| format!("{error:#}"))?;
    let version = String::from_utf8_lossy(&version);
    explain_if_too_old(&version, workspace.rust_version()).map_or(Ok(()), Err)?;
    Ok(Tools { compiler, zigbuild })
}

/// The first compiler that could compile its own standard library.
fn find_compiler() -> Option<PathBuf> {
    let candidates = find_program("rustc").into_iter().chain([PathBuf::from(DEBIAN_COMPILER)]);
    candidates.into_iter().find(|compiler| has_sources(compiler))
}

fn has_sources(compiler: &Path) -> bool {
    let output = require_output(Command::new(compiler).args(["--print", "sysroot"]));
    output.is_ok_and(|sysroot| {
        let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot).trim());
        sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml").exists()
    })
}

/// As a program, or as the Python package of that name.
fn has_zig() -> bool {
    let packaged = || require_output(Command::new("python3").args(["-m", "ziglang", "version"]));
    find_program("zig").is_some() || packaged().is_ok()
}

/// `rustc --version` is such as `rustc 1.96.0 (hash date)`.
fn explain_if_too_old(text: &str, needed: Option<&Version>) -> Option<String> {
    let found = text.split(' ').nth(1).and_then(|word| Version::parse(word).ok())?;
    let needed = needed.filter(|needed| found < **needed)?;
    Some(format!("rustc {found} is the one with sources, and {needed} is needed"))
}

fn check_with(workspace: &Workspace, Tools { compiler, zigbuild }: &Tools) -> anyhow::Result<()> {
    let mut command = Command::new(zigbuild);
    // The wrapper calls the cargo of this variable.
    command.env("CARGO", cargo(workspace).get_program());
    command.current_dir(workspace.root()).env("RUSTC", compiler);
    // To build the standard library is not a stable option yet.
    command.env("RUSTC_BOOTSTRAP", "1");
    // Another compiler would replace what the everyday one has built.
    command.env("CARGO_TARGET_DIR", workspace.target_directory().join("macos"));
    command.args(["check", "--workspace", "--keep-going", "-Zbuild-std=std,panic_abort"]);
    require_success(command.args(["--target", TARGET]))
}

#[cfg(test)]
mod tests {
    use cargo_metadata::semver::Version;

    use super::explain_if_too_old;

    fn check(text: &str, expected: Option<&str>) {
        let needed = Version::new(1, 90, 0);
        assert_eq!(explain_if_too_old(text, Some(&needed)).as_deref(), expected);
    }

    #[test]
    fn an_old_compiler_is_named_with_what_is_needed() {
        let expected = "rustc 1.78.0 is the one with sources, and 1.90.0 is needed";
        check("rustc 1.78.0 (9b00956e5 2024-04-29)\n", Some(expected));
        check("rustc 1.90.0 (hash 2025-09-14)\n", None);
        check("rustc 1.96.0-nightly (hash)\n", None);
    }

    #[test]
    fn a_version_that_makes_no_sense_is_tried() {
        check("gcc", None);
    }
}
