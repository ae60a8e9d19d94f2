//! What tells a repository apart, wherever it moves.

use std::path::Path;

use fs_sys::Identity;
use pool_db::RepositoryIdentity;

use crate::api::ApiError;

/// The identity of the repository whose common directory this is.
pub(crate) fn of(common_dir: &Path) -> Result<RepositoryIdentity, ApiError> {
    let dir = fs_sys::open_dir(common_dir)?;
    Ok(Identity::of(&dir)?.into())
}
