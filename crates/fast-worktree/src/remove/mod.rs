//! Removing a worktree: judge, move aside, judge again, then delete.

mod area;
mod files;
mod original;
mod presence;
mod verdict;

use std::path::{Path, PathBuf};

use fs_sys::ErrorKind;
use fs_sys::process::this_process;
use git_cli::Admin;
use pool_db::{Lease, Registry, State, Worktree as Row};

pub(crate) use self::presence::{Presence, presence};
use self::presence::{not_ours, require_no_mount, require_no_worktrees};
use self::verdict::Keep;
use crate::api::{ApiError, Code, HookReport, RemoveRequest, RemoveResponse, Unsaved};
use crate::dispose::{dispose, is_tree_of};
use crate::reclaim::is_abandoned;
use crate::service::Service;
use crate::{backing, plain};

/// Why a tree is locked for git while it is judged aside.
const REMOVING_REASON: &str = "fwt is removing this worktree";

impl Service {
    /// Removes a worktree, unless it holds work that is nowhere else.
    pub(crate) fn remove(&self, request: &RemoveRequest) -> Result<RemoveResponse, ApiError> {
        let Some(registry) = Registry::open_existing(&self.settings.home)? else {
            let text = format!("no worktree goes by {:?}", request.worktree);
            return Err(ApiError::new(Code::NoSuchWorktree, text));
        };
        let row = self.find_for_removal(&registry, request)?;
        let mut response = RemoveResponse {
            id: row.id.to_string(),
            name: row.name.clone(),
            path: row.path.clone().into(),
            branch: crate::row::describe(&row).branch,
            hooks: Vec::new(),
        };
        let cleanup = match row.state {
            State::Held => self.remove_held(&registry, row, request.unsaved)?,
            // An earlier making or removal was cut short.
            State::Making | State::Condemned | State::Removing if is_abandoned(&row) => {
                self.take_over(&registry, row, request.unsaved)?
            }
            State::Making | State::Ready | State::Condemned | State::Removing => {
                let text = format!("worktree {} is {}", row.id, row.state);
                return Err(ApiError::new(Code::WrongState, text));
            }
        };
        response.hooks.extend(cleanup);
        Ok(response)
    }

    /// The worktree that is meant. One whose removal was cut short has lost its name and path to
    /// whoever wants them, but as long as nobody has, it is what goes by them.
    fn find_for_removal(
        &self,
        registry: &Registry,
        request: &RemoveRequest,
    ) -> Result<Row, ApiError> {
        let wanted = &request.worktree;
        match self.find(registry, wanted, &request.directory.0) {
            Err(error) if error.code == Code::NoSuchWorktree => {
                let path = request.directory.0.join(wanted);
                let mut rows = registry.list_unfinished()?.into_iter();
                rows.find(|row| {
                    row.state == State::Removing && (row.name == *wanted || row.path == path)
                })
                .ok_or(error)
            }
            found => found,
        }
    }

    /// Removes a worktree that is held.
    pub(crate) fn remove_held(
        &self,
        registry: &Registry,
        mut row: Row,
        unsaved: Unsaved,
    ) -> Result<Option<HookReport>, ApiError> {
        if row.trash_path.is_some() {
            // Somebody died after moving it aside and before deciding.
            put_back(&row)?;
        }
        if let Some(lease) = registry.current_lease(row.id, &self.moment())? {
            let Lease { holder, expires_at, .. } = lease;
            return Err(pool_db::Error::Leased { id: row.id, holder, expires_at }.into());
        }
        let presence = self
            .look_at(registry, &row, unsaved)
            .map_err(|error| require_held(registry, &row).err().unwrap_or(error))?;
        row.maker = this_process();
        row.epoch = registry.condemn(row.id, row.epoch, &row.maker, &self.moment())?;
        row.state = State::Condemned;
        // In the tree as it still is. Whatever becomes of it, the tree is judged again after it.
        let cleanup = match presence {
            Presence::Whole => self.clean_up(registry, &row),
            Presence::Gone => None,
        };
        let decided = self.move_aside(registry, &mut row, presence, unsaved).and_then(|()| {
            Ok(registry.transition(row.id, State::Condemned, State::Removing, row.epoch)?)
        });
        match decided {
            Ok(epoch) => {
                row.epoch = epoch;
                row.state = State::Removing;
                dispose(&self.git, registry, &row)?;
                Ok(cleanup)
            }
            Err(error) => {
                put_back(&row)?;
                hold_again(registry, row);
                Err(error)
            }
        }
    }

    /// The first look at a tree, where it is.
    fn look_at(
        &self,
        registry: &Registry,
        row: &Row,
        unsaved: Unsaved,
    ) -> Result<Presence, ApiError> {
        let presence = presence(registry, row)?;
        if presence == Presence::Whole {
            require_no_mount(row, &row.path)?;
            require_no_worktrees(row, &row.path)?;
        }
        if unsaved == Unsaved::Keep {
            self.judge(registry, row, presence, &row.path)?;
        }
        Ok(presence)
    }

    /// Renames the tree into its trash, where nothing finds it by its path any more, and judges again:
    /// what was written between the first look and the rename is seen now.
    fn move_aside(
        &self,
        registry: &Registry,
        row: &mut Row,
        presence: Presence,
        unsaved: Unsaved,
    ) -> Result<(), ApiError> {
        let trash = trash(row);
        row.trash_path = Some(trash.clone());
        registry.update(row)?;
        if presence == Presence::Whole {
            if let Some(admin) = admin(row) {
                // A `git gc` meanwhile would take the tree for gone, and drop its registration.
                admin.lock(REMOVING_REASON)?;
            }
            backing::move_aside(row, &trash)?;
            if !is_tree_of(registry, row, &backing::aside(row, &trash)) {
                return Err(not_ours(row, "something else took its place"));
            }
            require_no_mount(row, &backing::aside(row, &trash))?;
            require_no_worktrees(row, &backing::aside(row, &trash))?;
        }
        match unsaved {
            Unsaved::Discard => Ok(()),
            Unsaved::Keep => self.judge(registry, row, presence, &backing::aside(row, &trash)),
        }
    }

    /// Whether anything in the tree, which is at `tree` now if it is there, is nowhere else.
    fn judge(
        &self,
        registry: &Registry,
        row: &Row,
        presence: Presence,
        tree: &Path,
    ) -> Result<(), ApiError> {
        let tree = Some(tree).filter(|_| presence == Presence::Whole);
        let keep = match tree {
            Some(tree) if row.is_plain() => {
                verdict::unsaved_in_copy(row, &plain::state_dir(registry, row), tree)?
            }
            None if row.is_plain() => None,
            tree => verdict::unsaved(&self.git, row, tree)?,
        };
        match keep {
            None => Ok(()),
            Some(keep) => Err(refusal(row, &keep)),
        }
    }
}

/// An error if somebody else has begun to remove the worktree meanwhile, which explains all others.
fn require_held(registry: &Registry, row: &Row) -> Result<(), ApiError> {
    match registry.get(row.id)? {
        Some(now) if (now.state, now.epoch) == (row.state, row.epoch) => Ok(()),
        Some(now) => {
            let (id, found, epoch) = (now.id, now.state, now.epoch);
            Err(pool_db::Error::Moved { id, found, epoch }.into())
        }
        None => Err(pool_db::Error::NoSuchWorktree { id: row.id }.into()),
    }
}

/// Where a tree waits for its deletion: beside it and thus on its own file system, so that a rename
/// does it. No two attempts at a removal share one: each puts back only what it moved itself.
fn trash(row: &Row) -> PathBuf {
    let beside = row.path.parent().unwrap_or(Path::new("/"));
    beside.join(format!(".fwt-trash-{}-{}", row.id, row.epoch))
}

/// Puts a tree that was moved aside, or was to be, back to its place.
fn put_back(row: &Row) -> Result<(), ApiError> {
    let Some(trash) = &row.trash_path else { return Ok(()) };
    if backing::is_overlay(row) {
        return backing::mount_back(row, trash);
    }
    match fs_sys::rename_noreplace(trash, &row.path) {
        Err(error) if error.kind == ErrorKind::NotFound => {}
        Err(error) if error.kind == ErrorKind::Exists => {
            let what = format!("that was moved aside to {}", trash.display());
            return Err(not_ours(row, &what));
        }
        done => done?,
    }
    match admin(row) {
        Some(admin) => Ok(admin.unlock(REMOVING_REASON)?),
        None => Ok(()),
    }
}

fn admin(row: &Row) -> Option<Admin> {
    row.admin_dir.clone().map(|path| Admin { path })
}

/// Undoes the condemnation of a tree that is at its place.
fn hold_again(registry: &Registry, mut row: Row) {
    let held = registry.transition(row.id, State::Condemned, State::Held, row.epoch);
    let settled = held.and_then(|epoch| {
        row.epoch = epoch;
        row.state = State::Held;
        row.trash_path = None;
        registry.update(&row)
    });
    if let Err(error) = settled {
        // Whoever moved it meanwhile has it as it is.
        tracing::warn!(%error, id = %row.id, "a worktree that is kept may stay condemned");
    }
}

fn refusal(row: &Row, keep: &Keep) -> ApiError {
    let code = match keep {
        Keep::Operation(_) => Code::OperationInProgress,
        Keep::LockedByGit(_) => Code::LockedByGit,
        Keep::Commits(_)
        | Keep::Staged
        | Keep::Tracked(_)
        | Keep::Untracked(_)
        | Keep::Deleted(_)
        | Keep::Nested(_) => Code::UnsavedWork,
    };
    let text = format!("worktree {} at {} is kept: {keep}", row.name, row.path.display());
    ApiError::new(code, text)
        .with_hint("save what you need, or remove the tree with everything in it by --discard")
}
