//! What must hold of every tree and of every failure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fwt_tests::snapshot::Detail;
use fwt_tests::{Answer, Repository, Snapshot};

use crate::stage::{Stage, Tree};

/// A source as it is: nothing that fwt does may show in it.
pub(crate) struct Untouched {
    root: PathBuf,
    files: Snapshot,
    /// The common directory, and that of a linked worktree.
    git_dirs: [(PathBuf, Snapshot); 2],
}

impl Untouched {
    /// Looks at working tree and repository, but not at other worktrees' admin directories.
    pub(crate) fn look(source: &Repository) -> Self {
        let git_dirs = [source.common_dir(), source.git_dir()].map(|git_dir| {
            let found = look_at_git_dir(&git_dir);
            (git_dir, found)
        });
        Self { root: source.root.clone(), files: Snapshot::of(&source.root), git_dirs }
    }

    /// Panics if anything has changed since.
    #[track_caller]
    pub(crate) fn assert_unchanged(&self) {
        Snapshot::of(&self.root).assert_same(&self.files, Detail::Full, "the source's files");
        for (git_dir, before) in &self.git_dirs {
            look_at_git_dir(git_dir).assert_same(before, Detail::Full, "the source's repository");
        }
    }
}

fn look_at_git_dir(git_dir: &Path) -> Snapshot {
    let mut found = Snapshot::filtered(git_dir, |path| path != Path::new("worktrees"));
    // Whoever reads a split index makes its shared part young, so that it is not swept away: even a
    // `git status` that may take no lock does.
    found.forget_time_of(|path| path.to_string_lossy().starts_with("sharedindex."));
    found
}

impl Stage {
    /// Makes a tree of `revision` and checks all that can be checked of any tree.
    #[track_caller]
    pub(crate) fn check(&self, source: &Repository, revision: &str) -> Tree {
        self.check_from(source, &source.root, &["--rev", revision], revision)
    }

    /// The same from another directory of the source, with arguments of one's own.
    #[track_caller]
    pub(crate) fn check_from(
        &self,
        source: &Repository,
        directory: &Path,
        arguments: &[&str],
        revision: &str,
    ) -> Tree {
        let untouched = Untouched::look(source);
        let answer = self.try_create(directory, arguments);
        untouched.assert_unchanged();
        let tree = self.take_over(fwt_tests::binary::Made { json: answer.success() });
        self.assert_good(&tree, source, revision);
        tree
    }

    /// Panics unless the tree is clean, equals what git makes, and has left nothing else anywhere.
    #[track_caller]
    pub(crate) fn assert_good(&self, tree: &Tree, source: &Repository, revision: &str) {
        tree.assert_clean();
        self.assert_no_debris(source, &[tree]);
        self.assert_like_git(tree, source, revision);
        assert_eq!(tree.git.commit_of("HEAD"), source.commit_of(revision));
        assert_eq!(tree.made.json["base"]["commit"], source.commit_of(revision).as_str());
    }

    /// Panics unless the tree holds exactly what `git worktree add` makes.
    #[track_caller]
    pub(crate) fn assert_like_git(&self, tree: &Tree, source: &Repository, revision: &str) {
        let path = self.sandbox.path("reference");
        let reference = source.reference(&path, revision);
        let expected = Snapshot::of(&reference.root);
        Snapshot::of(&tree.git.root).assert_same(&expected, Detail::Git, "the tree");
        assert_eq!(
            tree.git.git_bytes(["ls-files", "--stage", "-t", "-z"]),
            reference.git_bytes(["ls-files", "--stage", "-t", "-z"]),
            "the indexes' entries differ"
        );
        source.git(["worktree", "remove", "--force", &path.to_string_lossy()]);
    }

    /// Panics if anything is about that belongs to none of `trees`: in the store, beside it, in the
    /// registry or in the repository.
    #[track_caller]
    pub(crate) fn assert_no_debris(&self, source: &Repository, trees: &[&Tree]) {
        let paths: BTreeSet<PathBuf> = trees.iter().map(|tree| tree.git.root.clone()).collect();
        let mut found = BTreeSet::new();
        for repository in entries(&self.sandbox.state().join("worktrees")) {
            found.extend(entries(&repository));
        }
        assert_eq!(found, paths, "the store");
        let state = entries(&self.sandbox.state());
        let is_known = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Sealed trees stay for the next tree, and so does what git and probes said.
            ["worktrees", "sealed", "uppers", "git", "probes"].iter().any(|known| name == *known)
                || name.starts_with("fwt.")
        };
        assert!(state.iter().all(is_known), "{state:?}");
        self.assert_nobody_else_stands_on_sealed_trees(trees);
        let ids: BTreeSet<String> = trees.iter().map(|tree| tree.made.id().to_owned()).collect();
        let rows = self.fwt().list_all(&source.root);
        let listed: BTreeSet<String> =
            rows.iter().map(|row| row["id"].as_str().unwrap_or_default().to_owned()).collect();
        assert_eq!(listed, ids, "the registry");
        assert!(rows.iter().all(|row| row["state"] == "held"), "{rows:?}");
        let common_dir = source.common_dir();
        let admins: Vec<PathBuf> = entries(&common_dir.join("worktrees"));
        let names: BTreeSet<String> = admins
            .iter()
            .filter(|path| path.join("fwt.json").exists() || !path.join("gitdir").exists())
            .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
            .collect();
        let is_linked = |tree: &&&Tree| tree.made.json["mode"] != "standalone";
        let linked: BTreeSet<String> =
            trees.iter().filter(is_linked).map(|tree| tree.made.id().to_owned()).collect();
        assert_eq!(names, linked, "the admin directories");
        for admin in admins {
            let is_locked = admin.join("locked").exists();
            let is_mounted = rows.iter().any(|row| {
                row["backend"] == "overlay" && admin.ends_with(row["id"].as_str().unwrap_or("-"))
            });
            assert_eq!(is_locked, is_mounted, "the lock of {}", admin.display());
            for entry in entries(&admin) {
                let ending = entry.extension().unwrap_or_default();
                assert!(ending != "lock" && ending != "fwt", "{} is left", entry.display());
            }
        }
    }

    /// Panics if a sealed tree is half made, or stood on by anything but `trees`.
    #[track_caller]
    fn assert_nobody_else_stands_on_sealed_trees(&self, trees: &[&Tree]) {
        let ids = |backends: &[&str]| -> BTreeSet<String> {
            let is_meant =
                |tree: &&&Tree| backends.iter().any(|name| tree.made.json["backend"] == *name);
            trees.iter().filter(is_meant).map(|tree| tree.made.id().to_owned()).collect()
        };
        let names = |paths: Vec<PathBuf>| -> BTreeSet<String> {
            paths
                .iter()
                .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .collect()
        };
        let uppers = names(entries(&self.sandbox.state().join("uppers")));
        assert_eq!(uppers, ids(&["overlay"]), "the upper layers");
        let mut standing = BTreeSet::new();
        for sealed in entries(&self.sandbox.state().join("sealed")) {
            if sealed.extension().is_none() {
                assert!(sealed.join("sealed.json").exists(), "{} is half made", sealed.display());
                standing.extend(names(entries(&sealed.join("trees"))));
            } else {
                assert_eq!(sealed.extension().unwrap_or_default(), "lock", "{}", sealed.display());
            }
        }
        assert_eq!(standing, ids(&["overlay", "btrfs"]), "what stands on sealed trees");
    }

    /// Runs a create that must fail in this way, change nothing, and leave nothing.
    #[track_caller]
    pub(crate) fn check_refused(
        &self,
        source: &Repository,
        more: &[&str],
        (exit, code): (i32, &str),
    ) -> Answer {
        let untouched = Untouched::look(source);
        let before = entries(&self.sandbox.path(""));
        let answer = self.try_create(&source.root, more);
        answer.failure(exit, code);
        untouched.assert_unchanged();
        self.assert_no_debris(source, &[]);
        let mut after = entries(&self.sandbox.path(""));
        // The state directory itself may be made for the first time.
        after.retain(|path| before.contains(path) || *path != self.sandbox.state());
        assert_eq!(after, before, "beside the source");
        answer
    }
}

impl Tree {
    /// Panics unless git takes every file for clean, before it has looked into any.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let dirty = self.git.git(["--no-optional-locks", "diff-files", "--name-only"]);
        assert_eq!(dirty, "", "stat-dirty at hand-over");
        let status = self.git.git(["--no-optional-locks", "status", "--porcelain", "-uall"]);
        assert_eq!(status, "", "git status");
        let ignored = self.git.git(["ls-files", "--others"]);
        assert_eq!(ignored, "", "what git does not know");
    }
}

/// What is in a directory, sorted; nothing if it is not there.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        found.map(|entry| entry.expect("it can be read to its end").path()).collect();
    paths.sort();
    paths
}
