//! What a setup hook put into a tree: it can be made again, and is no work of anybody's until somebody
//! touches it.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Kind, Mode, Stat};
use walk::{Descend, Directory, Entry, Ignore, Visitor, walk};

use crate::api::ApiError;
use crate::create::not_its_own;
use crate::manifest::{self, Provisioned};

/// The name of its manifest, beside that of what was provisioned.
pub(crate) const FILE_NAME: &str = "fwt.setup";

/// Writes into `state` what in `tree` is not as it was provisioned. What the project's ignore files
/// write off as whole directories is left out: nobody asks for it.
pub(crate) fn record(
    tree: &Path,
    state: &Path,
    provisioned: &[Provisioned],
) -> Result<(), ApiError> {
    let known: HashMap<&[u8], &Stat> =
        provisioned.iter().map(|entry| (&*entry.path, &entry.stat)).collect();
    let dir = fs_sys::open_dir(tree)?;
    let searches =
        walk(&dir, copy_engine::default_workers(), || Search { known: &known, made: Vec::new() })?;
    let mut made: Vec<Provisioned> = searches.into_iter().flat_map(|search| search.made).collect();
    made.sort_by(|a, b| a.path.cmp(&b.path));
    fs_sys::write_new(&state.join(FILE_NAME), &manifest::encode(&made), Mode(0o600))?;
    Ok(())
}

/// What was recorded; nothing if no hook ran.
pub(crate) fn load(state: &Path) -> Result<Vec<Provisioned>, ApiError> {
    let path = state.join(FILE_NAME);
    if fs_sys::exists(&path)? { manifest::load(&path) } else { Ok(Vec::new()) }
}

struct Search<'a> {
    known: &'a HashMap<&'a [u8], &'a Stat>,
    made: Vec<Provisioned>,
}

impl Visitor for Search<'_> {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        let is_git = parent.relative.as_os_str().is_empty() && entry.name == ".git";
        if is_git
            || entry.ignore == Ignore::Ignored
            || not_its_own(&parent.dir, &entry.name).is_some()
        {
            return Ok(Descend::Past);
        }
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), ApiError> {
        for entry in files.iter().filter(|entry| entry.kind != Kind::Directory) {
            let path = parent.relative.join(&entry.name).as_os_str().as_bytes().to_vec();
            let stat = fs_sys::stat_at(parent.dir.at(&entry.name))?;
            let is_known = self.known.get(&*path).is_some_and(|then| stat.is_same_content(then));
            if !is_known && path != b".git" {
                self.made.push(Provisioned { path, stat, content: None });
            }
        }
        Ok(())
    }
}
