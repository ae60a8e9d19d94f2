//! The sealed tree over which a later commit is sealed.

use std::path::{Path, PathBuf};

use fs_sys::{FileLock, Sharing, try_lock};
use git_cli::index::Index;
use git_cli::object::ObjectFormat;

use super::record::{self, Record};
use super::{INDEX, last_used, lock_of};
use crate::api::ApiError;

/// Layers of a sealed tree at most. The kernel takes 500, and looks each name up in all of them.
pub(super) const MAX_LAYERS: usize = 16;

/// A sealed tree that stays as long as this is held.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) directory: PathBuf,
    pub(super) record: Record,
    _lock: FileLock,
}

impl Base {
    /// The one of a family that was used last. Where that is as high as may be, the lowest of its layers
    /// will do: it is a whole tree, and what differs from it is one layer again.
    pub(super) fn find(parent: &Path, family: &str) -> Result<Option<Self>, ApiError> {
        let mut found: Vec<_> = record::list(parent)?
            .into_iter()
            .filter(|(_, record)| record.family == family)
            .map(|(directory, record)| (last_used(&directory), directory, record))
            .collect();
        found.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        for (_, mut directory, record) in found {
            if record.layers.len() >= MAX_LAYERS
                && let Some(lowest) = record.layers.last()
            {
                directory.set_file_name(lowest);
            }
            if let Some(base) = Self::hold(directory)? {
                return Ok(Some(base));
            }
        }
        Ok(None)
    }

    /// `None` if it is going away.
    fn hold(directory: PathBuf) -> Result<Option<Self>, ApiError> {
        let Some(lock) = try_lock(&lock_of(&directory), Sharing::Shared)? else { return Ok(None) };
        let record = record::load(&directory)?;
        Ok(record.map(|record| Self { directory, record, _lock: lock }))
    }

    pub(super) fn load_index(&self, format: ObjectFormat) -> Result<Index, ApiError> {
        let path = self.directory.join(INDEX);
        let parsed = Index::parse(fs_sys::read_file(&path)?, format);
        Ok(parsed.map_err(|error| git_cli::Error::Index { path, source: error })?)
    }
}
