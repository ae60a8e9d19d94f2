//! What is out of order among sealed trees: what sealings and evictions that died have left, and names of
//! worktrees that are no more.

use std::path::{Path, PathBuf};

use pool_db::Registry;

use crate::api::{ApiError, Debris, DebrisKind, Repair};
use crate::limits::Limits;
use crate::seal;
use crate::service::Service;

impl Service {
    /// Looks at the sealed trees of a store. Nobody has ever worked in any of them. In passing those go that
    /// are over the limits, where these are known.
    pub(super) fn look_at_sealed(
        &self,
        store: &Path,
        (registry, limits): (Option<&Registry>, Option<Limits>),
        repair: Repair,
    ) -> Result<Vec<Debris>, ApiError> {
        let home = self.settings.home.as_path();
        let mut debris = Vec::new();
        for path in seal::half_sealed(store)? {
            let detail = "the process that sealed or removed it is gone";
            let remove = || seal::remove_half_sealed(&path);
            debris.push(put_right((DebrisKind::HalfSealed, None, &path), detail, repair, remove));
        }
        let stale = registry.map(|registry| seal::stale_names(store, (registry, home)));
        for stale in stale.transpose()?.unwrap_or_default() {
            let detail = "it is kept for a worktree that is gone";
            let what = (DebrisKind::StaleName, Some(&stale.id), &stale.sealed);
            debris.push(put_right(what, detail, repair, || seal::remove_stale(&stale)));
        }
        // Whoever has changed it may miss the change: it is not undone, nor taken away.
        debris.extend(seal::altered(store)?.into_iter().map(|altered| Debris {
            kind: DebrisKind::Altered,
            id: None,
            detail: format!(
                "{} is not as it was sealed, nor are {} more: remove it once no worktree stands on it",
                altered.first.display(),
                altered.count - 1
            ),
            path: altered.sealed.into(),
            is_repaired: false,
        }));
        if repair == Repair::Debris {
            if let Some(limits) = limits {
                seal::evict(store, limits, (home, self.now()))?;
            }
            seal::sweep_locks(store)?;
        }
        Ok(debris)
    }
}

fn put_right(
    (kind, id, path): (DebrisKind, Option<&String>, &PathBuf),
    detail: &str,
    repair: Repair,
    remove: impl FnOnce() -> Result<(), ApiError>,
) -> Debris {
    let mut debris = Debris {
        kind,
        id: id.cloned(),
        path: path.clone().into(),
        detail: detail.to_owned(),
        is_repaired: false,
    };
    if repair == Repair::Debris {
        match remove() {
            Ok(()) => debris.is_repaired = true,
            Err(error) => debris.detail = format!("{}; {}", debris.detail, error.message),
        }
    }
    debris
}
