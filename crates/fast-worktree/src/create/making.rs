//! A tree that is being made, and taking it away again if it is never finished.
//!
//! Everything a making puts anywhere carries the tree's random id in its name or content, so that a
//! late clean-up, even one after a crash, can never hit a successor at the same path.

use std::path::{Path, PathBuf};

use fs_sys::process::this_process;
use fs_sys::{ErrorKind, Mode};
use git_cli::Git;
use pool_db::{Lease, Moment, Registry, State, Worktree as Row};

use crate::api::ApiError;
use crate::dispose::dispose;
use crate::{backing, place};

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
    pub(crate) fn begin(
        git: &'a Git,
        registry: &'a Registry,
        row: Row,
        lease: Option<(&Lease, Moment)>,
    ) -> Result<Self, ApiError> {
        match lease {
            None => registry.insert(&row)?,
            Some((lease, now)) => registry.insert_leased(&row, lease, &now)?,
        }
        let mut making = Self { git, registry, row, made_above: Vec::new(), is_finished: false };
        // Not before the row is in: a half-made tree of a dead maker may have been here until then.
        if fs_sys::exists(&making.row.path)? {
            return Err(place::exists(&making.row.path));
        }
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

    /// Where the tree grows. What is mounted cannot be moved: it is at its place from the beginning.
    pub(crate) fn tree(&self) -> PathBuf {
        if backing::is_overlay(&self.row) { self.row.path.clone() } else { self.hidden_tree() }
    }

    /// A place for a tree in the private directory.
    pub(crate) fn hidden_tree(&self) -> PathBuf {
        self.wrapper().join(self.row.id.as_str())
    }

    /// Where a standalone tree's repository is made until it moves into the tree.
    pub(crate) fn own_repository(&self) -> PathBuf {
        self.wrapper().join("git")
    }

    /// Where the row is.
    pub(crate) fn registry(&self) -> &'a Registry {
        self.registry
    }

    /// Writes what has become known of the row.
    pub(crate) fn save(&self) -> Result<(), ApiError> {
        Ok(self.registry.update(&self.row)?)
    }

    /// Puts the tree at its place, where nothing may be.
    pub(crate) fn publish(&self) -> Result<(), ApiError> {
        if backing::is_overlay(&self.row) {
            return Ok(());
        }
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

/// Takes away all that a making left: tree, private directory, registration, branch, row.
pub(crate) fn discard(git: &Git, registry: &Registry, row: &Row) -> Result<(), ApiError> {
    let mut row = row.clone();
    row.epoch = registry.transition(row.id, State::Making, State::Removing, row.epoch)?;
    row.state = State::Removing;
    row.maker = this_process();
    registry.update(&row)?;
    dispose(git, registry, &row)
}
