//! Whether sealed trees are as they were sealed: by the lstat of everything in them, contents are not read.

use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Stat};

use super::image::DIRECTORIES;
use super::record::{self, Record};
use super::{SEALED, TREE};
use crate::api::ApiError;
use crate::create::as_path;
use crate::manifest;

/// A sealed tree in which somebody has changed something.
#[derive(Debug)]
pub(crate) struct Altered {
    pub(crate) sealed: PathBuf,
    /// The first that is not as it was, and how many there are.
    pub(crate) first: PathBuf,
    pub(crate) count: usize,
}

/// The altered trees of a store. Of an ignored directory nothing is written down that it could be compared with.
pub(crate) fn altered(store: &Path) -> Result<Vec<Altered>, ApiError> {
    let mut all = Vec::new();
    for (sealed, record) in record::list(&store.join(SEALED))? {
        let mut changed = changed_in(&sealed, &record)?;
        changed.sort();
        let count = changed.len();
        all.extend(changed.into_iter().next().map(|first| Altered { sealed, first, count }));
    }
    Ok(all)
}

/// What is not as it was in a tree's own layer; each layer below is another tree's own.
fn changed_in(sealed: &Path, record: &Record) -> Result<Vec<PathBuf>, ApiError> {
    let layer = fs_sys::open_dir(&sealed.join(TREE))?;
    let is_alone = record.layers.len() == 1;
    let mut changed = Vec::new();
    // A stack has nothing of its own but the directories that lead to its parts.
    if !is_alone && record.own.files == 0 {
        return Ok(changed);
    }
    for list in [manifest::FILE_NAME, DIRECTORIES] {
        let list = sealed.join(list);
        if !fs_sys::exists(&list)? {
            continue;
        }
        for then in manifest::load(&list)? {
            let path = as_path(&then.path);
            let is_same = match look_at(&layer, path)? {
                Some(now) => is_same(&now, &then.stat),
                None => !is_alone,
            };
            if !is_same {
                changed.push(path.to_owned());
            }
        }
    }
    Ok(changed)
}

/// `None` if the layer has nothing there, or what hides something below.
fn look_at(layer: &Dir, path: &Path) -> Result<Option<Stat>, ApiError> {
    let parent = layer.open_beneath(path.parent().unwrap_or(Path::new("")));
    let found =
        parent.and_then(|dir| fs_sys::stat_at(dir.at(path.file_name().unwrap_or_default())));
    match found {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// A store that was copied has other inodes and other times that no program can set.
fn is_same(now: &Stat, then: &Stat) -> bool {
    let is_copy = (now.dev, now.ino) != (then.dev, then.ino);
    (now.kind, now.mode, now.mtime) == (then.kind, then.mode, then.mtime)
        && (now.size == then.size || now.kind == fs_sys::Kind::Directory)
        && (is_copy || now.ctime == then.ctime)
}
