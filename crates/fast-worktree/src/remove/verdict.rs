//! Whether a tree holds anything that is nowhere else. When in doubt it does.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, Mode};
use git_cli::index::{Index, StatBlock};
use git_cli::object::ObjectId;
use git_cli::{Admin, Context, Git};
use pool_db::Worktree as Row;

use super::REMOVING_REASON;
use super::area::Area;
use super::files::{Known, look_through};
use super::original::Original;
use crate::api::{ApiError, Code};
use crate::backing::{self, MOUNTED_REASON};
use crate::hook::made;
use crate::row::git_dir;
use crate::{index_mark, manifest, seal};

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
    /// A file that fwt put there is gone.
    Deleted(PathBuf),
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
            Self::Deleted(path) => {
                write!(formatter, "{} was deleted there, and the source has it", path.display())
            }
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

/// What in the worktree, whose files are at `tree` now if they are there, is nowhere else; `None` if
/// nothing is.
pub(crate) fn unsaved(git: &Git, row: &Row, tree: Option<&Path>) -> Result<Option<Keep>, ApiError> {
    let admin = Admin { path: git_dir(row, tree.unwrap_or(&row.path)) };
    if tree.is_none() && !fs_sys::exists(&admin.path)? {
        return Ok(None);
    }
    let original = Original::of(git, row);
    let state = GitState::of(row, &admin)?;
    let keep = unsaved_in_git(git, &admin, tree.unwrap_or(&admin.path), (row, &original, &state))?;
    match (keep, tree) {
        (None, Some(tree)) => unsaved_in_files(git, (row, &admin, &state), tree, original),
        (keep, _) => Ok(keep),
    }
}

/// What files tell of a linked tree's HEAD and index without git.
struct GitState {
    /// The commit that HEAD is at.
    head: Option<ObjectId>,
    /// Whether HEAD and index are those that the tree was made with, as far as that is known.
    is_as_made: bool,
}

impl GitState {
    fn of(row: &Row, admin: &Admin) -> Result<Self, ApiError> {
        let common_dir = row.admin_dir.as_ref().map(|_| &row.repository.common_dir);
        let head = common_dir.and_then(|common_dir| admin.head_commit(common_dir));
        let is_as_made = head.is_some() && head == base(row) && index_mark::is_untouched(admin)?;
        Ok(Self { head, is_as_made })
    }
}

/// The commit that the tree was made of.
fn base(row: &Row) -> Option<ObjectId> {
    row.base.as_ref().and_then(|base| ObjectId::from_hex(&base.commit))
}

/// The same for a copy of a plain directory, whose manifest is in `state`.
pub(crate) fn unsaved_in_copy(
    row: &Row,
    state: &Path,
    tree: &Path,
) -> Result<Option<Keep>, ApiError> {
    let dir = fs_sys::open_dir(tree)?;
    let provisioned = manifest::load(&state.join(manifest::FILE_NAME))?;
    let made = made::load(state)?;
    let known = Known::new(HashSet::new(), (provisioned, made), Original::of_copy(row));
    let found = look_through(&dir, &known, None)?;
    match found.unsaved {
        None => known.first_deleted(&dir),
        unsaved => Ok(unsaved),
    }
}

/// What git keeps for the worktree alone: locks, operations, commits, the index.
fn unsaved_in_git(
    git: &Git,
    admin: &Admin,
    tree: &Path,
    (row, original, state): (&Row, &Original, &GitState),
) -> Result<Option<Keep>, ApiError> {
    if let Some(reason) = admin.lock_reason()?.filter(|reason| {
        [REMOVING_REASON, MOUNTED_REASON].iter().all(|ours| reason != ours.as_bytes())
    }) {
        return Ok(Some(Keep::LockedByGit(String::from_utf8_lossy(&reason).into_owned())));
    }
    for operation in OPERATIONS {
        if fs_sys::exists(&admin.path.join(operation))? {
            return Ok(Some(Keep::Operation(operation)));
        }
    }
    let context = Context::Explicit { git_dir: &admin.path, work_tree: tree, index: None };
    if let Some(commits) = unsaved_commits(git, (row, state), admin, context)? {
        return Ok(Some(Keep::Commits(commits)));
    }
    if state.is_as_made {
        return Ok(None);
    }
    Ok((git.has_staged_changes(context)? && !original.has_index(admin)?).then_some(Keep::Staged))
}

/// How many commits were made in the tree and are on no branch, tag or remote that stays. Those that
/// the base can reach were there before.
fn unsaved_commits(
    git: &Git,
    (row, state): (&Row, &GitState),
    admin: &Admin,
    context: Context<'_>,
) -> Result<Option<u64>, ApiError> {
    let base = base(row);
    let mut heads = heads(admin)?;
    heads.extend(match state.head {
        Some(head) => Some(head),
        None => git.head_commit(context)?,
    });
    if row.admin_dir.is_some() {
        if heads.iter().all(|head| Some(*head) == base) {
            return Ok(None);
        }
        let count = git.count_unreachable(context, &heads, base)?;
        return Ok((count > 0).then_some(count));
    }
    // The refs of a standalone tree go with it: its commits must be in the repository it came from.
    heads.extend(git.tips(context)?);
    let common_dir = &row.repository.common_dir;
    let origin = Context::Explicit { git_dir: common_dir, work_tree: common_dir, index: None };
    heads.sort_unstable();
    heads.dedup();
    // Where the repository is gone too, all of them count.
    let count = git.count_lost(origin, &heads, base).unwrap_or(heads.len() as u64);
    Ok((count > 0).then_some(count))
}

fn unsaved_in_files(
    git: &Git,
    (row, admin, state): (&Row, &Admin, &GitState),
    tree: &Path,
    original: Original,
) -> Result<Option<Keep>, ApiError> {
    let context = Context::Explicit { git_dir: &admin.path, work_tree: tree, index: None };
    let dir = fs_sys::open_dir(tree)?;
    // What is as it was sealed is in a commit, whatever the index says of it by now.
    let area = backing::changes(row, tree)?.map(Area::of);
    let mut suspects = area.as_ref().map(Area::paths);
    if state.is_as_made
        && let (Some(suspects), Some(sealed)) = (&mut suspects, &row.sealed)
    {
        // What the index holds is what was sealed: all else is not tracked.
        seal::retain_sealed(sealed, suspects)?;
    }
    let changed = match &suspects {
        Some(suspects) => git.changed_among(context, suspects)?,
        None => git.changed_files(context)?,
    };
    let lost = first_lost(&dir, changed, &original)?;
    if lost.is_some() {
        return Ok(lost);
    }
    let mut provisioned = manifest::load(&admin.path.join(manifest::FILE_NAME))?;
    let tracked = match (&row.sealed, &suspects) {
        (_, Some(suspects)) => git.compared_among(context, suspects)?,
        (Some(sealed), None) => {
            // Of a path that was carried over as well the tree's own entry is the last, which counts.
            provisioned = [seal::provisioned(sealed)?, provisioned].concat();
            git.compared_paths(context)?
        }
        (None, None) => git.compared_paths(context)?,
    };
    let mut made = made::load(&admin.path)?;
    if row.sealed.is_some() {
        // A snapshot or a mount has a device of its own, and another after each time it is mounted.
        let device = dir.stat()?.dev;
        provisioned.iter_mut().chain(&mut made).for_each(|entry| entry.stat.dev = device);
    }
    let known = Known::new(tracked.into_iter().collect(), (provisioned, made), original);
    let found = look_through(&dir, &known, area.as_ref())?;
    if found.unsaved.is_some() || found.doubtful.is_empty() {
        return Ok(found.unsaved);
    }
    compare_again(git, admin, tree, (&found.doubtful, known.original()))
}

/// The first changed file that the tree's source does not have as it is.
fn first_lost(
    tree: &Dir,
    changed: Vec<PathBuf>,
    original: &Original,
) -> Result<Option<Keep>, ApiError> {
    for path in changed {
        if !original.has(tree, &path)? {
            return Ok(Some(Keep::Tracked(path)));
        }
    }
    Ok(None)
}

/// Has git compare the bytes of these files, by an index of its own that knows nothing of their times.
fn compare_again(
    git: &Git,
    admin: &Admin,
    tree: &Path,
    (doubtful, original): (&HashSet<Vec<u8>>, &Original),
) -> Result<Option<Keep>, ApiError> {
    const NAME: &str = "index.fwt";
    let own = admin.path.join(NAME);
    let context = Context::Explicit { git_dir: &admin.path, work_tree: tree, index: Some(&own) };
    let write = |bytes: &[u8]| {
        let beside = OsStr::new("index.fwt.new");
        fs_sys::replace_file(&own, beside, bytes, Mode(0o600))
    };
    write(&fs_sys::read_file(&admin.index())?)?;
    git.unsplit_index(context)?;
    let changed = forget_times(git, context, &own, doubtful)
        .and_then(|bytes| Ok(write(&bytes)?))
        .and_then(|()| {
            let doubtful: Vec<&[u8]> = doubtful.iter().map(Vec::as_slice).collect();
            Ok(git.changed_among(context, &doubtful)?)
        });
    fs_sys::remove_file(&own)?;
    first_lost(&fs_sys::open_dir(tree)?, changed?, original)
}

/// The index at `path` without the stat data of these files.
fn forget_times(
    git: &Git,
    context: Context<'_>,
    path: &Path,
    doubtful: &HashSet<Vec<u8>>,
) -> Result<Vec<u8>, ApiError> {
    let format = git.object_format(context)?;
    let damaged = |error| git_cli::Error::Index { path: path.to_owned(), source: error };
    let index = Index::parse(fs_sys::read_file(path)?, format).map_err(damaged)?;
    let numbers = index.iter().enumerate().filter(|(_, entry)| doubtful.contains(entry.path));
    let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
    let mut patch = index.into_patch().map_err(|error| {
        ApiError::new(Code::Failed, format!("cannot change a copy of the index: {error}"))
    })?;
    for number in numbers {
        patch.set_stat(number, &StatBlock::default());
    }
    Ok(patch.finish())
}

/// Every commit that HEAD was at while the tree lived: its reflog remembers detached work that HEAD
/// has left since.
fn heads(admin: &Admin) -> Result<Vec<ObjectId>, ApiError> {
    let mut heads: Vec<ObjectId> = admin.reflog_ids()?;
    heads.sort_unstable();
    heads.dedup();
    Ok(heads)
}
