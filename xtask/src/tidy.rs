//! `cargo xtask tidy`: rules about the source text that no lint knows.

mod codes;
mod enums;
mod lexer;
mod manifest;
mod rust_source;
mod shell;
mod words;

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use anyhow::{Context as _, bail};

use crate::command::require_output;
use crate::talk::say;
use crate::workspace::Workspace;

/// Checks every file that is, or could be, committed.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let sources = load_sources(workspace)?;
    let mut findings = sources.iter().flat_map(check_file).collect::<Vec<_>>();
    findings.extend(codes::check(&sources));
    for finding in &findings {
        say(finding);
    }
    if !findings.is_empty() {
        bail!("untidy places: {}", findings.len());
    }
    Ok(())
}

/// A file's path below the workspace's root, with `/`, and its text.
#[derive(Debug)]
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }
}

fn check_file(source: &Source) -> Vec<String> {
    let Source { path, text } = source;
    let mut findings = Vec::from_iter(shell::check(path, text));
    if source.is_rust() {
        findings.extend(rust_source::check(path, text));
    }
    if path.ends_with("Cargo.toml") {
        findings.extend(manifest::check(path, text));
    }
    findings
}

fn load_sources(workspace: &Workspace) -> anyhow::Result<Vec<Source>> {
    let mut command = Command::new("git");
    // A hook that runs us sets these for its own repository, and root may check a checkout of
    // somebody else.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.arg("-c").arg(format!("safe.directory={}", workspace.root().display()));
    command.arg("-C").arg(workspace.root());
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let names = String::from_utf8(require_output(&mut command)?)
        .context("the name of a file is not UTF-8")?;
    names
        .split_terminator('\0')
        .filter_map(|name| load_source(name, &workspace.root().join(name)).transpose())
        .collect()
}

fn load_source(name: &str, path: &Path) -> anyhow::Result<Option<Source>> {
    match path.symlink_metadata() {
        // Git lists links and submodules too; neither is text of its own.
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        // Listed, but removed and not committed yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(Source { path: name.to_owned(), text }))
}
