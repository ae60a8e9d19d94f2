//! A source of a few files, and the proof that nobody touched it.

use std::fs;
use std::path::{Path, PathBuf};

use fwt_tests::snapshot::Detail;
use fwt_tests::{Filesystem, Fwt, Repository, Sandbox, Snapshot};

/// A sandbox with a small repository in it.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) sandbox: Sandbox,
    pub(crate) source: Repository,
    /// The source's git directory.
    pub(crate) common_dir: PathBuf,
}

impl Scene {
    /// A scene where the file system does not matter.
    pub(crate) fn anywhere() -> Self {
        Self::within(Sandbox::anywhere())
    }

    /// A scene in a sandbox: a source with one commit, clean, two files and a link.
    pub(crate) fn within(sandbox: Sandbox) -> Self {
        let source = sandbox.repository("src");
        source.write("file", "one\n");
        source.write("dir/script", "#!/bin/sh\n");
        source.chmod("dir/script", 0o755);
        source.link("link", "file");
        source.write(".gitignore", "target/\n*.log\n.env\n");
        source.commit("one");
        source.settle();
        let common_dir = source.path(".git");
        Self { sandbox, source, common_dir }
    }

    /// A scene for many short runs: in memory, where that can be had.
    pub(crate) fn in_memory() -> Self {
        match Filesystem::Tmpfs.directory() {
            Ok(directory) => Self::within(Sandbox::below(&directory)),
            Err(_) => Self::anywhere(),
        }
    }

    pub(crate) fn fwt(&self) -> Fwt {
        self.sandbox.fwt()
    }

    /// Root of the source.
    pub(crate) fn root(&self) -> &Path {
        &self.source.root
    }

    /// A new worktree of the source.
    pub(crate) fn create(&self, arguments: &[&str]) -> Repository {
        let made = self.fwt().create(self.root(), arguments);
        self.sandbox.existing(made.path())
    }

    /// A new worktree whose files are in a directory like any other: one that is a mount cannot be moved
    /// or deleted by others.
    pub(crate) fn create_directory(&self, arguments: &[&str]) -> Repository {
        self.create(&[arguments, &["--backend", "copy"]].concat())
    }

    /// What the source holds now.
    pub(crate) fn state(&self) -> State {
        State::of(self.root(), &self.common_dir)
    }
}

/// Everything in a source that fwt must not touch: its files and its index with their times, and in
/// its git directory all but what it may add there.
#[derive(Debug)]
pub(crate) struct State {
    root: PathBuf,
    common_dir: PathBuf,
    files: Snapshot,
    index: Option<std::time::SystemTime>,
    git: Snapshot,
}

impl State {
    /// Reads a source.
    pub(crate) fn of(root: &Path, common_dir: &Path) -> Self {
        let index = fs::metadata(common_dir.join("index")).and_then(|index| index.modified());
        Self {
            root: root.to_owned(),
            common_dir: common_dir.to_owned(),
            files: Snapshot::of(root),
            index: index.ok(),
            git: Snapshot::filtered(common_dir, |path| {
                !path.starts_with("worktrees")
                    && !path.starts_with("refs/heads/made")
                    && !path.starts_with("logs/refs/heads/made")
            }),
        }
    }

    /// Panics if the source is not as it was. Only branches called `made…` may be new.
    #[track_caller]
    pub(crate) fn assert_unchanged(&self, when: &str) {
        let now = Self::of(&self.root, &self.common_dir);
        now.files.assert_same(&self.files, Detail::Full, &format!("files of the source {when}"));
        now.git.assert_same(&self.git, Detail::Git, &format!("git directory {when}"));
        assert_eq!(now.index, self.index, "time of the index {when}");
    }
}
