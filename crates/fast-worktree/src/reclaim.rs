//! Finishing what a process that died left half done, where it is in the way of a new worktree.

use std::path::PathBuf;

use fs_sys::process::{Liveness, liveness, this_process};
use pool_db::{Registry, State, Worktree as Row};

use crate::api::{ApiError, CreateRequest, HookReport, Unsaved};
use crate::create::discard;
use crate::dispose::{dispose, is_tree_of};
use crate::place;
use crate::service::Service;
use crate::source::Source;

impl Service {
    /// Frees the name, the place and the branch of a new worktree of what dead processes left there:
    /// a making is taken away, a removal is gone on with. One that cannot be finished is logged, and
    /// the new worktree then meets it as what is taken.
    pub(crate) fn reclaim(
        &self,
        registry: &Registry,
        source: &Source,
        request: &CreateRequest,
    ) -> Result<(), ApiError> {
        let place: Option<PathBuf> = request.at.as_ref().and_then(|at| place::resolve(&at.0).ok());
        for row in registry.list_unfinished()? {
            let is_same_repository = row.repository.identity == source.identity();
            let is_same_name = is_same_repository && request.name.as_ref() == Some(&row.name);
            let is_same_branch =
                is_same_repository && row.branch.is_some() && request.branch == row.branch;
            let is_same_place = place.as_ref() == Some(&row.path);
            if !(is_same_name || is_same_branch || is_same_place) || !is_abandoned(&row) {
                continue;
            }
            let id = row.id;
            if let Err(error) = self.take_over(registry, row, Unsaved::Keep) {
                tracing::warn!(%error, %id, "what a process that died left cannot be finished");
            }
        }
        Ok(())
    }

    /// Finishes what a process that is dead by now began with a worktree. A removal that was not yet
    /// decided is judged anew.
    pub(crate) fn take_over(
        &self,
        registry: &Registry,
        mut row: Row,
        unsaved: Unsaved,
    ) -> Result<Option<HookReport>, ApiError> {
        match row.state {
            State::Making => {
                // What its setup began is ended, if it got as far as that.
                let is_published = is_tree_of(registry, &row, &row.path);
                let report = if is_published { self.clean_up(registry, &row) } else { None };
                discard(&self.git, registry, &row)?;
                Ok(report)
            }
            State::Removing => {
                row.maker = this_process();
                registry.update(&row)?;
                dispose(&self.git, registry, &row)?;
                Ok(None)
            }
            State::Condemned => {
                row.epoch =
                    registry.transition(row.id, State::Condemned, State::Held, row.epoch)?;
                row.state = State::Held;
                self.remove_held(registry, row, unsaved)
            }
            State::Held | State::Ready => Ok(None),
        }
    }
}

/// Whether the process that makes or removes the worktree is known to be dead.
pub(crate) fn is_abandoned(row: &Row) -> bool {
    liveness(&row.maker) == Liveness::Dead
}
