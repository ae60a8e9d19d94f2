//! Copies of the tests and their data in a place that every user can reach, because the checkout
//! may be below a directory that is closed to all but root.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use super::build::TestExecutable;
use crate::machine::is_world_traversable;
use crate::workspace::Workspace;

/// The copies; dropping this removes them.
#[derive(Debug)]
pub(crate) struct Stage {
    directory: TempDir,
    /// What the copied packages' paths are relative to.
    root: PathBuf,
}

/// Copies the executables, the two forms of `fwt` and the packages' directories, and makes a home
/// that belongs to the user.
pub(crate) fn prepare(
    workspace: &Workspace,
    tests: &[TestExecutable],
    user_id: u32,
) -> anyhow::Result<Stage> {
    let directory = tempfile::Builder::new()
        .prefix("fwt-tests-")
        .tempdir_in(reachable_temporary_directory()?)?;
    // Not when it is made, where the umask would take these away again.
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
    let stage = Stage { directory, root: workspace.root().to_owned() };
    copy_file(&workspace.binary(), &stage.path("fwt"))?;
    copy_file(&workspace.faults_binary(), &stage.path("faults/fwt"))?;
    for test in tests {
        copy_file(&test.path, &stage.executable(test))?;
        let package_directory = stage.package_directory(test)?;
        // A package has several executables and one directory.
        if !package_directory.exists() {
            copy_directory(&test.package_directory, &package_directory)?;
        }
    }
    for name in ["home", "tmp"] {
        let path = stage.path(name);
        make_directory(&path)?;
        chown(&path, Some(user_id), Some(user_id))
            .with_context(|| format!("cannot give away {}", path.display()))?;
    }
    Ok(stage)
}

impl Stage {
    /// The copy of a test executable.
    pub(crate) fn executable(&self, test: &TestExecutable) -> PathBuf {
        self.path("tests").join(test.path.file_name().unwrap_or_default())
    }

    /// The copy of a test's package.
    pub(crate) fn package_directory(&self, test: &TestExecutable) -> anyhow::Result<PathBuf> {
        Ok(self.path("checkout").join(test.package_directory.strip_prefix(&self.root)?))
    }

    /// The environment that leads tests to the copies instead of the originals.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("HOME", self.path("home").into()),
            ("TMPDIR", self.path("tmp").into()),
            ("FWT_BIN", self.path("fwt").into()),
            ("CARGO_BIN_EXE_fwt", self.path("fwt").into()),
            ("FWT_FAULTS_BIN", self.path("faults/fwt").into()),
            // Snapshots are looked for below this; new ones could not be written there.
            ("INSTA_WORKSPACE_ROOT", self.path("checkout").into()),
            ("INSTA_UPDATE", "no".into()),
        ]
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn reachable_temporary_directory() -> anyhow::Result<PathBuf> {
    [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
        .into_iter()
        .find(|directory| is_world_traversable(directory))
        .context("there is no temporary directory that every user can enter")
}

/// Build output is left out: it is large, and no test may need it.
fn copy_directory(from: &Path, to: &Path) -> anyhow::Result<()> {
    make_directory(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let (source, destination) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &destination)
                .with_context(|| format!("cannot make {}", destination.display()))?;
        } else if kind.is_dir() && entry.file_name() != "target" {
            copy_directory(&source, &destination)?;
        } else if kind.is_file() {
            copy_file(&source, &destination)?;
        }
    }
    Ok(())
}

/// A umask when the checkout was made may have closed its files to other users.
fn copy_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    if let Some(parent) = to.parent() {
        make_directory(parent)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    let is_executable = to.metadata()?.permissions().mode() & 0o100 != 0;
    let mode = if is_executable { 0o755 } else { 0o644 };
    fs::set_permissions(to, Permissions::from_mode(mode))?;
    Ok(())
}

/// Makes a directory and those above it, each open to all whatever the umask.
fn make_directory(path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_directory(parent)?;
    }
    fs::create_dir(path).with_context(|| format!("cannot make {}", path.display()))?;
    fs::set_permissions(path, Permissions::from_mode(0o755))?;
    Ok(())
}
