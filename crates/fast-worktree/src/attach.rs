//! Mounting trees again after a reboot, or in a store that was moved.

use pool_db::{Registry, State, Worktree as Row};

use crate::api::{ApiError, AttachRequest, AttachResponse, Attached};
use crate::backing;
use crate::service::Service;

impl Service {
    /// Mounts one tree, or all that should be mounted and are not. One that cannot be is reported, and the
    /// rest goes on.
    pub(crate) fn attach(&self, request: &AttachRequest) -> Result<AttachResponse, ApiError> {
        let registry = Registry::open_existing(&self.settings.home)?;
        let rows: Vec<Row> = match (&registry, &request.worktree) {
            (None, None) => Vec::new(),
            (None, Some(wanted)) => return Err(crate::list::none(wanted)),
            (Some(registry), Some(wanted)) => {
                vec![self.find(registry, wanted, &request.directory.0)?]
            }
            (Some(registry), None) => registry.list_all()?,
        };
        let mut worktrees = Vec::new();
        // Trees that are being made or removed are somebody else's business; those that need no mount are
        // mentioned only if they were named.
        let is_wanted = |row: &&Row| {
            matches!(row.state, State::Held | State::Ready)
                && (request.worktree.is_some() || backing::is_overlay(row))
        };
        for row in rows.iter().filter(is_wanted) {
            let done = backing::attach(row);
            if let (Some(_), Err(error)) = (&request.worktree, &done) {
                return Err(error.clone());
            }
            worktrees.push(Attached {
                id: row.id.to_string(),
                name: row.name.clone(),
                path: row.path.clone().into(),
                was_mounted: matches!(done, Ok(false)),
                error: done.err(),
            });
        }
        Ok(AttachResponse { worktrees })
    }
}
