//! What fwt may leave, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::scene::Scene;

impl Scene {
    /// Panics unless the worktrees with these ids are all there is of fwt: rows, registrations, and
    /// no scratch anywhere in the sandbox. Returns the rows.
    #[track_caller]
    pub(crate) fn assert_only(&self, ids: &[&str], when: &str) -> Vec<Value> {
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        let expected = sorted(ids.iter().map(|id| (*id).to_owned()).collect());
        let rows = self.fwt().list_all(self.root());
        assert_eq!(sorted(rows.iter().map(id_of).collect()), expected, "rows {when}");
        let registered = names_in(&self.common_dir.join("worktrees"));
        assert_eq!(sorted(registered), expected, "admin directories {when}");
        assert_eq!(scratch_in(&self.sandbox.path("")), Vec::<PathBuf>::new(), "scratch {when}");
        let listed = self.source.git_bytes(["worktree", "list", "--porcelain", "-z"]);
        let listed = listed.split(|byte| *byte == 0).filter(|line| line.starts_with(b"worktree "));
        assert_eq!(listed.count(), ids.len() + 1, "git worktree list {when}");
        rows
    }

    /// The same where there is nothing at all.
    #[track_caller]
    pub(crate) fn assert_nothing(&self, when: &str) {
        self.assert_only(&[], when);
        let parent = self.common_dir.join("worktrees");
        assert!(!parent.exists(), "{when}: an empty directory of git's is left");
        for repository in children_of(&self.sandbox.state().join("worktrees")) {
            assert_eq!(children_of(&repository), Vec::<PathBuf>::new(), "trees {when}");
        }
    }

    /// Panics if git finds the repository damaged.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        self.source.git(["fsck", "--no-progress", "--no-dangling"]);
    }
}

/// The id in an answer.
pub(crate) fn id_of(row: &Value) -> String {
    row["id"].as_str().expect("a row has an id").to_owned()
}

fn names_in(directory: &Path) -> Vec<String> {
    let children = children_of(directory).into_iter();
    children.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

fn children_of(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

/// Everything below `place` whose name says that it is fwt's and does not last.
fn scratch_in(place: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![place.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".fwt-");
            if is_hidden || path.extension().is_some_and(|extension| extension == "fwt") {
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            }
        }
    }
    found
}
