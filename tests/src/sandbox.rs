//! A place of a test's own: a home, a state directory, and whatever it makes in there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fs_sys::{FileLock, Sharing};
use tempfile::TempDir;

use crate::{Filesystem, Fwt, Repository, environment};

/// The directory and everything in it, removed at the end whatever happened.
#[derive(Debug)]
pub struct Sandbox {
    root: PathBuf,
    directory: TempDir,
    /// A small file system has room for one test at a time.
    turn: Option<FileLock>,
}

impl Sandbox {
    /// Makes one on the file system; `None` after saying that the test is skipped.
    pub fn on(filesystem: Filesystem) -> Option<Self> {
        let directory = filesystem.directory_or_skip()?;
        let turn = (filesystem == Filesystem::Full).then(|| wait_for_turn(&directory));
        let mut sandbox = Self::below(&directory);
        sandbox.turn = turn;
        Some(sandbox)
    }

    /// Makes one in the temporary directory, where the file system does not matter.
    pub fn anywhere() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Makes one in a directory.
    pub fn below(directory: &Path) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("fwt-test-")
            .tempdir_in(directory)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", directory.display()));
        let root = fs::canonicalize(directory.path()).expect("it was made just now");
        let sandbox = Self { root, directory, turn: None };
        fs::create_dir(sandbox.home()).expect("the sandbox is empty");
        let config = "[user]\n\tname = A Person\n\temail = person@example.org\n\
            [core]\n\tfsync = none\n\
            [init]\n\tdefaultBranch = main\n\ttemplateDir =\n\
            [safe]\n\tdirectory = *\n\
            [protocol \"file\"]\n\tallow = always\n";
        fs::write(sandbox.home().join(".gitconfig"), config).expect("the home is ours");
        sandbox
    }

    /// A path in it; links above it are resolved.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    /// `HOME` of everything that runs in it.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// `FWT_HOME`.
    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// `fwt` with this home and state.
    pub fn fwt(&self) -> Fwt {
        Fwt::new(crate::binary(), self.home(), self.state())
    }

    /// `fwt` that can be told to fail at any system call.
    pub fn fwt_with_faults(&self) -> Fwt {
        Fwt::new(crate::faults_binary(), self.home(), self.state())
    }

    /// A new repository at `name`, without a commit.
    pub fn repository(&self, name: impl AsRef<Path>) -> Repository {
        Repository::init(&self.home(), &self.path(name), &[])
    }

    /// A new repository made with these arguments of `git init`.
    pub fn repository_with(&self, name: impl AsRef<Path>, arguments: &[&str]) -> Repository {
        Repository::init(&self.home(), &self.path(name), arguments)
    }

    /// What is a repository already, such as a worktree that fwt made.
    pub fn existing(&self, path: impl AsRef<Path>) -> Repository {
        Repository::at(&self.home(), &self.path(path))
    }

    /// A command in here, with the same home.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = environment::command(program, &self.home());
        command.current_dir(&self.root);
        command
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        unmount_below(&self.root);
        remove_subvolumes(&self.root);
        // A directory that its owner may not write to, or look into, would keep its entries.
        open_up(self.directory.path());
    }
}

fn wait_for_turn(directory: &Path) -> FileLock {
    let path = directory.join("turn.lock");
    loop {
        match fs_sys::try_lock(&path, Sharing::Exclusive) {
            Ok(Some(lock)) => return lock,
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Trees are mounts where they are overlays.
fn unmount_below(root: &Path) {
    let mounts = fs_sys::mounts().unwrap_or_default();
    for mounted in mounts.iter().rev().filter(|mounted| mounted.point.starts_with(root)) {
        drop(fs_sys::unmount(&mounted.point, fs_sys::Unmount::Lazily));
    }
}

/// A read-only subvolume cannot be emptied.
fn remove_subvolumes(root: &Path) {
    let Ok(dir) = fs_sys::open_dir(root) else { return };
    for nested in fs_sys::nested_subvolumes(&dir).unwrap_or_default().iter().rev() {
        drop(fs_sys::remove_subvolume(&root.join(nested)));
    }
}

fn open_up(directory: &Path) {
    let Ok(found) = fs::symlink_metadata(directory) else { return };
    if !found.is_dir() {
        return;
    }
    if found.permissions().mode() & 0o700 != 0o700 {
        // A mount point is protected while nothing is mounted there.
        if let Ok(dir) = fs_sys::open_dir(directory) {
            drop(fs_sys::set_immutable(&dir, fs_sys::Immutable::No));
        }
        drop(fs::set_permissions(directory, fs::Permissions::from_mode(0o700)));
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}
