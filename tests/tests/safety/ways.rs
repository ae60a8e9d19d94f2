//! The ways of making a worktree beside the plain one: what is carried, into which mode, to which place.

use fwt_tests::snapshot::Detail;
use fwt_tests::{Filesystem, Repository, Sandbox, Snapshot};

use crate::mount::can_mount;
use crate::scene::Scene;

/// One way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// What is carried.
    pub(crate) carry: &'static str,
    /// The mode.
    pub(crate) mode: &'static str,
    /// The backend.
    pub(crate) backend: &'static str,
    /// Whether it is to be on a branch of its own.
    pub(crate) branch: Option<&'static str>,
    /// Where it goes, as seen from the source.
    pub(crate) at: Option<&'static str>,
}

/// These, and where something can be mounted those over sealed trees that make a mount.
pub(crate) fn with_mounted(ways: &[Way]) -> Vec<Way> {
    const MOUNTED: [Way; 3] = [
        Way::new("dirty", "linked", "overlay"),
        Way::new("all", "linked", "overlay"),
        Way::new("dirty", "standalone", "overlay"),
    ];
    let mounted = MOUNTED.into_iter().filter(|_| can_mount());
    ways.iter().copied().chain(mounted).collect()
}

impl Way {
    /// A way without branch, to the store.
    pub(crate) const fn new(
        carry: &'static str,
        mode: &'static str,
        backend: &'static str,
    ) -> Self {
        Self { carry, mode, backend, branch: None, at: None }
    }

    /// The same with a branch.
    pub(crate) const fn on_branch(mut self, branch: &'static str) -> Self {
        self.branch = Some(branch);
        self
    }

    /// The same with a place.
    pub(crate) const fn at(mut self, place: &'static str) -> Self {
        self.at = Some(place);
        self
    }

    /// The arguments of a create of the name `t`.
    pub(crate) fn arguments(&self) -> Vec<&'static str> {
        self.arguments_for("t")
    }

    /// The arguments of a create.
    pub(crate) fn arguments_for<'a>(&self, name: &'a str) -> Vec<&'a str> {
        let mut words = vec!["create", name, "--carry", self.carry, "--mode", self.mode];
        words.extend(["--backend", self.backend]);
        words.extend(self.branch.iter().flat_map(|branch| ["--branch", branch]));
        words.extend(self.at.iter().flat_map(|at| ["--at", at]));
        words
    }

    pub(crate) fn is_linked(&self) -> bool {
        self.mode != "standalone"
    }

    /// A scene where this way works, with work in the source; `None` where there is none.
    pub(crate) fn scene(&self) -> Option<Scene> {
        let scene = match self.backend {
            "reflink" => Scene::within(Sandbox::on(Filesystem::Xfs)?),
            "btrfs" => Scene::within(Sandbox::on(Filesystem::Btrfs)?),
            "overlay" if !can_mount() => return None,
            _ => Scene::in_memory(),
        };
        spoil(&scene.source);
        Some(scene)
    }

    /// Panics unless `tree` is whole: what its source was when it was made.
    #[track_caller]
    pub(crate) fn assert_whole(&self, scene: &Scene, tree: &Repository, when: &str) {
        let status = tree.git(["--no-optional-locks", "status", "--porcelain"]);
        let expected = match self.carry {
            "clean" => String::new(),
            _ => scene.source.git(["--no-optional-locks", "status", "--porcelain"]),
        };
        assert_eq!(status, expected, "{when}");
        assert_eq!(tree.commit_of("HEAD"), scene.source.commit_of("HEAD"), "{when}");
        if self.carry == "all" {
            let found = Snapshot::of(&tree.root);
            found.assert_same(&Snapshot::of(scene.root()), Detail::Full, when);
        }
        if !self.is_linked() {
            tree.git(["fsck", "--no-progress", "--no-dangling"]);
        }
        let on = tree.git(["branch", "--show-current"]);
        assert_eq!(on, self.branch.unwrap_or_default(), "{when}");
    }
}

/// Work of each sort in a source.
pub(crate) fn spoil(source: &Repository) {
    source.write("staged", "staged\n");
    source.git(["add", "staged"]);
    source.write("file", "edited\n");
    source.write("untracked/file", "untracked\n");
    source.write("target/out", "ignored\n");
    source.write("a.log", "ignored\n");
}
