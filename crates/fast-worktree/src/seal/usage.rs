//! What sealed trees take, and who needs them.

use std::path::Path;

use super::evict::is_below_another;
use super::record::{self, Record};
use super::standing::names;
use super::{SEALED, last_used};
use crate::api::{ApiError, SealedUsage};
use crate::row::rfc3339;

/// The sealed trees of a store, the longest unused first.
pub(crate) fn usage(store: &Path) -> Result<Vec<SealedUsage>, ApiError> {
    let all = record::list(&store.join(SEALED))?;
    let mut found = Vec::new();
    for (directory, record) in &all {
        let over = all.iter().filter(|(_, other)| is_below_another(directory, [other])).count();
        found.push((last_used(directory), describe(directory, record, over)?));
    }
    found.sort_by_key(|(used, _)| *used);
    Ok(found.into_iter().map(|(_, usage)| usage).collect())
}

fn describe(directory: &Path, record: &Record, over: usize) -> Result<SealedUsage, ApiError> {
    Ok(SealedUsage {
        path: directory.to_owned().into(),
        layers: record.layers.len() as u64,
        files: record.total.files,
        bytes: record.total.bytes,
        own_files: record.own.files,
        own_bytes: record.own.bytes,
        worktrees: names(directory)?,
        sealed_over_it: over as u64,
        last_used_at: rfc3339(last_used(directory).seconds),
    })
}
