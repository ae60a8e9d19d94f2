//! `btrfs`: a tree is a snapshot of a sealed, read-only subvolume; no program and no root needed.

use std::path::{Path, PathBuf};

use copy_engine::{Bytes, Cancel, Progress};
use fs_sys::{Access, ErrorKind, FileSystem, Mode};

use crate::capture::{Captured, TopGit};
use crate::contract::{Backend, Content, GIT, Kind, Parent, Prepared, Site, Support};
use crate::error::Result;
use crate::undo::Undo;
use crate::{Active, Error, Reason, Sealed, Unfinished, capture, probe};

/// The backend.
#[derive(Clone, Copy, Debug)]
pub struct Btrfs;

impl Backend for Btrfs {
    fn kind(&self) -> Kind {
        Kind::Btrfs
    }

    fn probe(&self, site: &Site<'_>) -> Support {
        let dest = site.dest.parent().unwrap_or(site.dest).display();
        let found = fs_sys::open_dir(site.dest).and_then(|dir| FileSystem::of(&dir));
        if matches!(found, Ok(found) if found != FileSystem::Btrfs) {
            let detail = format!("{dest} is not on btrfs");
            return Support::No { reason: Reason::NotBtrfs, detail };
        }
        match found.and_then(|_| try_snapshots(site.dest)) {
            Err(error) if probe::is_cannot(&error) => {
                let detail = format!("no subvolume can be made at {dest}: {}", error.source);
                Support::No { reason: Reason::NoSubvolumes, detail }
            }
            Ok(()) | Err(_) => Support::Yes,
        }
    }

    fn prepare(
        &self,
        parent: &Parent<'_>,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Prepared> {
        let active = self.begin(parent, dest, progress, cancel)?.finish()?;
        Ok(Prepared { active, content: Content::Shared })
    }

    fn begin(
        &self,
        parent: &Parent<'_>,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Unfinished> {
        match parent {
            Parent::Sealed { sealed: Sealed { layers }, .. } => {
                let [sealed] = layers.as_slice() else {
                    return Err(Error::WrongParent(Kind::Btrfs));
                };
                fs_sys::snapshot_subvolume(sealed, dest, Access::ReadWrite)?;
            }
            Parent::Active { active, .. } => {
                snapshot(&active.path, dest, progress, cancel)?;
            }
            Parent::Source { .. } | Parent::Carried { .. } => {
                return Err(Error::WrongParent(Kind::Btrfs));
            }
        }
        let active = Active::planned(Kind::Btrfs, parent, dest);
        let undo = remove_subvolume(dest.to_owned());
        let unfinished = Unfinished::new(active, Vec::new(), Bytes::default(), undo);
        if let Parent::Active { left_out, .. } = parent {
            let mut difference = unfinished.difference()?;
            for path in *left_out {
                difference.hide(path)?;
            }
            difference.finish()?;
        }
        Ok(unfinished)
    }

    fn attach(&self, _active: &Active) -> Result<()> {
        Ok(())
    }

    /// The snapshot is atomic. Its flag is set after the final rename, since a read-only subvolume cannot
    /// be renamed.
    fn commit(
        &self,
        active: &Active,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Sealed> {
        let unfinished_path = capture::part_of(dest);
        snapshot(&active.path, &unfinished_path, progress, cancel)?;
        let unfinished = undo_subvolume(unfinished_path.clone());
        fs_sys::rename_noreplace(&unfinished_path, dest)?;
        unfinished.disarm();
        let renamed = undo_subvolume(dest.to_owned());
        fs_sys::set_subvolume_access(&fs_sys::open_dir(dest)?, Access::ReadOnly)?;
        renamed.disarm();
        Ok(Sealed { layers: vec![dest.to_owned()] })
    }

    fn discard(&self, dest: &Path) -> Result<()> {
        for path in [capture::part_of(dest), dest.to_owned()] {
            fs_sys::remove_subvolume(&path)?;
        }
        Ok(())
    }

    fn remove(&self, active: &Active) -> Result<()> {
        match fs_sys::remove_subvolume(&active.path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind == ErrorKind::Busy => {
                Err(Error::InUse { path: active.path.clone() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn undo_subvolume(path: PathBuf) -> Undo<impl FnMut()> {
    Undo::new(remove_subvolume(path))
}

fn remove_subvolume(path: PathBuf) -> impl FnMut() {
    move || {
        if let Err(error) = fs_sys::remove_subvolume(&path) {
            tracing::warn!(%error, path = %path.display(), "a half-made subvolume stays behind");
        }
    }
}

/// Makes `dest` what the subvolume `tree` is now, at one instant but for what is in nested subvolumes.
fn snapshot(tree: &Path, dest: &Path, progress: &Progress, cancel: &Cancel) -> Result<()> {
    fs_sys::snapshot_subvolume(tree, dest, Access::ReadWrite)?;
    let undo = undo_subvolume(dest.to_owned());
    remove_git(dest)?;
    copy_nested(tree, dest, progress, cancel)?;
    undo.disarm();
    Ok(())
}

/// The time of the topmost directory is that of the tree, not of this removal.
fn remove_git(tree: &Path) -> Result<()> {
    let dir = fs_sys::open_dir(tree)?;
    let before = dir.stat()?;
    fs_sys::remove_subvolume(&tree.join(GIT))?;
    dir.set_mtime(before.mtime)?;
    Ok(())
}

/// What is in nested subvolumes is not in a snapshot: an empty directory stands there. It becomes an
/// ordinary directory with a copy, so that a sealed tree is one subvolume.
fn copy_nested(tree: &Path, sealed: &Path, progress: &Progress, cancel: &Cancel) -> Result<()> {
    let root = fs_sys::open_dir(tree)?;
    for relative in outermost(fs_sys::nested_subvolumes(&root)?) {
        if relative.starts_with(GIT) {
            continue;
        }
        let (source, place) = (root.open_beneath(&relative)?, sealed.join(&relative));
        let parent = fs_sys::open_dir(place.parent().unwrap_or(sealed))?;
        let before = parent.stat()?;
        // A placeholder is no ordinary directory: nothing can be made in it.
        match fs_sys::remove_dir(&place) {
            Err(error) if error.kind == ErrorKind::NotFound => {}
            other => other?,
        }
        fs_sys::make_dir(&place, Mode(0o700))?;
        let ladder = capture::ladder();
        let from = Captured::whole(&source, TopGit::Keep);
        let (made, _) = capture::copy_everything(from, &place, &ladder, progress, cancel)?;
        capture::copy_attributes(&source, &made)?;
        parent.set_mtime(before.mtime)?;
    }
    Ok(())
}

/// Those that are in none of the others; a copy of one brings along what is in it. `nested` is sorted.
fn outermost(nested: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut outer: Vec<PathBuf> = Vec::new();
    for path in nested {
        if !outer.iter().any(|above| path.starts_with(above)) {
            outer.push(path);
        }
    }
    outer
}

/// Makes a subvolume, a snapshot of it, sets its flag, and takes both away.
fn try_snapshots(dest: &Path) -> fs_sys::Result<()> {
    let (first, second) = (probe::scratch_path(dest), probe::scratch_path(dest));
    let tried = fs_sys::create_subvolume(&first)
        .and_then(|()| fs_sys::write_new(&first.join("f"), b"probe", Mode(0o600)))
        .and_then(|()| fs_sys::snapshot_subvolume(&first, &second, Access::ReadOnly))
        .and_then(|()| fs_sys::read_file(&second.join("f")).map(drop));
    for path in [second, first] {
        if let Err(error) = fs_sys::remove_subvolume(&path) {
            tracing::warn!(%error, "a scratch subvolume stays behind");
        }
    }
    tried
}
