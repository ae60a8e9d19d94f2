//! A real corpus: the sources of crates that cargo keeps on this machine.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::import::{Mode, Sink};

/// Names the corpus by the crates that are there today.
pub(super) fn name() -> anyhow::Result<String> {
    let crates = crates()?;
    let mut hasher = DefaultHasher::new();
    crates.hash(&mut hasher);
    Ok(format!("vendored-{}-{:016x}", crates.len(), hasher.finish()))
}

/// Hands over every file of every crate.
pub(super) fn each(sink: &mut Sink<'_>) -> anyhow::Result<()> {
    for directory in crates()? {
        let parent = directory.parent().context("a crate is in a directory")?;
        each_below(parent, &directory, sink)?;
    }
    Ok(())
}

/// The directories of the crates, those of one registry after those of another.
fn crates() -> anyhow::Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
        .context("neither CARGO_HOME nor HOME is set")?;
    let mut crates = Vec::new();
    for registry in list(&home.join("registry/src"))? {
        crates.extend(list(&registry)?);
    }
    Ok(crates)
}

fn each_below(root: &Path, directory: &Path, sink: &mut Sink<'_>) -> anyhow::Result<()> {
    // git does not let a repository into a repository's files.
    let paths = list(directory)?.into_iter().filter(|path| path.file_name() != Some(GIT.as_ref()));
    for path in paths {
        let metadata = path.symlink_metadata()?;
        let name = path.strip_prefix(root)?.as_os_str();
        if metadata.is_dir() {
            each_below(root, &path, sink)?;
        } else if metadata.is_symlink() {
            sink(name, Mode::Link, fs::read_link(&path)?.as_os_str().as_bytes())?;
        } else if metadata.is_file() {
            let is_executable = metadata.permissions().mode() & 0o100 != 0;
            let mode = if is_executable { Mode::Executable } else { Mode::Plain };
            sink(name, mode, &fs::read(&path)?)?;
        }
    }
    Ok(())
}

const GIT: &str = ".git";

fn list(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("cannot list {}", directory.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>();
    let mut paths = entries?;
    paths.sort_by(|one, other| OsStr::cmp(one.as_os_str(), other.as_os_str()));
    Ok(paths)
}
