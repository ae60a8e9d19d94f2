//! Finding worktrees: all, those of a repository, or the one that is meant.

use std::path::{Path, PathBuf};

use pool_db::{Registry, RepositoryIdentity, Worktree as Row};

use crate::api::{ApiError, Code, ListRequest, ListResponse, ShowRequest, Worktree};
use crate::row::describe;
use crate::service::Service;
use crate::source::open_repository;
use crate::{identity, lease};

impl Service {
    pub(crate) fn list(&self, request: &ListRequest) -> Result<ListResponse, ApiError> {
        let Some(registry) = Registry::open_existing(&self.settings.home)? else {
            // Nothing was ever made; a wrong directory is still a wrong directory.
            if let Some(source) = &request.source {
                open_repository(&self.git, &source.0)?;
            }
            return Ok(ListResponse { worktrees: Vec::new() });
        };
        let rows = match &request.source {
            None => registry.list_all()?,
            Some(source) => {
                let mut rows = Vec::new();
                for origin in self.origins_of(&registry, &source.0)? {
                    rows.extend(registry.list(&origin)?);
                }
                rows
            }
        };
        let mut leases = registry.current_leases(&self.moment())?;
        let worktrees = rows.iter().map(|row| {
            let lease = leases.remove(&row.id);
            Worktree { lease: lease.as_ref().map(lease::describe), ..describe(row) }
        });
        Ok(ListResponse { worktrees: worktrees.collect() })
    }

    /// What the trees that are meant at `directory` were made from: in a tree of ours its origin, and its
    /// own repository if it has one; else the repository, else the plain directory.
    fn origins_of(
        &self,
        registry: &Registry,
        directory: &Path,
    ) -> Result<Vec<RepositoryIdentity>, ApiError> {
        if let Some(row) = registry.find_by_path_containing(&resolved(directory))? {
            let own = row.path.join(".git");
            let has_own = row.admin_dir.is_none() && !row.is_plain() && fs_sys::exists(&own)?;
            let own = has_own.then(|| identity::of(&own)).transpose()?;
            return Ok([row.repository.identity].into_iter().chain(own).collect());
        }
        let origin = match open_repository(&self.git, directory) {
            Ok(repository) => identity::of(&repository.common_dir)?,
            Err(error) if error.code == Code::NotARepository => {
                plain_origin(registry, directory)?.ok_or(error)?
            }
            Err(error) => return Err(error),
        };
        Ok(vec![origin])
    }

    pub(crate) fn show(&self, request: &ShowRequest) -> Result<Worktree, ApiError> {
        let registry = Registry::open_existing(&self.settings.home)?;
        let registry = registry.ok_or_else(|| none(&request.worktree))?;
        let row = self.find(&registry, &request.worktree, &request.directory.0)?;
        let lease = registry.current_lease(row.id, &self.moment())?;
        Ok(Worktree { lease: lease.as_ref().map(lease::describe), ..describe(&row) })
    }

    /// The worktree that `wanted` means: an id, then a name in the repository of `directory`, then a
    /// path inside a tree, then a name that only one worktree has.
    pub(crate) fn find(
        &self,
        registry: &Registry,
        wanted: &str,
        directory: &Path,
    ) -> Result<Row, ApiError> {
        if let Ok(id) = wanted.parse()
            && let Some(row) = registry.get(id)?
        {
            return Ok(row);
        }
        for origin in self.origins_of(registry, directory).unwrap_or_default() {
            if let Some(row) = registry.find_by_name(&origin, wanted)? {
                return Ok(row);
            }
        }
        let named = directory.join(wanted);
        let path = resolved(&named);
        if let Some(row) = registry.find_by_path_containing(&path)?
            // A name that nobody has is no path into the tree that one happens to stand in.
            && (row.path == path || fs_sys::exists(&named).unwrap_or(true))
        {
            return Ok(row);
        }
        let mut named = registry.find_by_name_anywhere(wanted)?;
        match named.len() {
            1 => Ok(named.remove(0)),
            0 => Err(none(wanted)),
            _ => {
                let places: Vec<String> = named
                    .iter()
                    .map(|row| format!("{} ({})", row.id, row.source.display()))
                    .collect();
                let text = format!("{wanted} names several worktrees: {}", places.join(", "));
                Err(ApiError::new(Code::AmbiguousWorktree, text)
                    .with_hint("name the one by its id"))
            }
        }
    }
}

/// The plain directory at or above `directory` that trees were made of.
fn plain_origin(
    registry: &Registry,
    directory: &Path,
) -> Result<Option<RepositoryIdentity>, ApiError> {
    for ancestor in fs_sys::canonicalize(directory)?.ancestors() {
        // What may not be opened is nothing that anybody copied.
        let Ok(identity) = identity::of(ancestor) else { continue };
        if !registry.list(&identity)?.is_empty() {
            return Ok(Some(identity));
        }
    }
    Ok(None)
}

/// The path with links resolved as far as it exists: rows hold resolved paths.
fn resolved(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let Ok(found) = fs_sys::canonicalize(existing) {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
}

pub(crate) fn none(wanted: &str) -> ApiError {
    ApiError::new(Code::NoSuchWorktree, format!("no worktree goes by {wanted:?}"))
        .with_hint("fwt list --all names them")
}
