//! What a probe found to work is remembered for as long as the machine is up: it takes two mounts to find
//! out, and with each a file system that has to be synced.
//!
//! Only a yes is. One that holds no more makes a create fail where the tree is made, and is then forgotten.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use backend::{Backend, Kind, Site, Support};
use fs_sys::process::{effective_user, this_process};
use fs_sys::{Mode, MountNamespace};

use crate::api::ApiError;

/// The directory in the home for what probes found.
const DIRECTORY: &str = "probes";

/// Probes a directory, unless it is known that the backend works on its file system.
pub(crate) fn probe(home: &Path, backend: &dyn Backend, dest: &Path) -> Result<Support, ApiError> {
    let Some(known) = Known::of(home, backend.kind(), dest)? else {
        return Ok(backend.probe(&Site { dest, sample: None }));
    };
    if known.is_kept() {
        return Ok(Support::Yes);
    }
    let support = backend.probe(&Site { dest, sample: None });
    if support == Support::Yes
        && let Err(error) = known.keep()
    {
        tracing::debug!(%error, "what a probe found is not remembered");
    }
    Ok(support)
}

/// Forgets that the backend works anywhere.
pub(crate) fn forget(home: &Path, kind: Kind) {
    let directory = home.join(DIRECTORY);
    for (name, _) in fs_sys::list(&directory).unwrap_or_default() {
        if name.as_encoded_bytes().starts_with(kind.name().as_bytes())
            && let Err(error) = fs_sys::remove_file(&directory.join(name))
        {
            tracing::debug!(%error, "what a probe found is not forgotten");
        }
    }
}

/// A file that is there if the backend works on a file system.
struct Known {
    path: PathBuf,
    /// For whom, in which boot and among which mounts that was found.
    circumstances: Vec<u8>,
}

impl Known {
    /// `None` where the circumstances cannot be told.
    fn of(home: &Path, kind: Kind, dest: &Path) -> Result<Option<Self>, ApiError> {
        // The name of a mount namespace is used again once it is gone.
        if fs_sys::mount_namespace() == MountNamespace::Private {
            return Ok(None);
        }
        let Ok(mounts) = fs_sys::read_link_path(Path::new("/proc/self/ns/mnt")) else {
            return Ok(None);
        };
        let boot = this_process().boot_id;
        if boot.is_empty() {
            return Ok(None);
        }
        let device = fs_sys::stat_following(dest)?.dev;
        let (user, may_mount) = (effective_user(), fs_sys::may_mount());
        let mounts = mounts.to_string_lossy();
        let circumstances = format!("{boot} {mounts} {user} {may_mount}\n").into_bytes();
        let path = home.join(DIRECTORY).join(format!("{}-{device}", kind.name()));
        Ok(Some(Self { path, circumstances }))
    }

    fn is_kept(&self) -> bool {
        fs_sys::read_file(&self.path).is_ok_and(|found| found == self.circumstances)
    }

    fn keep(&self) -> fs_sys::Result<()> {
        if let Some(directory) = self.path.parent() {
            fs_sys::make_dirs(directory, Mode(0o700))?;
        }
        let beside = format!("new-{}", std::process::id());
        fs_sys::replace_file(&self.path, OsStr::new(&beside), &self.circumstances, Mode(0o600))
    }
}

#[cfg(test)]
mod tests {
    use backend::{Active, Error, Parent, Prepared, Reason, Sealed};
    use copy_engine::{Cancel, Progress};

    use super::*;

    /// Counts how often it is probed.
    struct Fake {
        support: Support,
        probed: std::sync::atomic::AtomicU32,
    }

    impl Fake {
        fn new(support: Support) -> Self {
            Self { support, probed: 0.into() }
        }

        fn count(&self) -> u32 {
            self.probed.load(std::sync::atomic::Ordering::Relaxed)
        }
    }

    impl Backend for Fake {
        fn kind(&self) -> Kind {
            Kind::Overlay
        }

        fn probe(&self, _site: &Site<'_>) -> Support {
            self.probed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.support.clone()
        }

        fn prepare(
            &self,
            _parent: &Parent<'_>,
            _dest: &Path,
            _progress: &Progress,
            _cancel: &Cancel,
        ) -> Result<Prepared, Error> {
            unreachable!("it is only probed")
        }

        fn attach(&self, _active: &Active) -> Result<(), Error> {
            unreachable!("it is only probed")
        }

        fn commit(
            &self,
            _active: &Active,
            _dest: &Path,
            _progress: &Progress,
            _cancel: &Cancel,
        ) -> Result<Sealed, Error> {
            unreachable!("it is only probed")
        }

        fn remove(&self, _active: &Active) -> Result<(), Error> {
            unreachable!("it is only probed")
        }
    }

    #[test]
    fn a_yes_is_remembered_until_it_is_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let ask = |fake: &Fake| probe(home.path(), fake, home.path()).unwrap();
        let fake = Fake::new(Support::Yes);
        assert_eq!([ask(&fake), ask(&fake)], [Support::Yes, Support::Yes]);
        assert_eq!(fake.count(), 1);
        forget(home.path(), Kind::Btrfs);
        ask(&fake);
        assert_eq!(fake.count(), 1);
        forget(home.path(), Kind::Overlay);
        ask(&fake);
        assert_eq!(fake.count(), 2);
        // Of another boot, say.
        for (name, _) in fs_sys::list(&home.path().join(DIRECTORY)).unwrap() {
            let path = home.path().join(DIRECTORY).join(name);
            fs_sys::replace_file(&path, OsStr::new("new"), b"other\n", Mode(0o600)).unwrap();
        }
        ask(&fake);
        assert_eq!(fake.count(), 3);
    }

    #[test]
    fn a_no_is_asked_again() {
        let home = tempfile::tempdir().unwrap();
        let no = Support::No { reason: Reason::NoOverlay, detail: String::new() };
        let fake = Fake::new(no.clone());
        for _ in 0..2 {
            assert_eq!(probe(home.path(), &fake, home.path()).unwrap(), no);
        }
        assert_eq!(fake.count(), 2);
    }
}
