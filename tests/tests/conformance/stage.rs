//! Where a case takes place: a sandbox on its file system, and `fwt` told which backend to use.

use std::fmt;
use std::path::{Path, PathBuf};

use backend::Kind;
use fwt_tests::binary::Made;
use fwt_tests::{Answer, Filesystem, Fwt, Repository, Sandbox};

/// One place in the matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// The backend that is asked for; `None` for whichever works.
    pub(crate) backend: Option<Kind>,
    pub(crate) filesystem: Filesystem,
    pub(crate) mode: Mode,
}

/// The modes in which a tree is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Linked,
    Checkout,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backend = self.backend.map_or("chain", Kind::name);
        write!(formatter, "{backend}::{}::{}", self.filesystem.name(), self.mode.name())
    }
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Linked => "linked",
            Self::Checkout => "checkout",
        }
    }
}

/// A sandbox in which trees are made in one way.
pub(crate) struct Stage {
    pub(crate) cell: Cell,
    pub(crate) sandbox: Sandbox,
}

/// A tree that was made, as git and as fwt see it.
pub(crate) struct Tree {
    pub(crate) made: Made,
    pub(crate) git: Repository,
}

impl Stage {
    pub(crate) fn new(cell: Cell, sandbox: Sandbox) -> Self {
        Self { cell, sandbox }
    }

    pub(crate) fn fwt(&self) -> Fwt {
        self.sandbox.fwt()
    }

    /// Whether trees here are made from files of the source.
    pub(crate) fn takes_donors(&self) -> bool {
        self.cell.backend != Some(Kind::Checkout)
    }

    /// Whether more than a commit can be brought along here.
    pub(crate) fn carries(&self) -> bool {
        self.takes_donors()
    }

    /// Whether trees here stand on sealed ones.
    pub(crate) fn is_over_sealed(&self) -> bool {
        self.cell.backend.is_some_and(Kind::needs_sealed_parent)
    }

    /// Whether trees here are mounts, which git is kept from removing and moving.
    pub(crate) fn is_mounted(&self) -> bool {
        self.cell.backend == Some(Kind::Overlay)
    }

    /// Why the backend cannot work here, where it cannot.
    pub(crate) fn impossible(&self) -> String {
        let reason = match self.cell.backend {
            Some(Kind::Overlay) => "overlay: no-capability",
            Some(Kind::Btrfs) => "btrfs: not-btrfs",
            _ => "reflink: no-reflink",
        };
        reason.to_owned()
    }

    /// Whether trees here share their bytes with the source.
    pub(crate) fn shares_bytes(&self) -> bool {
        self.cell.backend.is_some_and(Kind::shares_bytes)
    }

    /// A repository `source` with a few clean files in it, each older than the index.
    pub(crate) fn small_source(&self) -> Repository {
        let source = self.sandbox.repository("source");
        source.write("file", "a file\n");
        source.write("directory/below/other", "another file\n");
        source.write("run.sh", "#!/bin/sh\n");
        source.chmod("run.sh", 0o755);
        source.link("link", "file");
        source.write("empty", "");
        source.commit("first");
        source.settle();
        source
    }

    /// The arguments of a create by this cell's backend and mode.
    pub(crate) fn arguments<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let mut words = vec!["create"];
        if let Some(backend) = self.cell.backend.filter(|_| self.cell.mode != Mode::Checkout) {
            words.extend(["--backend", backend.name()]);
        }
        words.extend(["--mode", self.cell.mode.name()]);
        words.extend(more);
        words
    }

    /// Runs a create in `directory`, whatever comes of it.
    pub(crate) fn try_create(&self, directory: &Path, more: &[&str]) -> Answer {
        self.fwt().run(directory, self.arguments(more))
    }

    /// Makes a tree from a directory of a source; it must be made by this cell's backend.
    pub(crate) fn create(&self, directory: &Path, more: &[&str]) -> Tree {
        let answer = self.try_create(directory, more);
        self.take_over(Made { json: answer.success() })
    }

    /// A tree from what its create answered.
    pub(crate) fn take_over(&self, made: Made) -> Tree {
        if let Some(backend) = self.cell.backend {
            assert_eq!(made.json["backend"], backend.name(), "{}", made.json);
            assert!(made.passed_over().is_empty(), "{}", made.json);
        }
        let git = self.sandbox.existing(made.path());
        Tree { made, git }
    }

    /// Where the tree is a mount, mounts it anew, as after a reboot.
    pub(crate) fn remount(&self, tree: &Tree, source: &Repository) {
        if self.is_mounted() {
            fs_sys::unmount(&tree.git.root, fs_sys::Unmount::Now).expect("nobody is in it");
            self.fwt().run(&source.root, ["attach", tree.made.id()]).success();
        }
    }

    /// Removes a tree that nothing was done to.
    pub(crate) fn remove(&self, tree: &Tree, source: &Repository) {
        self.fwt().run(&source.root, ["rm", tree.made.id()]).success();
        assert!(!tree.path("").exists(), "{} is still there", tree.path("").display());
    }
}

impl Tree {
    pub(crate) fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.git.path(below)
    }
}
