//! What a sealed tree holds, for comparing a source with it: its files and its directories.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Mode, Stat};
use git_cli::index::Index;
use walk::{Descend, Directory, Entry, Visitor, walk};

use super::compare::Comparison;
use super::{Held, TREE};
use crate::api::ApiError;
use crate::create::as_path;
use crate::manifest::{self, Provisioned};

/// Where the directories are written down, in the format of a manifest.
pub(super) const DIRECTORIES: &str = "directories";

/// What is in a sealed tree.
#[derive(Debug)]
pub(crate) struct Image {
    /// Files and links, sorted by path.
    pub(crate) files: Vec<Provisioned>,
    /// Its directories by their paths, and what is known of them.
    pub(crate) directories: HashMap<PathBuf, Option<Stat>>,
}

impl Image {
    /// Whether anything is at `path`.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_bytes();
        self.directories.contains_key(path)
            || self.files.binary_search_by(|file| file.path.as_slice().cmp(bytes)).is_ok()
    }
}

impl Held {
    /// Reads what is in it.
    pub(crate) fn image(&self) -> Result<Image, ApiError> {
        let files = super::provisioned(&self.directory)?;
        let mut directories = HashMap::new();
        let path = self.directory.join(DIRECTORIES);
        if fs_sys::exists(&path)? {
            for Provisioned { path, stat, .. } in manifest::load(&path)? {
                directories.insert(as_path(&path).to_owned(), Some(stat));
            }
        } else {
            let above = |file: &Provisioned| -> Vec<PathBuf> {
                as_path(&file.path).ancestors().skip(1).map(Path::to_owned).collect()
            };
            directories.extend(files.iter().flat_map(above).map(|path| (path, None)));
            directories.remove(Path::new(""));
        }
        Ok(Image { files, directories })
    }
}

/// Gives the directories of a tree that is being sealed the times of the source's, so that a tree that
/// carries the source as it is need not have its own, and writes down what they are then.
pub(super) fn record_directories(source: &Dir, tree: &Dir, part: &Path) -> Result<(), ApiError> {
    let new_visitor = || Recorder { source, found: Vec::new() };
    let recorders = walk(tree, copy_engine::default_workers(), new_visitor)?;
    let mut all: Vec<Provisioned> = recorders.into_iter().flat_map(|one| one.found).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(fs_sys::write_new(&part.join(DIRECTORIES), &manifest::encode(&all), Mode(0o600))?)
}

/// The same of a tree that differs from the one in `base`: those in which something changed are looked at, and
/// the others are as they were.
pub(super) fn record_changed(
    (base, part): (&Path, &Path),
    target: &Index,
    comparison: &Comparison,
) -> Result<(), ApiError> {
    let recorded = base.join(DIRECTORIES);
    if !fs_sys::exists(&recorded)? {
        return Ok(());
    }
    let written = comparison.written.iter().map(|number| target.entry(*number as usize));
    let (mut changed, mut touched) = (HashSet::new(), BTreeSet::new());
    for path in
        written.map(|entry| as_path(entry.path)).chain(comparison.gone.iter().map(|path| &**path))
    {
        changed.insert(path);
        touched.extend(path.ancestors());
    }
    let tree = fs_sys::open_dir(&part.join(TREE))?;
    let mut all = manifest::load(&recorded)?;
    all.retain(|directory| {
        let path = as_path(&directory.path);
        !touched.contains(path) && !path.ancestors().any(|above| changed.contains(above))
    });
    for path in touched.iter().filter(|path| !path.as_os_str().is_empty()) {
        match tree.open_beneath(path) {
            Ok(dir) => {
                let path = path.as_os_str().as_bytes().to_vec();
                all.push(Provisioned { path, stat: dir.stat()?, content: None });
            }
            Err(error) if is_no_directory(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(fs_sys::write_new(&part.join(DIRECTORIES), &manifest::encode(&all), Mode(0o600))?)
}

struct Recorder<'a> {
    source: &'a Dir,
    found: Vec<Provisioned>,
}

impl Visitor for Recorder<'_> {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        let relative = parent.relative.join(&entry.name);
        let dir = parent.dir.open_child(&entry.name)?;
        match self.source.open_beneath(&relative) {
            Ok(like) => dir.set_mtime(like.stat()?.mtime)?,
            Err(error) if is_no_directory(&error) => {}
            Err(error) => return Err(error.into()),
        }
        let path = relative.as_os_str().as_bytes().to_vec();
        self.found.push(Provisioned { path, stat: dir.stat()?, content: None });
        Ok(Descend::Into)
    }

    fn files(&mut self, _parent: &Directory, _files: &[Entry]) -> Result<(), ApiError> {
        Ok(())
    }
}

fn is_no_directory(error: &fs_sys::Error) -> bool {
    matches!(
        error.kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::Link
            | ErrorKind::CrossDevice
            | ErrorKind::Denied
            | ErrorKind::NameTooLong
    )
}
