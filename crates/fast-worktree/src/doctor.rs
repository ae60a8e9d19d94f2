//! What works here and what is out of order: rows without trees, trees without rows, work that died.

mod sealed;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use backend::{Kind, Site, Support};
use fs_sys::ErrorKind;
use pool_db::{Registry, State, Worktree as Row, marker};

use crate::api::{
    ApiError, BackendHealth, Debris, DebrisKind, DoctorRequest, DoctorResponse, Repair, Unsaved,
};
use crate::backing::{attach, is_attached};
use crate::config::Configuration;
use crate::create::sample_file;
use crate::place::{self, Store};
use crate::plain;
use crate::reclaim::is_abandoned;
use crate::remove::{Presence, presence};
use crate::service::Service;
use crate::source::Source;

impl Service {
    /// Says what works and what is out of order, and on request puts in order what is fwt's own.
    pub(crate) fn doctor(&self, request: &DoctorRequest) -> Result<DoctorResponse, ApiError> {
        let registry = Registry::open_existing(&self.settings.home)?;
        let source = Source::open(&self.git, registry.as_ref(), &request.directory.0).ok();
        // Where no store can be made, that is told by the backends that are missing.
        let configuration = source.as_ref().and_then(|source| {
            let user_file = self.settings.config.as_deref();
            Configuration::load(registry.as_ref(), user_file, source).ok()
        });
        let store = source.as_ref().zip(configuration.as_ref()).and_then(|(source, found)| {
            let chosen = found.store.as_deref();
            place::store(Store { home: &self.settings.home, chosen }, source).ok()
        });
        let backends = match (&store, &source) {
            (Some(store), Some(source)) => backends(store, source),
            _ => Vec::new(),
        };
        let mut debris = Vec::new();
        let mut worktrees = 0;
        if let Some(registry) = &registry {
            let rows = registry.list_all()?;
            worktrees = rows.len() as u64;
            for row in &rows {
                debris.extend(self.look_at_row(registry, row, request.repair)?);
            }
            let stores = stores(&rows, store.as_deref(), &self.settings.home);
            debris.extend(self.look_at_stores(registry, &rows, &stores, request.repair)?);
        }
        for store in sealing_stores(store.as_deref(), &self.settings.home) {
            let limits = configuration.as_ref().map(|found| found.sealed);
            let known = (registry.as_ref(), limits);
            debris.extend(self.look_at_sealed(&store, known, request.repair)?);
        }
        let git = self.git.version().unwrap_or_else(|error| error.to_string());
        let home = self.settings.home.clone().into();
        Ok(DoctorResponse { home, git, store: store.map(Into::into), backends, worktrees, debris })
    }

    fn look_at_row(
        &self,
        registry: &Registry,
        row: &Row,
        repair: Repair,
    ) -> Result<Option<Debris>, ApiError> {
        let (kind, detail) = match row.state {
            State::Making if is_abandoned(row) => {
                (DebrisKind::HalfMade, "the process that made it is gone".to_owned())
            }
            State::Removing | State::Condemned if is_abandoned(row) => {
                (DebrisKind::HalfRemoved, "the process that removed it is gone".to_owned())
            }
            State::Making | State::Removing | State::Condemned => return Ok(None),
            State::Held | State::Ready if !is_attached(row)? => {
                (DebrisKind::Detached, "it is not mounted: fwt attach mounts it".to_owned())
            }
            State::Held | State::Ready => match presence(registry, row) {
                Ok(Presence::Whole) => return Ok(None),
                Ok(Presence::Gone) if is_registered(registry, row)? => (
                    DebrisKind::Missing,
                    "its directory is gone, its registration is there".to_owned(),
                ),
                Ok(Presence::Gone) => (DebrisKind::Gone, "it was removed without fwt".to_owned()),
                Err(error) => (DebrisKind::Missing, error.message),
            },
        };
        let mut debris = Debris {
            kind,
            id: Some(row.id.to_string()),
            path: row.path.clone().into(),
            detail,
            is_repaired: false,
        };
        if repair == Repair::Debris {
            let done = match kind {
                DebrisKind::HalfMade | DebrisKind::HalfRemoved => {
                    self.take_over(registry, row.clone(), Unsaved::Keep).map(drop)
                }
                DebrisKind::Detached => attach(row).map(drop),
                DebrisKind::Gone => {
                    self.remove_held(registry, row.clone(), Unsaved::Keep).map(drop)
                }
                // A disk that is not mounted looks like this: the tree may come back.
                DebrisKind::Missing
                | DebrisKind::WithoutRow
                | DebrisKind::HalfSealed
                | DebrisKind::StaleName
                | DebrisKind::Altered
                | DebrisKind::Foreign => {
                    return Ok(Some(debris));
                }
            };
            match done {
                Ok(()) => debris.is_repaired = true,
                Err(error) => debris.detail = format!("{}; {}", debris.detail, error.message),
            }
        }
        Ok(Some(debris))
    }

    /// What is in the stores and in no row. A tree with our marker gets its row back; anything else
    /// is somebody's, and only named.
    fn look_at_stores(
        &self,
        registry: &Registry,
        rows: &[Row],
        stores: &BTreeSet<PathBuf>,
        repair: Repair,
    ) -> Result<Vec<Debris>, ApiError> {
        let known: HashSet<&Path> = rows
            .iter()
            .flat_map(|row| [Some(&row.path), row.making_path.as_ref(), row.trash_path.as_ref()])
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        let copies = plain::markers(registry);
        let mut debris = Vec::new();
        for path in stores.iter().flat_map(|store| trees_in(store)) {
            if known.contains(path.as_path()) {
                continue;
            }
            let found = marker_of(&path, &copies).filter(|row| row.path == path);
            let mut entry = Debris {
                kind: if found.is_some() { DebrisKind::WithoutRow } else { DebrisKind::Foreign },
                id: found.as_ref().map(|row| row.id.to_string()),
                path: path.clone().into(),
                detail: match &found {
                    Some(_) => "no row names this tree of ours".to_owned(),
                    None => "fwt did not make this, and leaves it alone".to_owned(),
                },
                is_repaired: false,
            };
            if let (Some(row), Repair::Debris) = (found, repair) {
                let restored = registry.insert_missing(&[row], self.now().seconds)?;
                entry.is_repaired = restored.conflicts.is_empty();
            }
            debris.push(entry);
        }
        Ok(debris)
    }
}

/// The stores that may hold sealed trees.
fn sealing_stores(store: Option<&Path>, home: &Path) -> BTreeSet<PathBuf> {
    store.into_iter().chain([home]).map(Path::to_owned).collect()
}

fn backends(store: &Path, source: &Source) -> Vec<BackendHealth> {
    let sample = sample_file(source.root());
    if let Err(error) = backend::clear_dead_scratch(store) {
        tracing::warn!(%error, "what a probe left stays behind");
    }
    let site = Site { dest: store, sample: sample.as_deref() };
    let of = |kind, support| match support {
        Support::Yes => BackendHealth { backend: kind, reason: None, detail: None },
        Support::No { reason, detail } => BackendHealth {
            backend: kind,
            reason: Some(reason.name().to_owned()),
            detail: Some(detail),
        },
    };
    let all = backend::over_sealed().into_iter().chain(backend::all());
    let probed = all.map(|backend| of(backend.kind(), backend.probe(&site)));
    probed.chain([of(Kind::Checkout, Support::Yes)]).collect()
}

/// The directories that hold worktrees, by repository: those of the rows and those of the stores.
fn stores(rows: &[Row], store: Option<&Path>, home: &Path) -> BTreeSet<PathBuf> {
    let of_rows = rows
        .iter()
        .filter(|row| row.placement == pool_db::Placement::Store)
        .filter_map(|row| row.path.parent().map(Path::to_owned));
    let of_stores = [store, Some(home)].into_iter().flatten().flat_map(|store| {
        let worktrees = store.join("worktrees");
        let entries = fs_sys::list(&worktrees).unwrap_or_default();
        entries.into_iter().map(move |(name, _)| worktrees.join(name)).collect::<Vec<_>>()
    });
    of_rows.chain(of_stores).collect()
}

fn trees_in(directory: &Path) -> Vec<PathBuf> {
    let entries = match fs_sys::list(directory) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind != ErrorKind::NotFound {
                tracing::warn!(%error, "a store cannot be looked into");
            }
            Vec::new()
        }
    };
    entries.into_iter().map(|(name, _)| directory.join(name)).collect()
}

/// Whether what is kept of the tree outside of it is there.
fn is_registered(registry: &Registry, row: &Row) -> Result<bool, ApiError> {
    Ok(fs_sys::exists(&plain::kept_dir(registry, row))?)
}

/// The marker of the tree at `path`: in its own repository, or where its `.git` file points, or among
/// those of the copies of plain directories.
fn marker_of(path: &Path, copies: &[Row]) -> Option<Row> {
    if let Some(copy) = copies.iter().find(|copy| copy.path == path) {
        let is_ours = crate::identity::of(path).is_ok_and(|found| Some(found) == copy.directory);
        return is_ours.then(|| copy.clone());
    }
    let git = path.join(".git");
    let git_dir = match fs_sys::read_file(&git) {
        Ok(content) => git_cli::git_file_target(&content)?,
        Err(_) => git,
    };
    marker::read(&git_dir.join(marker::FILE_NAME)).ok()
}
