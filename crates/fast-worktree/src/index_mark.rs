//! What a tree's index was when the tree got it. While nobody has written to it, it holds exactly the commit
//! that the tree was made of, and git need not be asked what is staged or tracked.
//!
//! A file beside the index has its lstat. Where that is missing, or anything differs, git is asked.

use fs_sys::{ErrorKind, Mode};
use git_cli::Admin;

use crate::api::ApiError;
use crate::manifest::{self, Provisioned};

/// The file's name in the admin directory.
const FILE_NAME: &str = "fwt.index";

/// Writes down what the index is now, which must be that of the tree's commit, with every file in it.
pub(crate) fn record(admin: &Admin) -> Result<(), ApiError> {
    let stat = fs_sys::stat(&admin.index())?;
    let entry = Provisioned { path: b"index".to_vec(), stat, content: None };
    let bytes = manifest::encode(&[entry]);
    Ok(fs_sys::write_new(&admin.path.join(FILE_NAME), &bytes, Mode(0o600))?)
}

/// Whether the index is known to be as it was then.
pub(crate) fn is_untouched(admin: &Admin) -> Result<bool, ApiError> {
    let path = admin.path.join(FILE_NAME);
    if !fs_sys::exists(&path)? {
        return Ok(false);
    }
    let now = match fs_sys::stat(&admin.index()) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(false),
        now => now?,
    };
    // A damaged mark says nothing.
    let then = manifest::load(&path).unwrap_or_default();
    Ok(matches!(&then[..], [then] if now.is_same_content(&then.stat)))
}
