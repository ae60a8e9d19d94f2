//! A tree that is being made, and taking it away again if it is never finished.
//!
//! Everything a making puts anywhere carries the tree's random id in its name or content, so that a
//! late clean-up, even one after a crash, can never hit a successor at the same path.

use std::path::{Path, PathBuf};

use fs_sys::process::{Liveness, liveness};
use fs_sys::{ErrorKind, Mode};
use git_cli::{ADMIN_PARENT, Admin, Git};
use pool_db::{Registry, State, Worktree as Row};

use crate::api::{ApiError, Code};
use crate::place;

/// How often the private directory is tried when what is above it vanishes: a making that fails at
/// the same moment removes the empty directories it had made.
const ATTEMPTS: usize = 10;

/// Takes a half-made tree away when dropped.
pub(crate) struct Making<'a> {
    git: &'a Git,
    registry: &'a Registry,
    row: Row,
    /// Directories above the tree that were made for it, the topmost first.
    made_above: Vec<PathBuf>,
    is_finished: bool,
}

impl<'a> Making<'a> {
    /// Writes the row, then makes the private directory that the tree grows in.
    pub(crate) fn begin(git: &'a Git, registry: &'a Registry, row: Row) -> Result<Self, ApiError> {
        insert(git, registry, &row)?;
        let mut making = Self { git, registry, row, made_above: Vec::new(), is_finished: false };
        making.make_wrapper()?;
        Ok(making)
    }

    fn make_wrapper(&mut self) -> Result<(), ApiError> {
        let wrapper = self.wrapper().to_owned();
        let above = wrapper.parent().unwrap_or(Path::new("/")).to_owned();
        let mode = match self.row.placement {
            pool_db::Placement::Store => Mode(0o700),
            pool_db::Placement::At => Mode(0o777),
        };
        let mut attempt = 1;
        loop {
            self.made_above.extend(fs_sys::make_dirs(&above, mode)?);
            match fs_sys::make_dir(&wrapper, Mode(0o700)) {
                Err(error) if error.kind == ErrorKind::NotFound && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                made => return Ok(made?),
            }
        }
    }

    /// The row, for what becomes known on the way.
    pub(crate) fn row(&mut self) -> &mut Row {
        &mut self.row
    }

    /// The private directory (0700) beside the destination.
    pub(crate) fn wrapper(&self) -> &Path {
        self.row.making_path.as_deref().expect("a row of a making has its directory")
    }

    /// Where the tree grows.
    pub(crate) fn tree(&self) -> PathBuf {
        self.wrapper().join(self.row.id.as_str())
    }

    /// Writes what has become known of the row.
    pub(crate) fn save(&self) -> Result<(), ApiError> {
        Ok(self.registry.update(&self.row)?)
    }

    /// Puts the tree at its place, where nothing may be.
    pub(crate) fn publish(&self) -> Result<(), ApiError> {
        match fs_sys::rename_noreplace(&self.tree(), &self.row.path) {
            Err(error) if error.kind == ErrorKind::Exists => Err(place::exists(&self.row.path)),
            done => Ok(done?),
        }
    }

    /// The tree is whole: from here on it stays.
    pub(crate) fn finish(mut self) -> Result<Row, ApiError> {
        fs_sys::remove_tree(self.wrapper())?;
        self.row.epoch =
            self.registry.transition(self.row.id, State::Making, State::Held, self.row.epoch)?;
        self.row.state = State::Held;
        self.is_finished = true;
        Ok(self.row.clone())
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if let Err(error) = discard(self.git, self.registry, &self.row) {
            tracing::warn!(%error, id = %self.row.id, "a half-made tree stays behind");
        }
        for directory in self.made_above.iter().rev() {
            if let Err(error) = fs_sys::remove_dir(directory)
                && !matches!(
                    error.kind,
                    ErrorKind::NotEmpty | ErrorKind::NotFound | ErrorKind::Exists
                )
            {
                tracing::warn!(%error, "an empty directory stays behind");
            }
        }
    }
}

/// Inserts the row; a half-made tree in the way whose maker is dead is taken away first.
fn insert(git: &Git, registry: &Registry, row: &Row) -> Result<(), ApiError> {
    let holder = match registry.insert(row) {
        Ok(()) => return Ok(()),
        Err(pool_db::Error::NameTaken(holder) | pool_db::Error::PathTaken(holder)) => holder,
        Err(error) => return Err(error.into()),
    };
    if let Some(other) = registry.get(holder.id)?
        && other.state == State::Making
        && liveness(&other.maker) == Liveness::Dead
    {
        discard(git, registry, &other)?;
    }
    Ok(registry.insert(row)?)
}

/// Takes away all that a making left: tree, private directory, registration, branch, row.
pub(crate) fn discard(git: &Git, registry: &Registry, row: &Row) -> Result<(), ApiError> {
    let epoch = registry.transition(row.id, State::Making, State::Removing, row.epoch)?;
    if let Some(wrapper) = &row.making_path {
        if is_published(row) {
            // It got as far as its place and no further: back, so that nobody sees it go.
            fs_sys::rename_noreplace(&row.path, &wrapper.join(row.id.as_str()))?;
        }
        fs_sys::remove_tree(wrapper)?;
    }
    if let Some(admin) = &row.admin_dir {
        fs_sys::remove_tree(admin)?;
        remove_if_empty(&row.repository.common_dir.join(ADMIN_PARENT))?;
    }
    if let (Some(branch), Some(base)) = (&row.branch, &row.base) {
        delete_branch(git, row, branch, &base.commit)?;
    }
    Ok(registry.delete(row.id, epoch)?)
}

/// Whether what is at the row's path is this very tree: its `.git` names the admin directory, whose
/// name is the tree's id.
fn is_published(row: &Row) -> bool {
    let Some(admin) = &row.admin_dir else { return false };
    let admin = Admin { path: admin.clone() };
    fs_sys::read_file(&row.path.join(".git")).is_ok_and(|content| content == admin.git_file())
}

fn remove_if_empty(directory: &Path) -> Result<(), ApiError> {
    match fs_sys::remove_dir(directory) {
        Err(error)
            if !matches!(
                error.kind,
                ErrorKind::NotEmpty | ErrorKind::Exists | ErrorKind::NotFound
            ) =>
        {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// The branch goes if it was made for this tree and is still where it was made.
fn delete_branch(git: &Git, row: &Row, branch: &str, commit: &str) -> Result<(), ApiError> {
    let context = git_cli::Context::Explicit {
        git_dir: &row.repository.common_dir,
        work_tree: &row.repository.common_dir,
        index: None,
    };
    if !git.has_ref(context, &format!("refs/heads/{branch}"))? {
        return Ok(());
    }
    let commit = git_cli::object::ObjectId::from_hex(commit)
        .ok_or_else(|| ApiError::new(Code::Registry, "the row holds no commit"))?;
    Ok(git.delete_branch_at(context, branch, commit)?)
}
