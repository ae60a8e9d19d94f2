//! What `sealed.json` says of a sealed tree.

use std::path::{Path, PathBuf};

use backend::Sealed;
use fs_sys::{ErrorKind, Mode};
use serde::{Deserialize, Serialize};

use super::{TREE, name_of};
use crate::api::{ApiError, Code};

/// The file: without it nothing is sealed.
pub(super) const FILE_NAME: &str = "sealed.json";

const VERSION: u32 = 2;

/// What is known of a sealed tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// What it shares with the other commits of its repository that are sealed under the same settings.
    pub(super) family: String,
    /// The sealed trees whose layers make it up, by the names of their directories: its own first, and
    /// then what is below. No place is in it, so that a store can be moved.
    pub(super) layers: Vec<String>,
    /// Files and links in it, and their bytes.
    pub(super) total: Content,
    /// The same of its own layer.
    pub(super) own: Content,
}

/// Files and links, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Record {
    pub(super) fn new(family: String, layers: Vec<String>, total: Content, own: Content) -> Self {
        Self { version: VERSION, family, layers, total, own }
    }

    /// Its layers, where they are now: beside `directory`, which is its own.
    pub(super) fn sealed(&self, directory: &Path) -> Sealed {
        let layer = |name: &String| directory.with_file_name(name).join(TREE);
        Sealed { layers: self.layers.iter().map(layer).collect() }
    }

    /// Writes it into `directory`: whole or not at all, also when this process is killed now.
    pub(super) fn write(&self, directory: &Path) -> Result<(), ApiError> {
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| ApiError::new(Code::Failed, format!("cannot seal: {error}")))?;
        let beside = "sealed.json.new".as_ref();
        Ok(fs_sys::replace_file(&directory.join(FILE_NAME), beside, &json, Mode(0o600))?)
    }
}

/// The record of the sealed tree in `directory`; `None` if there is none.
pub(super) fn load(directory: &Path) -> Result<Option<Record>, ApiError> {
    let path = directory.join(FILE_NAME);
    let json = match fs_sys::read_file(&path) {
        Ok(json) => json,
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let damaged =
        |why: String| ApiError::new(Code::Failed, format!("{} is damaged: {why}", path.display()));
    let record: Record =
        serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?;
    if record.version != VERSION {
        return Err(damaged(format!("its version is {}", record.version)));
    }
    if record.layers.first() != name_of(directory).as_ref() || !record.layers.iter().all(is_name) {
        return Err(damaged("it names other layers than its own".to_owned()));
    }
    Ok(Some(record))
}

#[expect(clippy::ptr_arg, reason = "it is asked of the elements of a list")]
fn is_name(layer: &String) -> bool {
    !layer.is_empty() && layer.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The directories of the sealed trees in a store, with their records. What cannot be read is left out, and
/// logged.
pub(super) fn list(parent: &Path) -> Result<Vec<(PathBuf, Record)>, ApiError> {
    let mut found = Vec::new();
    let entries = match fs_sys::list(parent) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    for (name, kind) in entries {
        let directory = parent.join(name);
        if kind != fs_sys::Kind::Directory || directory.extension().is_some() {
            continue;
        }
        match load(&directory) {
            Ok(Some(record)) => found.push((directory, record)),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a sealed tree cannot be read"),
        }
    }
    Ok(found)
}
