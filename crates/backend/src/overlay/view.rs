//! The sealed layers of a tree as one directory, without what was written over them.

use std::path::{Path, PathBuf};

use fs_sys::{DetachedMount, Dir, ErrorKind, Kind};

use crate::error::Result;

/// The layers below, merged by the kernel itself: a mount that is nowhere in the tree of directories.
pub(super) struct View {
    root: Dir,
    _mount: Option<DetachedMount>,
}

impl View {
    /// `None` where the kernel is too old for such a mount.
    pub(super) fn of(layers: &[PathBuf]) -> Result<Option<Self>> {
        if let [only] = layers {
            return Ok(Some(Self { root: fs_sys::open_dir(only)?, _mount: None }));
        }
        let overlay = fs_sys::Overlay { lower: layers, writable: None };
        match fs_sys::detached_overlay(&overlay) {
            Ok(mount) => Ok(Some(Self { root: mount.root()?, _mount: Some(mount) })),
            Err(error) if error.kind == ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn root(&self) -> &Dir {
        &self.root
    }
}

/// Everything below the directory `top` of `root`, with its path from `root`. What is another mount is not
/// entered.
pub(super) fn for_each_below(
    root: &Dir,
    top: &Path,
    each: &mut dyn FnMut(&Dir, PathBuf, Kind) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut pending = vec![top.to_owned()];
    while let Some(relative) = pending.pop() {
        let dir = match root.open_beneath(&relative) {
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::CrossDevice) => {
                continue;
            }
            other => other?,
        };
        let mut entries = Vec::new();
        dir.list(&mut buffer, &mut |entry| {
            entries.push((relative.join(entry.name), entry.kind));
            Ok(())
        })?;
        for (path, kind) in entries {
            if kind == Kind::Directory {
                pending.push(path.clone());
            }
            each(&dir, path, kind)?;
        }
    }
    Ok(())
}
