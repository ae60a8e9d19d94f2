//! Who holds a worktree: acquire, touch, release.

use fs_sys::process;
use pool_db::{Lease, LeaseId, Moment, Registry, Worktree as Row};

use crate::api::{
    AcquireRequest, ApiError, Code, LeaseInfo, LeaseTerms, ReleaseRequest, ReleaseResponse,
    TouchRequest, TouchResponse, WirePath, Worktree,
};
use crate::list::none;
use crate::row::rfc3339;
use crate::service::Service;

impl Service {
    /// Makes a worktree that is held from its beginning.
    pub(crate) fn acquire(&self, request: &AcquireRequest) -> Result<Worktree, ApiError> {
        let lease = new_lease(&request.lease, &self.moment())?;
        self.create_held(&request.worktree, Some(&lease))
    }

    /// Prolongs a lease.
    pub(crate) fn touch(&self, request: &TouchRequest) -> Result<TouchResponse, ApiError> {
        let (registry, row, lease) =
            self.leased(&request.worktree, &request.directory, &request.lease)?;
        let lease = registry.touch(row.id, lease, &self.moment())?;
        Ok(TouchResponse { id: row.id.to_string(), name: row.name, lease: describe(&lease) })
    }

    /// Gives a lease back.
    pub(crate) fn release(&self, request: &ReleaseRequest) -> Result<ReleaseResponse, ApiError> {
        let (registry, row, lease) =
            self.leased(&request.worktree, &request.directory, &request.lease)?;
        registry.release(row.id, lease, self.now().seconds)?;
        Ok(ReleaseResponse { id: row.id.to_string(), name: row.name, path: row.path.into() })
    }

    fn leased(
        &self,
        worktree: &str,
        directory: &WirePath,
        lease: &str,
    ) -> Result<(Registry, Row, LeaseId), ApiError> {
        let registry = Registry::open_existing(&self.settings.home)?;
        let registry = registry.ok_or_else(|| none(worktree))?;
        let row = self.find(&registry, worktree, &directory.0)?;
        // What cannot be a lease is not this worktree's.
        let stale = |_| pool_db::Error::StaleLease { id: row.id };
        let lease = lease.parse().map_err(stale)?;
        Ok((registry, row, lease))
    }
}

fn new_lease(terms: &LeaseTerms, now: &Moment) -> Result<Lease, ApiError> {
    if terms.ttl_seconds == 0 {
        return Err(ApiError::new(Code::BadRequest, "a lease of no time is none"));
    }
    let process = match terms.pid {
        None => None,
        Some(pid) => Some(process::find(pid).ok_or_else(|| {
            ApiError::new(Code::BadRequest, format!("there is no process {pid} to hold it for"))
        })?),
    };
    let ttl_seconds = i64::from(terms.ttl_seconds);
    Ok(Lease {
        id: LeaseId::random()?,
        holder: terms.holder.clone(),
        process,
        acquired_at: now.wall,
        touched_at: now.wall,
        ttl_seconds,
        expires_at: now.wall.saturating_add(ttl_seconds),
        released_at: None,
    })
}

/// As the wire has it.
pub(crate) fn describe(lease: &Lease) -> LeaseInfo {
    LeaseInfo {
        id: lease.id.to_string(),
        holder: lease.holder.clone(),
        expires_at: rfc3339(lease.expires_at),
    }
}
