//! Whether a tree holds anything that is nowhere else. When in doubt it does.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use git_cli::object::ObjectId;
use git_cli::{Admin, Context, Git};
use pool_db::Worktree as Row;

use super::files::{Known, unsaved_file};
use crate::api::{ApiError, Code};
use crate::manifest;

/// Why a tree is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Somebody locked it for git.
    LockedByGit(String),
    /// A merge, rebase or the like is under way; this file of git's says so.
    Operation(&'static str),
    /// So many commits are on no branch, tag or remote.
    Commits(u64),
    /// The index differs from HEAD.
    Staged,
    /// A tracked file differs.
    Tracked(PathBuf),
    /// A file that git does not know.
    Untracked(PathBuf),
    /// A repository inside.
    Nested(PathBuf),
}

impl fmt::Display for Keep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LockedByGit(reason) => write!(formatter, "git has it locked ({reason})"),
            Self::Operation(file) => {
                write!(formatter, "a git operation is in progress ({file} is there)")
            }
            Self::Commits(count) => {
                write!(formatter, "{count} of its commits are on no branch, tag or remote")
            }
            Self::Staged => write!(formatter, "changes are staged"),
            Self::Tracked(path) => write!(formatter, "{} has changes", path.display()),
            Self::Untracked(path) => write!(formatter, "{} is nowhere else", path.display()),
            Self::Nested(path) => {
                write!(formatter, "{} is a repository of its own", path.display())
            }
        }
    }
}

/// What git leaves in the admin directory during an operation.
const OPERATIONS: [&str; 8] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "index.lock",
];

/// What in the tree, which is at `tree` now, is nowhere else; `None` if nothing is.
pub(crate) fn unsaved(git: &Git, row: &Row, tree: &Path) -> Result<Option<Keep>, ApiError> {
    let Some(admin) = &row.admin_dir else {
        return Err(ApiError::new(Code::Registry, "the row names no admin directory"));
    };
    let admin = Admin { path: admin.clone() };
    if let Some(reason) = admin.lock_reason()? {
        return Ok(Some(Keep::LockedByGit(String::from_utf8_lossy(&reason).into_owned())));
    }
    for operation in OPERATIONS {
        if fs_sys::exists(&admin.path.join(operation))? {
            return Ok(Some(Keep::Operation(operation)));
        }
    }
    let context = Context::Explicit { git_dir: &admin.path, work_tree: tree, index: None };
    let commits = git.count_unreachable(context, &heads(&admin)?)?;
    if commits > 0 {
        return Ok(Some(Keep::Commits(commits)));
    }
    if git.has_staged_changes(context)? {
        return Ok(Some(Keep::Staged));
    }
    if let Some(path) = git.first_changed_file(context)? {
        return Ok(Some(Keep::Tracked(path)));
    }
    let provisioned = manifest::load(&admin.path.join(manifest::FILE_NAME))?;
    let tracked: HashSet<Vec<u8>> = git.tracked_paths(context)?.into_iter().collect();
    let dir = fs_sys::open_dir(tree)?;
    unsaved_file(&dir, &Known::new(tracked, provisioned))
}

/// Every commit that HEAD was at while the tree lived: its reflog remembers detached work that HEAD
/// has left since.
fn heads(admin: &Admin) -> Result<Vec<ObjectId>, ApiError> {
    let mut heads: Vec<ObjectId> = admin.reflog_ids()?;
    heads.sort_unstable();
    heads.dedup();
    Ok(heads)
}
