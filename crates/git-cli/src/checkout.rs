//! What git itself writes into a new tree.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::object::ObjectId;
use crate::run::words;
use crate::{Context, Error, Git, Repository, Result};

/// How often git is asked to add a worktree.
const ATTEMPTS: usize = 3;

/// A worktree for git to add, detached and locked from its first moment.
#[derive(Clone, Copy, Debug)]
pub struct WorktreeAdd<'a> {
    /// Empty or absent; the admin directory is named after its last component.
    pub path: &'a Path,
    /// What HEAD will be.
    pub commit: ObjectId,
    /// Why it is locked.
    pub lock_reason: &'a str,
}

/// Which filter programs run when git writes files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// All that are configured.
    #[default]
    All,
    /// All but `lfs`: its files stay pointers.
    NoLfs,
}

impl Filters {
    /// An empty command is no filter (gitattributes(5)), and one that is required may not be missing.
    fn arguments(self) -> Vec<&'static OsStr> {
        const OFF: [&str; 6] = [
            "-c",
            "filter.lfs.smudge=",
            "-c",
            "filter.lfs.process=",
            "-c",
            "filter.lfs.required=false",
        ];
        match self {
            Self::All => Vec::new(),
            Self::NoLfs => words(OFF).to_vec(),
        }
    }
}

impl Git {
    /// Fills the context's index with `tree`; no file is looked at or written.
    pub fn read_tree(&self, context: Context<'_>, tree: ObjectId) -> Result<()> {
        let tree = OsString::from(tree.to_string());
        self.run(context, &[OsStr::new("read-tree"), &tree], &[]).map(drop)
    }

    /// Fetches from all remotes.
    pub fn fetch_all(&self, context: Context<'_>) -> Result<()> {
        self.run(context, &words(["fetch", "--quiet", "--all"]), &[]).map(drop)
    }

    /// Rewrites the context's index whole, without a shared part beside it. The context's git
    /// directory must be the one that the shared part is in.
    pub fn unsplit_index(&self, context: Context<'_>) -> Result<()> {
        self.run(context, &words(["update-index", "--no-split-index"]), &[]).map(drop)
    }

    /// Writes these entries of the context's index into its working tree. What is there already is an
    /// error.
    pub fn checkout_entries(
        &self,
        context: Context<'_>,
        paths: &[&[u8]],
        filters: Filters,
    ) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path);
            input.push(0);
        }
        let mut arguments = filters.arguments();
        arguments.extend(words(["checkout-index", "-z", "--stdin"]));
        self.run(context, &arguments, &input).map(drop)
    }

    /// `git worktree add`, without files: a worktree of git's own making, with the sparse patterns
    /// and the configuration that the repository's worktree has.
    pub fn add_worktree(&self, repository: &Repository, add: &WorktreeAdd<'_>) -> Result<()> {
        let commit = OsString::from(add.commit.to_string());
        let mut arguments = words([
            "worktree",
            "add",
            "--quiet",
            "--detach",
            "--lock",
            "--reason",
            add.lock_reason,
            "--no-checkout",
        ])
        .to_vec();
        arguments.extend([OsStr::new("--"), add.path.as_os_str(), commit.as_os_str()]);
        let mut attempt = 1;
        loop {
            match self.run(repository.context(), &arguments, &[]) {
                // git looks at all worktrees first, and dies of one that another git has half made.
                Err(Error::Failed { code: Some(128), .. }) if attempt < ATTEMPTS => attempt += 1,
                done => return done.map(drop),
            }
        }
    }

    /// Writes the index and all files of HEAD, as `git worktree add` does, except that a failure
    /// leaves what was written.
    pub fn checkout_head(&self, context: Context<'_>, filters: Filters) -> Result<()> {
        let mut arguments = filters.arguments();
        arguments.extend(words(["reset", "--quiet", "--hard", "--no-recurse-submodules"]));
        self.run(context, &arguments, &[]).map(drop)
    }
}
