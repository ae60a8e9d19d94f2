//! Removing a worktree: judge, move aside, judge again, then delete.

mod files;
mod verdict;

use std::path::{Path, PathBuf};

use fs_sys::ErrorKind;
use git_cli::{ADMIN_PARENT, Admin};
use pool_db::{Placement, Registry, State, Worktree as Row, marker};

use self::verdict::Keep;
use crate::api::{ApiError, Code, RemoveRequest, RemoveResponse, Unsaved};
use crate::service::Service;

impl Service {
    /// Removes a worktree, unless it holds work that is nowhere else.
    pub(crate) fn remove(&self, request: &RemoveRequest) -> Result<RemoveResponse, ApiError> {
        let Some(registry) = Registry::open_existing(&self.settings.home)? else {
            let text = format!("no worktree goes by {:?}", request.worktree);
            return Err(ApiError::new(Code::NoSuchWorktree, text));
        };
        let row = self.find(&registry, &request.worktree, &request.directory.0)?;
        let response = RemoveResponse {
            id: row.id.to_string(),
            name: row.name.clone(),
            path: row.path.clone().into(),
            branch: crate::row::describe(&row).branch,
        };
        match row.state {
            State::Held => self.remove_held(&registry, row, request.unsaved)?,
            // An earlier removal was cut short: its verdict stands, its work is resumed.
            State::Removing => finish(&registry, &row, row.epoch)?,
            State::Making | State::Ready | State::Condemned => {
                let text = format!("worktree {} is {}", row.id, row.state);
                return Err(ApiError::new(Code::WrongState, text));
            }
        }
        Ok(response)
    }

    fn remove_held(
        &self,
        registry: &Registry,
        mut row: Row,
        unsaved: Unsaved,
    ) -> Result<(), ApiError> {
        let presence = presence(&row)?;
        if presence == Presence::Whole && unsaved == Unsaved::Keep {
            self.judge(&row, &row.path)?;
        }
        row.epoch = registry.transition(row.id, State::Held, State::Condemned, row.epoch)?;
        row.state = State::Condemned;
        let aside = match self.move_aside(registry, &mut row, presence, unsaved) {
            Ok(()) => Ok(()),
            Err(error) => {
                registry.transition(row.id, State::Condemned, State::Held, row.epoch)?;
                Err(error)
            }
        };
        aside?;
        let epoch = registry.transition(row.id, State::Condemned, State::Removing, row.epoch)?;
        finish(registry, &row, epoch)
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
        if presence == Presence::Gone {
            return Ok(());
        }
        fs_sys::rename_noreplace(&row.path, &trash)?;
        if unsaved == Unsaved::Discard {
            return Ok(());
        }
        let verdict = self.judge(row, &trash);
        if verdict.is_err() {
            // Back to its place; if something took that meanwhile, the trash keeps the work.
            fs_sys::rename_noreplace(&trash, &row.path)?;
        }
        verdict
    }

    /// Whether anything in the tree, which is at `tree` now, is nowhere else.
    fn judge(&self, row: &Row, tree: &Path) -> Result<(), ApiError> {
        match verdict::unsaved(&self.git, row, tree)? {
            None => Ok(()),
            Some(keep) => Err(refusal(row, &keep)),
        }
    }
}

/// How much of a tree is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Directory and registration, each naming the other.
    Whole,
    /// No directory: removed by git or by hand.
    Gone,
}

/// What is there of the tree; an error if something else has its place.
fn presence(row: &Row) -> Result<Presence, ApiError> {
    let not_ours = |what: &str| {
        let text = format!("{} is not the worktree that fwt made: {what}", row.path.display());
        ApiError::new(Code::NotOurs, text).with_hint("fwt leaves it alone; move it away first")
    };
    match fs_sys::stat(&row.path) {
        Err(error) if error.kind == ErrorKind::NotFound => {
            return match registered_elsewhere(row) {
                Some(place) => Err(not_ours(&format!("it was moved to {}", place.display()))),
                None => Ok(Presence::Gone),
            };
        }
        found => found.map(drop)?,
    }
    let Some(admin) = &row.admin_dir else { return Err(not_ours("it has no registration")) };
    let admin = Admin { path: admin.clone() };
    let marker = marker::read(&admin.path.join(marker::FILE_NAME))
        .map_err(|_| not_ours("its marker is missing"))?;
    if (marker.id, &marker.nonce) != (row.id, &row.nonce) {
        return Err(not_ours("its marker names another worktree"));
    }
    match fs_sys::read_file(&row.path.join(".git")) {
        Ok(content) if content == admin.git_file() => Ok(Presence::Whole),
        _ => Err(not_ours("its .git names another repository")),
    }
}

/// Where `git worktree move` put the tree, if it did.
fn registered_elsewhere(row: &Row) -> Option<PathBuf> {
    let admin = Admin { path: row.admin_dir.clone()? };
    let place = admin.tree().ok()?;
    (place != row.path && fs_sys::exists(&place).unwrap_or(true)).then_some(place)
}

/// Where a tree waits for its deletion: on its own file system, so that a rename does it.
fn trash(row: &Row) -> PathBuf {
    let beside = row.path.parent().unwrap_or(Path::new("/"));
    match row.placement {
        Placement::Store | Placement::At => beside.join(format!(".fwt-trash-{}", row.id)),
    }
}

/// Deletes what is left of a tree whose removal is decided: registration first, so that git never
/// sees a worktree that is half gone, then files, then the row.
fn finish(registry: &Registry, row: &Row, epoch: u32) -> Result<(), ApiError> {
    if let Some(admin) = &row.admin_dir {
        fs_sys::remove_tree(admin)?;
        match fs_sys::remove_dir(&row.repository.common_dir.join(ADMIN_PARENT)) {
            Err(error)
                if !matches!(
                    error.kind,
                    ErrorKind::NotEmpty | ErrorKind::Exists | ErrorKind::NotFound
                ) =>
            {
                return Err(error.into());
            }
            _ => {}
        }
    }
    for path in [&row.trash_path, &row.making_path].into_iter().flatten() {
        fs_sys::remove_tree(path)?;
    }
    Ok(registry.delete(row.id, epoch)?)
}

fn refusal(row: &Row, keep: &Keep) -> ApiError {
    let code = match keep {
        Keep::Operation(_) => Code::OperationInProgress,
        Keep::LockedByGit(_) => Code::LockedByGit,
        Keep::Commits(_)
        | Keep::Staged
        | Keep::Tracked(_)
        | Keep::Untracked(_)
        | Keep::Nested(_) => Code::UnsavedWork,
    };
    let text = format!("worktree {} at {} is kept: {keep}", row.name, row.path.display());
    ApiError::new(code, text)
        .with_hint("save what you need, or remove the tree with everything in it by --discard")
}
