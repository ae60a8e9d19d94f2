//! What the stores hold: sealed trees, who stands on them, and what worktrees take of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backend::Kind;
use fs_sys::ErrorKind;
use pool_db::{Registry, Worktree as Row};

use crate::api::{ApiError, DiskUsageRequest, DiskUsageResponse, StoreUsage, WorktreeUsage};
use crate::backing::private_dir;
use crate::config::Configuration;
use crate::place::{self, Store};
use crate::service::Service;
use crate::source::Source;
use crate::{backing, row, seal};

impl Service {
    /// Looks at the stores of this home, and at the one for trees of the request's directory.
    pub(crate) fn usage(&self, request: &DiskUsageRequest) -> Result<DiskUsageResponse, ApiError> {
        let registry = Registry::open_existing(&self.settings.home)?;
        let rows = registry.as_ref().map_or_else(|| Ok(Vec::new()), Registry::list_all)?;
        let mut stores = BTreeSet::from([self.settings.home.clone()]);
        stores.extend(rows.iter().filter_map(backing::store));
        stores.extend(self.store_here(registry.as_ref(), &request.directory.0));
        let mut found = Vec::new();
        for path in stores {
            let sealed = seal::usage(&path)?;
            if !sealed.is_empty() {
                let sealed_bytes = sealed.iter().map(|one| one.own_bytes).sum();
                found.push(StoreUsage { path: path.into(), sealed, sealed_bytes });
            }
        }
        let worktrees = rows.iter().map(usage_of).collect::<Result<_, _>>()?;
        Ok(DiskUsageResponse { stores: found, worktrees })
    }

    /// The store for trees of a directory, where that is a source.
    fn store_here(&self, registry: Option<&Registry>, directory: &Path) -> Option<PathBuf> {
        let source = Source::open(&self.git, registry, directory).ok()?;
        let user_file = self.settings.config.as_deref();
        let configuration = Configuration::load(registry, user_file, &source).ok()?;
        let chosen = configuration.store.as_deref();
        place::store(Store { home: &self.settings.home, chosen }, &source).ok()
    }
}

fn usage_of(row: &Row) -> Result<WorktreeUsage, ApiError> {
    let backend = row::kind(row);
    let own = match (&row.sealed, backend) {
        (Some(sealed), Kind::Overlay) => Some(private_dir(sealed, row).join("upper")),
        (_, Kind::Copy | Kind::Checkout) => Some(row.path.clone()),
        // What these share with others, only the file system knows.
        _ => None,
    };
    Ok(WorktreeUsage {
        id: row.id.to_string(),
        name: row.name.clone(),
        path: row.path.clone().into(),
        backend,
        own_bytes: own.map(|own| allocated(&own)).transpose()?,
    })
}

/// Bytes of all that is below a directory, as the file system has allocated them. What vanishes meanwhile,
/// or may not be read, does not count.
fn allocated(directory: &Path) -> Result<u64, ApiError> {
    const BLOCK_BYTES: u64 = 512;
    let is_passed = |error: &fs_sys::Error| {
        matches!(
            error.kind,
            ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::Denied
                | ErrorKind::CrossDevice
        )
    };
    let root = match fs_sys::open_dir(directory) {
        Err(error) if is_passed(&error) => return Ok(0),
        other => other?,
    };
    let (mut bytes, mut buffer) = (0, Vec::new());
    let mut seen = BTreeSet::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        let dir = match root.open_beneath(&relative) {
            Err(error) if is_passed(&error) => continue,
            other => other?,
        };
        bytes += dir.stat()?.blocks * BLOCK_BYTES;
        let mut names = Vec::new();
        dir.list(&mut buffer, &mut |entry| {
            names.push(entry.name.to_owned());
            Ok(())
        })?;
        for name in names {
            let stat = match fs_sys::stat_at(dir.at(&name)) {
                Err(error) if is_passed(&error) => continue,
                other => other?,
            };
            if stat.kind == fs_sys::Kind::Directory {
                pending.push(relative.join(name));
            } else if stat.links == 1 || seen.insert(stat.ino) {
                bytes += stat.blocks * BLOCK_BYTES;
            }
        }
    }
    Ok(bytes)
}
