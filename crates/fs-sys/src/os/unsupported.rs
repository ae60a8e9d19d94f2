//! What only Linux has: overlays, btrfs, mount tables. Elsewhere each answers that it cannot.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::dir::{Dir, Place};
use crate::error::{Error, Result};
use crate::immutable::Immutable;
use crate::mount::{Failed, Overlay, Superblock, Unmount, Unmounted, Way};
use crate::subvolume::Access;

/// A mount that is not in the tree of directories; there is none here.
#[derive(Debug)]
pub enum DetachedMount {}

impl DetachedMount {
    /// Its topmost directory.
    pub fn root(&self) -> Result<Dir> {
        match *self {}
    }

    /// Mounts it at a directory.
    pub fn attach(self, _point: &Path) -> Result<()> {
        match self {}
    }
}

fn cannot<T>(op: &'static str, path: PathBuf) -> Result<T> {
    Err(Error::new(op, path, Errno::OPNOTSUPP))
}

pub(crate) fn detached_overlay(
    _way: Way,
    _overlay: &Overlay<'_>,
    name: &Path,
) -> std::result::Result<DetachedMount, Failed> {
    cannot("mount", name.to_owned()).map_err(Failed::Way)
}

pub(crate) fn mount_overlay_with_options(
    _overlay: &Overlay<'_>,
    point: &Path,
) -> std::result::Result<(), Failed> {
    cannot("mount", point.to_owned()).map_err(Failed::Mount)
}

pub(crate) fn unmount(point: &Path, _how: Unmount) -> Result<Unmounted> {
    cannot("unmount", point.to_owned())
}

pub(crate) fn may_mount() -> bool {
    false
}

pub(crate) fn superblock_of(_dir: &Dir) -> Result<Option<Superblock>> {
    Ok(None)
}

pub(crate) fn mount_inside(_dir: &Dir) -> Result<std::result::Result<Option<PathBuf>, Errno>> {
    Ok(Err(Errno::NOSYS))
}

pub(crate) fn mount_table(path: &str) -> Result<Vec<u8>> {
    cannot("read", path.into())
}

pub(crate) fn create_subvolume(place: Place<'_>) -> Result<()> {
    cannot("make the subvolume", place.path())
}

pub(crate) fn snapshot_subvolume(_source: &Dir, place: Place<'_>, _access: Access) -> Result<()> {
    cannot("snapshot into", place.path())
}

pub(crate) fn subvolume_access(subvolume: &Dir) -> Result<Access> {
    cannot("look at the subvolume", subvolume.path().to_owned())
}

pub(crate) fn set_subvolume_access(subvolume: &Dir, _access: Access) -> Result<()> {
    cannot("set the access of", subvolume.path().to_owned())
}

pub(crate) fn destroy_subvolume(place: Place<'_>) -> Result<()> {
    cannot("remove the subvolume", place.path())
}

pub(crate) fn has_nested_subvolumes(_subvolume: &Dir) -> Result<Option<bool>> {
    Ok(Some(false))
}

pub(crate) fn make_whiteout(place: Place<'_>) -> Result<()> {
    cannot("make the whiteout", place.path())
}

pub(crate) fn set_immutable(dir: &Dir, _immutable: Immutable) -> Result<()> {
    cannot("set flags of", dir.path().to_owned())
}
