//! Branches, and who can still reach a commit.

use std::ffi::{OsStr, OsString};

use crate::object::ObjectId;
use crate::run::words;
use crate::{Context, Error, Git, Result};

impl Git {
    /// Whether a branch, tag or remote-tracking ref holds `commit`. `refs/fwt/*` does not count, nor
    /// do stashes, notes and worktree HEADs.
    pub fn is_reachable(&self, context: Context<'_>, commit: ObjectId) -> Result<bool> {
        let contains = OsString::from(format!("--contains={commit}"));
        let mut arguments =
            vec![OsStr::new("for-each-ref"), OsStr::new("--count=1"), contains.as_os_str()];
        arguments.extend(words(["--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes"]));
        self.run(context, &arguments, &[]).map(|output| !output.is_empty())
    }

    /// Whether git takes `name` as a branch name.
    pub fn is_branch_name(&self, context: Context<'_>, name: &str) -> Result<bool> {
        match self.ask(context, &words(["check-ref-format", "--branch", name])) {
            Err(Error::Failed { code: Some(128), .. }) => Ok(false),
            answer => answer,
        }
    }

    /// Creates `refs/heads/NAME` at `commit`; an error if it exists or another ref is in the way.
    pub fn create_branch(&self, context: Context<'_>, name: &str, commit: ObjectId) -> Result<()> {
        let reference = OsString::from(format!("refs/heads/{name}"));
        let commit = OsString::from(commit.to_string());
        // The old value is nothing: an existing branch is never moved.
        let arguments = [OsStr::new("update-ref"), &reference, &commit, OsStr::new("")];
        self.run(context, &arguments, &[]).map(drop)
    }

    /// Deletes `refs/heads/NAME` if it is still at `commit`.
    pub fn delete_branch_at(
        &self,
        context: Context<'_>,
        name: &str,
        commit: ObjectId,
    ) -> Result<()> {
        let reference = OsString::from(format!("refs/heads/{name}"));
        let commit = OsString::from(commit.to_string());
        let arguments = [OsStr::new("update-ref"), OsStr::new("-d"), &reference, &commit];
        self.run(context, &arguments, &[]).map(drop)
    }

    /// Whether the ref exists.
    pub fn has_ref(&self, context: Context<'_>, name: &str) -> Result<bool> {
        self.ask(context, &words(["show-ref", "--verify", "--quiet", name]))
    }

    /// Paths whose state differs from HEAD, as `git status --porcelain -z` prints them, untracked
    /// files one by one.
    pub fn status(&self, context: Context<'_>) -> Result<Vec<u8>> {
        let arguments = words([
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=none",
        ]);
        self.run(context, &arguments, &[])
    }
}
