//! Runs other programs, and says which one failed.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;

/// `cargo`, the one that runs us, in the workspace's root.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace.root());
    command
}

/// Runs a command whose output the person sees; anything but success is an error.
pub(crate) fn require_success(command: &mut Command) -> anyhow::Result<()> {
    let text = describe(command);
    // A chore never asks anything, and in CI there is nobody to answer.
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot run `{text}`"))?;
    if !status.success() {
        bail!("`{text}` failed ({status})");
    }
    Ok(())
}

/// Runs a command for its output; what it says on stderr becomes the error.
pub(crate) fn require_output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let text = describe(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{text}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{text}` failed ({}): {}", output.status, complaint.trim());
    }
    Ok(output.stdout)
}

fn describe(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut words = vec![name];
    words.extend(command.get_args());
    words.join(OsStr::new(" ")).to_string_lossy().into_owned()
}
