//! Giving up old checkpoints, and removing what none needs. Never in the way of a prompt.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use checkpoint::store::{Collected, ContentId, Grace, Store as Objects};
use checkpoint::{Budget, Error, LockedTree, needed_by};

use super::home::{OBJECTS, TREES, all_checkpoints};
use crate::api::{ApiError, CollectCheckpointsResponse};
use crate::service::Service;

/// What the checkpoints of one tree may take.
const BUDGET: Budget = Budget { points: 1000, age_seconds: 30 * 86_400, bytes: 10 << 30 };

/// How long what nothing needs stays, should anything come to need it.
const GRACE_SECONDS: i64 = 3600;

impl Service {
    pub(crate) fn collect_checkpoints(&self) -> Result<CollectCheckpointsResponse, ApiError> {
        let mut response = CollectCheckpointsResponse {
            expired: 0,
            bytes_removed: 0,
            condemned: 0,
            deferred: Vec::new(),
        };
        let now = self.now().seconds;
        for checkpoints in all_checkpoints(self)? {
            if !fs_sys::exists(&checkpoints)? {
                // Its file system is not mounted, or somebody removed it: nothing is there to free.
                continue;
            }
            let objects = Objects::open_existing(&checkpoints.join(OBJECTS))?;
            let trees = checkpoints.join(TREES);
            for tree in list(&trees)? {
                response.expired += match LockedTree::open(&tree) {
                    // A prompt is at its edge there. Another collection finds it at rest.
                    Err(Error::Busy { .. }) => 0,
                    locked => locked?.expire(&objects, BUDGET, now)?,
                };
            }
            let Collected { bytes_removed, condemned, is_deferred } = objects
                .collect(Grace { now, seconds: GRACE_SECONDS }, || needed(&trees, &objects))?;
            response.bytes_removed += bytes_removed;
            response.condemned += condemned;
            response.deferred.extend(is_deferred.then(|| checkpoints.into()));
        }
        Ok(response)
    }
}

/// What any of the logs needs. One that cannot be read fails it all: nothing is removed then.
fn needed(trees: &Path, objects: &Objects) -> Result<HashSet<ContentId>, Error> {
    let mut needed = HashSet::new();
    for tree in list(trees)? {
        needed.extend(needed_by(&tree, objects)?);
    }
    Ok(needed)
}

fn list(trees: &Path) -> Result<Vec<PathBuf>, fs_sys::Error> {
    let listed = if fs_sys::exists(trees)? { fs_sys::list(trees)? } else { Vec::new() };
    Ok(listed.into_iter().map(|(name, _)| trees.join(name)).collect())
}
