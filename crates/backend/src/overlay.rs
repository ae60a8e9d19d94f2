//! `overlay`: a writable layer is mounted over sealed ones, whatever their size in the same time.
//!
//! A tree has a mount point, and in the store a private directory with the layer that is written to
//! (`upper`) and the kernel's own room (`work`). The mount point is empty, has mode
//! 0500 and, where the file system has the flag and the process may set it, is immutable, so that not
//! even root writes into it while nothing is mounted: that would be hidden by the next mount.

mod below;
mod changed;
mod commit;
mod difference;
mod links;
mod mount;
mod moved;
mod scan;
mod scratch;
mod view;

use std::path::Path;

use copy_engine::{Cancel, Progress};
use fs_sys::{FileSystem, Immutable, Mode, MountNamespace, Stat};

pub use self::difference::Difference;
use crate::contract::{Backend, Content, Kind, Parent, Prepared, Site, Support};
use crate::error::Result;
use crate::undo::Undo;
use crate::{Active, Changes, Error, Reason, Sealed, Stack, Unfinished, capture, probe};

/// The backend.
#[derive(Clone, Copy, Debug)]
pub struct Overlay;

impl Backend for Overlay {
    fn kind(&self) -> Kind {
        Kind::Overlay
    }

    /// Costs two mounts: a caller may keep the answer for a file system.
    fn probe(&self, site: &Site<'_>) -> Support {
        let dest = site.dest.parent().unwrap_or(site.dest).display();
        let no = |reason, detail| Support::No { reason, detail };
        if !fs_sys::may_mount() {
            return no(Reason::NoCapability, "mounting takes CAP_SYS_ADMIN".to_owned());
        }
        if fs_sys::mount_namespace() == MountNamespace::Private {
            let detail = "this process has mounts of its own, which nobody else would see";
            return no(Reason::PrivateMountNamespace, detail.to_owned());
        }
        let found = fs_sys::open_dir(site.dest).and_then(|dir| FileSystem::of(&dir));
        match found {
            Ok(FileSystem::Overlay) => {
                return no(Reason::NestedOverlay, format!("{dest} is on an overlay"));
            }
            Ok(FileSystem::Network) => {
                return no(Reason::Network, format!("{dest} is on a network file system"));
            }
            Ok(FileSystem::Fuse) => return no(Reason::Fuse, format!("{dest} is on FUSE")),
            Ok(_) | Err(_) => {}
        }
        match scratch::try_overlay(site.dest) {
            Err(scratch::Trial::Call(error)) if probe::is_cannot(&error) => no(
                Reason::NoOverlay,
                format!("no overlay can be mounted at {dest}: {}", error.source),
            ),
            Err(scratch::Trial::Lacks(what)) => {
                no(Reason::NoOverlay, format!("an overlay at {dest} {what}"))
            }
            Ok(()) | Err(scratch::Trial::Call(_)) => Support::Yes,
        }
    }

    fn prepare(
        &self,
        parent: &Parent<'_>,
        dest: &Path,
        _progress: &Progress,
        _cancel: &Cancel,
    ) -> Result<Prepared> {
        Ok(Prepared { active: self.begin(parent, dest)?.finish()?, content: Content::Shared })
    }

    /// The mount point is made at `dest` itself: what is mounted cannot be renamed.
    fn begin(&self, parent: &Parent<'_>, dest: &Path) -> Result<Unfinished> {
        let active = Active::planned(Kind::Overlay, parent, dest);
        let stack = active.overlay.as_ref().ok_or(Error::WrongParent(Kind::Overlay))?;
        let [topmost, ..] = stack.layers.as_slice() else {
            return Err(Error::WrongParent(Kind::Overlay));
        };
        fs_sys::make_dir(&stack.private, Mode(0o700))?;
        let private = Undo::tree(&stack.private);
        for path in [stack.upper(), stack.work()] {
            fs_sys::make_dir(&path, Mode(0o700))?;
        }
        // The upper's topmost directory is the tree's.
        let upper = fs_sys::open_dir(&stack.upper())?;
        capture::copy_attributes(&fs_sys::open_dir(topmost)?, &upper)?;
        drop(upper);
        fs_sys::make_dir(dest, BARE)?;
        private.disarm();
        let (point, private) = (dest.to_owned(), stack.private.clone());
        let layers = stack.layers.clone();
        let unfinished = Unfinished::new(active, layers, move || {
            let removed =
                remove_point(&point).and_then(|()| Ok(fs_sys::remove_tree(&private).map(drop)?));
            if let Err(error) = removed {
                tracing::warn!(%error, "a half-made tree stays behind");
            }
        });
        protect(dest)?;
        Ok(unfinished)
    }

    fn attach(&self, active: &Active) -> Result<()> {
        mount::attach(stack_of(active)?, &active.path)
    }

    fn changed(&self, active: &Active) -> Result<Option<Changes>> {
        changed::changed(stack_of(active)?, &active.path)
    }

    fn commit(
        &self,
        active: &Active,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Sealed> {
        commit::commit(stack_of(active)?, (&active.path, dest), progress, cancel)
    }

    /// Nothing is deleted before the mount is gone.
    fn remove(&self, active: &Active) -> Result<()> {
        let stack = stack_of(active)?;
        mount::detach(stack, &active.path)?;
        remove_point(&active.path)?;
        fs_sys::remove_tree(&stack.private)?;
        Ok(())
    }
}

impl Overlay {
    /// Unmounts the tree, which stays whole; one that is not mounted is a success. One that is in use stays
    /// mounted ([`Error::InUse`]).
    pub fn detach(&self, active: &Active) -> Result<()> {
        mount::detach(stack_of(active)?, &active.path)
    }

    /// Removes the bare mount point of a tree that is not mounted. What fwt did not make stays.
    pub fn remove_point(&self, active: &Active) -> Result<()> {
        remove_point(&active.path)
    }

    /// Whether the tree is mounted.
    pub fn is_attached(&self, active: &Active) -> Result<bool> {
        let state = mount::state(stack_of(active)?, &active.path)?;
        Ok(matches!(state, mount::State::Mounted(_)))
    }
}

fn stack_of(active: &Active) -> Result<&Stack> {
    let wrong = || Error::WrongTree { kind: Kind::Overlay, path: active.path.clone() };
    active.overlay.as_ref().ok_or_else(wrong)
}

/// Mounts a tree for the first time.
pub(crate) fn mount_first(active: &Active) -> Result<()> {
    Ok(mount::mount(stack_of(active)?, &active.path)?)
}

/// The mode of a mount point.
const BARE: Mode = Mode(0o500);

/// Whether it may be a mount point of ours: nobody else's directory has this mode by chance, and what is
/// in one is seen when it is removed.
fn is_bare(found: &Stat) -> bool {
    found.kind == fs_sys::Kind::Directory && found.mode.permissions() == BARE
}

/// Keeps the bare mount point from being written to. Without the flag the mode does so, root excepted.
fn protect(point: &Path) -> Result<()> {
    let dir = fs_sys::open_dir(point)?;
    // One that is immutable already takes no other mode either.
    if dir.stat()?.mode != BARE {
        dir.set_mode(BARE)?;
    }
    match fs_sys::set_immutable(&dir, Immutable::Yes) {
        Err(error) if error.kind == fs_sys::ErrorKind::ReadOnly => return Err(error.into()),
        Err(error) => {
            tracing::debug!(%error, "root can write to a mount point while nothing is mounted");
        }
        Ok(()) => {}
    }
    Ok(())
}

/// Removes the bare mount point. One that holds something by now stays, as a directory like any other: root
/// can write to one that is not protected, or not any more.
fn remove_point(point: &Path) -> Result<()> {
    use fs_sys::ErrorKind::{Denied, NotEmpty, NotFound, Unsupported};
    match fs_sys::stat(point) {
        Err(error) if error.kind == NotFound => return Ok(()),
        Ok(found) if !is_bare(&found) => return Ok(()),
        other => other?,
    };
    match fs_sys::open_dir(point).and_then(|dir| fs_sys::set_immutable(&dir, Immutable::No)) {
        Err(error) if matches!(error.kind, Denied | NotFound | Unsupported) => {
            tracing::debug!(%error, "a mount point was not protected");
        }
        other => other?,
    }
    match fs_sys::remove_dir(point) {
        Err(error) if error.kind == NotFound => Ok(()),
        Err(error) if error.kind == NotEmpty => {
            tracing::warn!(point = %point.display(), "somebody wrote to a mount point: it stays");
            Ok(fs_sys::open_dir(point)?.set_mode(Mode(0o755))?)
        }
        other => Ok(other?),
    }
}
