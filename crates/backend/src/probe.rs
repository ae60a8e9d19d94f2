//! Scratch files for probes: made, used and taken away, whatever happens in between.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, File, Kind, Mode, Unmount, Unmounted};

use crate::{Reason, Site, Support};

/// How every scratch name begins.
const PREFIX: &str = ".fwt-probe-";

/// Two scratch names that no other probe of this process or another uses at the same time.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: Dir,
    first: OsString,
    second: OsString,
}

impl Scratch {
    pub(crate) fn new(dest: &Path) -> fs_sys::Result<Self> {
        let dir = fs_sys::open_dir(dest)?;
        let scratch = Self { dir, first: scratch_name(), second: scratch_name() };
        scratch.sweep(dest)?;
        Ok(scratch)
    }

    /// Takes away what probes that were killed have left. One that is at work does not miss its names:
    /// it goes by descriptors.
    fn sweep(&self, dest: &Path) -> fs_sys::Result<()> {
        for (name, kind) in fs_sys::list(dest)? {
            if kind == Kind::File && name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
                self.remove(&name);
            }
        }
        Ok(())
    }

    /// Clones one scratch file into another.
    pub(crate) fn clone_within(&self) -> fs_sys::Result<()> {
        let first = File::create(self.dir.at(&self.first), Mode(0o600))?;
        first.write_all_at(b"probe", 0)?;
        File::create_clone(&first, self.dir.at(&self.second), Mode(0o600)).map(drop)
    }

    /// Clones the file at `sample` into a scratch file; the sample is only read.
    pub(crate) fn clone_of(&self, sample: &Path) -> fs_sys::Result<()> {
        let (parent, name) = (
            sample.parent().unwrap_or(Path::new("/")),
            sample.file_name().unwrap_or(OsStr::new(".")),
        );
        let from = fs_sys::open_dir(parent)?;
        let source = File::open(from.at(name))?;
        self.remove(&self.second);
        File::create_clone(&source, self.dir.at(&self.second), Mode(0o600)).map(drop)
    }

    fn remove(&self, name: &OsStr) {
        match fs_sys::remove_file_at(self.dir.at(name)) {
            Err(error) if error.kind != ErrorKind::NotFound => {
                tracing::warn!(%error, "a scratch file stays behind");
            }
            _ => {}
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove(&self.first);
        self.remove(&self.second);
    }
}

fn scratch_name() -> OsString {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{number}", std::process::id()).into()
}

/// The directory of a scratch overlay at which it is mounted.
pub(crate) const SCRATCH_POINT: &str = "point";

/// Removes what probes left in `dir` whose process was killed: files, subvolumes, and a mount. No probe may
/// be at work there.
pub fn clear_scratch(dir: &Path) -> Result<(), crate::Error> {
    for (name, kind) in fs_sys::list(dir)? {
        let path = dir.join(&name);
        match (name.as_bytes().starts_with(PREFIX.as_bytes()), kind) {
            (false, _) => {}
            (true, Kind::Directory) => clear_scratch_at(&path)?,
            (true, Kind::File | Kind::Symlink | Kind::Special) => fs_sys::remove_file(&path)?,
        }
    }
    Ok(())
}

/// The same for a directory in which others may probe: only what is left of processes that are no more. Of
/// a process in another pid namespace that cannot be told; its probe then says no, for once.
pub fn clear_dead_scratch(dir: &Path) -> Result<(), crate::Error> {
    for (name, kind) in fs_sys::list(dir)? {
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let Some(process) = process.filter(|_| kind == Kind::Directory) else { continue };
        if !fs_sys::exists(&Path::new("/proc").join(process))? {
            clear_scratch_at(&dir.join(&name))?;
        }
    }
    Ok(())
}

/// A scratch mount is in use by nobody, or by somebody who looks at everything for a moment.
pub(crate) fn clear_scratch_at(path: &Path) -> fs_sys::Result<()> {
    loop {
        match fs_sys::unmount(&path.join(SCRATCH_POINT), Unmount::Lazily) {
            Ok(Unmounted::Done) => {}
            Ok(Unmounted::NotMounted) => break,
            // The root of a user namespace is told so of what is no mount too, and has mounted nothing.
            Err(error) if error.kind == ErrorKind::Denied => break,
            Err(error) => return Err(error),
        }
    }
    fs_sys::remove_subvolume(path).map(drop)
}

/// A scratch name in `dest` that no other probe uses.
pub(crate) fn scratch_path(dest: &Path) -> PathBuf {
    dest.join(scratch_name())
}

/// Whether a probe's error means "cannot here". A full disk, a lack of descriptors or a read-only file
/// system meet the tree itself next, and are reported as what they are.
pub(crate) fn is_cannot(error: &fs_sys::Error) -> bool {
    !matches!(error.kind, ErrorKind::NoSpace | ErrorKind::TooManyOpen | ErrorKind::ReadOnly)
}

/// What the outcome of a clone means for the probe. Only "cannot here" is a no: a full disk or a lost
/// permission meets the tree itself next, and is reported as what it is.
pub(crate) fn support(done: fs_sys::Result<()>, site: &Site<'_>) -> Support {
    let Err(error) = done else { return Support::Yes };
    // The scratch directory's name is of no use to anybody; the one it is in is.
    let dest = site.dest.parent().unwrap_or(site.dest).display();
    if error.kind == ErrorKind::Unsupported {
        let detail = format!("the file system at {dest} cannot share bytes between files");
        return Support::No { reason: Reason::NoReflink, detail };
    }
    if error.kind == ErrorKind::CrossDevice {
        let source = site.sample.unwrap_or(site.dest).display();
        let detail = format!("{source} and {dest} are on two file systems");
        return Support::No { reason: Reason::CrossFilesystem, detail };
    }
    Support::Yes
}
