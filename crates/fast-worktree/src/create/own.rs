//! What in a source is never carried: fwt's own trees and stores, and a jj workspace's repository.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use copy_engine::Skip;
use pool_db::Registry;

use crate::api::ApiError;
use crate::place;

/// What is left out of a source, whatever is carried.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// Paths below the source's root.
    managed: BTreeSet<PathBuf>,
    has_jj: bool,
}

impl Own {
    /// What there is below `root`.
    pub(crate) fn below(registry: &Registry, root: &Path) -> Result<Self, ApiError> {
        let rows = registry.list_all()?;
        let managed = rows
            .iter()
            .flat_map(|row| [Some(&row.path), row.making_path.as_ref(), row.trash_path.as_ref()])
            .flatten()
            .filter_map(|path| path.strip_prefix(root).ok().map(Path::to_owned))
            // The source itself may be a tree of ours.
            .filter(|relative| !relative.as_os_str().is_empty())
            .collect();
        let has_jj = fs_sys::exists(&root.join(".jj/repo"))?;
        Ok(Self { managed, has_jj })
    }

    /// Why the entry is left out, if it is.
    pub(crate) fn skipped(&self, relative: &Path) -> Option<Skip> {
        let is_store = || relative.file_name().is_some_and(is_store_name);
        if self.has_jj && relative == Path::new(".jj") {
            Some(Skip::JjRepository)
        } else if self.managed.contains(relative) || is_store() {
            Some(Skip::Managed)
        } else {
            None
        }
    }
}

/// Whether it is the name of a store, of whichever user.
fn is_store_name(name: &OsStr) -> bool {
    let user = name.to_str().and_then(|name| name.strip_prefix(place::STORE_PREFIX));
    user.is_some_and(|user| !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_by_their_names() {
        for (name, expected) in [
            (".fwt-0", true),
            (".fwt-61234", true),
            (".fwt-", false),
            (".fwt-abc", false),
            ("fwt-0", false),
        ] {
            assert_eq!(is_store_name(OsStr::new(name)), expected, "{name}");
        }
    }
}
