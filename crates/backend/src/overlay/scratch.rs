//! The probe: an overlay of scratch directories, and the things that not every overlay can.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Mode, Overlay, Time, Unmount, Writable};

use crate::probe;

/// Why a scratch overlay was no success.
#[derive(Debug)]
pub(super) enum Trial {
    /// A call failed.
    Call(fs_sys::Error),
    /// It was mounted, and lacks something.
    Lacks(&'static str),
}

impl From<fs_sys::Error> for Trial {
    fn from(error: fs_sys::Error) -> Self {
        Self::Call(error)
    }
}

/// Directories that go away again, with what is mounted there.
struct Scratch {
    root: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = probe::clear_scratch_at(&self.root) {
            tracing::warn!(%error, "a scratch directory stays behind");
        }
    }
}

/// Mounts an overlay of scratch directories in `dest`, with the options of a real one, and tries what a
/// tree needs. It is tried while it is mounted nowhere, so that a process that is killed leaves no mount
/// behind; only then is it mounted for a moment, because some sandboxes forbid only that.
/// A process that is killed in that moment leaves it to [`crate::clear_scratch`].
pub(super) fn try_overlay(dest: &Path) -> Result<(), Trial> {
    let scratch = Scratch { root: probe::scratch_path(dest) };
    fs_sys::make_dir(&scratch.root, Mode(0o700))?;
    let make = |name: &str| {
        let path = scratch.root.join(name);
        fs_sys::make_dir(&path, Mode(0o700)).map(|()| path)
    };
    let (lower, upper, work, point) =
        (make("lower")?, make("upper")?, make("work")?, make(probe::SCRATCH_POINT)?);
    fs_sys::make_dir(&lower.join("directory"), Mode(0o700))?;
    fs_sys::write_new(&lower.join("first"), b"probe", Mode(0o600))?;
    let dir = fs_sys::open_dir(&lower)?;
    fs_sys::hard_link(dir.at(OsStr::new("first")), dir.at(OsStr::new("second")))?;
    let layers = [lower];
    let writable = Some(Writable { upper: &upper, work: &work });
    let overlay = Overlay { lower: &layers, writable };
    match fs_sys::detached_overlay(&overlay) {
        Ok(mount) => {
            try_in(&mount.root()?)?;
            mount.attach(&point)?;
        }
        Err(error) if error.kind == ErrorKind::Unsupported => {
            fs_sys::mount_overlay(&overlay, &point)?;
            try_in(&fs_sys::open_dir(&point)?)?;
        }
        Err(error) => return Err(error.into()),
    }
    fs_sys::unmount(&point, Unmount::Now)?;
    Ok(())
}

fn try_in(root: &Dir) -> Result<(), Trial> {
    let at = |name| root.at(OsStr::new(name));
    match fs_sys::rename_at(at("directory"), at("renamed")) {
        Err(error) if error.kind == ErrorKind::CrossDevice => {
            return Err(Trial::Lacks("cannot rename a directory of a sealed layer"));
        }
        other => other?,
    }
    // A change of time copies the file up.
    fs_sys::set_times(at("first"), Time { seconds: 1, nanos: 0 })?;
    let (first, second) = (fs_sys::stat_at(at("first"))?, fs_sys::stat_at(at("second"))?);
    if first.ino != second.ino || first.mtime != second.mtime {
        return Err(Trial::Lacks("breaks hard links"));
    }
    Ok(())
}
