//! Repositories, made and asked by plain git.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::{self, succeed};

/// A working tree with its repository.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Root of the working tree.
    pub root: PathBuf,
    home: PathBuf,
}

impl Repository {
    /// `git init` at `root`, with the directories above it.
    pub fn init(home: &Path, root: &Path, arguments: &[&str]) -> Self {
        let repository = Self::at(home, root);
        fs::create_dir_all(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        let mut words = vec!["init", "--quiet"];
        words.extend(arguments);
        repository.git(words);
        repository
    }

    /// What is there already.
    pub fn at(home: &Path, root: &Path) -> Self {
        Self { root: root.to_owned(), home: home.to_owned() }
    }

    /// A path in the working tree.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    /// git in the working tree, for what the other methods do not do.
    pub fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = environment::command("git", &self.home);
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// Runs git, which must succeed, and returns what it prints.
    pub fn git_bytes(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Vec<u8> {
        succeed(&mut self.command(arguments)).stdout
    }

    /// The same as text, without the newline at its end.
    pub fn git(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
        let text = String::from_utf8_lossy(&self.git_bytes(arguments)).into_owned();
        text.trim_end_matches('\n').to_owned()
    }

    /// Writes a file, with the directories above it.
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        let parent = path.parent().expect("it is below the root");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Sets permission bits.
    pub fn chmod(&self, path: impl AsRef<Path>, mode: u32) {
        let path = self.path(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Makes a link.
    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("ours to write in");
        symlink(target, &path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Stages everything and commits it.
    pub fn commit(&self, message: &str) {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// The commit of a revision.
    pub fn commit_of(&self, revision: &str) -> String {
        self.git(["rev-parse", "--verify", &format!("{revision}^{{commit}}")])
    }

    /// What the index tracks.
    pub fn tracked(&self) -> Vec<PathBuf> {
        let list = self.git_bytes(["ls-files", "-z"]);
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect()
    }

    /// The directory that all worktrees share.
    pub fn common_dir(&self) -> PathBuf {
        self.asked_path("--git-common-dir")
    }

    /// The directory of this worktree's own index and HEAD.
    pub fn git_dir(&self) -> PathBuf {
        self.asked_path("--absolute-git-dir")
    }

    /// Root of the working tree, as git sees it from a directory below.
    pub fn top_level(&self, below: impl AsRef<Path>) -> PathBuf {
        Self::at(&self.home, &self.path(below)).asked_path("--show-toplevel")
    }

    fn asked_path(&self, question: &str) -> PathBuf {
        let mut path = self.git_bytes(["rev-parse", "--path-format=absolute", question]);
        path.pop();
        OsString::from_vec(path).into()
    }

    /// Everything in the working tree becomes older than an index that is written now, and the index
    /// learns it: git, and whoever follows its rules, then need not read a clean file to know it. The
    /// time has nanoseconds, so that a test sees whether they are kept.
    pub fn settle(&self) {
        let mut touch = environment::command("find", &self.home);
        touch.arg(&self.root).args(["-name", ".git", "-prune", "-o", "-not", "-type", "d"]);
        touch.args(["-exec", "touch", "-h", "-d", "2024-02-03T04:05:06.123456789Z", "{}", "+"]);
        succeed(&mut touch);
        // Exit code 1 says that something is dirty, which is fine.
        let mut refresh = self.command(["update-index", "-q", "--refresh"]);
        let status = refresh.status().expect("git runs");
        assert!(matches!(status.code(), Some(0 | 1)), "{refresh:?} {status}");
    }

    /// What `git worktree add` makes of a revision, at `path`: the oracle for tracked paths.
    #[must_use]
    pub fn reference(&self, path: &Path, revision: &str) -> Self {
        // A hook of the repository's could change what is made.
        let words = ["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach"];
        let words = words.map(OsStr::new);
        let end = [path.as_os_str(), OsStr::new(revision)];
        self.git_bytes(words.into_iter().chain(end));
        Self::at(&self.home, path)
    }
}
