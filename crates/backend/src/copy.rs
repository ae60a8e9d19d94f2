//! `copy`: every file is copied, in parallel; works wherever a file can be written.

use std::path::Path;

use copy_engine::{Cancel, Ladder, Method, Options, Progress, copy_listed};
use fs_sys::Mode;

use crate::contract::{Active, Backend, Error, Kind, Parent, Prepared, Site, Support};

/// The backend.
#[derive(Clone, Copy, Debug)]
pub struct Copy;

impl Backend for Copy {
    fn kind(&self) -> Kind {
        Kind::Copy
    }

    /// A directory of its own has been made at the destination already: what can hold that can hold
    /// files.
    fn probe(&self, _site: &Site<'_>) -> Support {
        Support::Yes
    }

    fn prepare(
        &self,
        parent: &Parent<'_>,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Prepared, Error> {
        let ladder = Ladder::new(Method::CopyRange, Method::ReadWrite);
        prepare_with(Kind::Copy, &ladder, (parent, dest), progress, cancel)
    }

    fn attach(&self, _active: &Active) -> Result<(), Error> {
        Ok(())
    }

    fn remove(&self, active: &Active) -> Result<(), Error> {
        fs_sys::remove_tree(&active.path)?;
        Ok(())
    }
}

/// Makes the tree by copying with the methods of `ladder`; shared with `reflink`.
pub(crate) fn prepare_with(
    kind: Kind,
    ladder: &Ladder,
    (parent, dest): (&Parent<'_>, &Path),
    progress: &Progress,
    cancel: &Cancel,
) -> Result<Prepared, Error> {
    let Parent::Source { root, manifest, gate } = parent;
    let source = fs_sys::open_dir(root)?;
    fs_sys::make_dir(dest, Mode(0o777))?;
    let unfinished = Unfinished(Some(dest));
    let options = Options { ladder, workers: copy_engine::default_workers(), progress, cancel };
    let listed = copy_listed(&source, &fs_sys::open_dir(dest)?, manifest, *gate, &options)?;
    unfinished.disarm();
    Ok(Prepared { active: Active { kind, path: dest.to_owned() }, listed })
}

/// Takes a half-made tree away again.
struct Unfinished<'a>(Option<&'a Path>);

impl Unfinished<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0
            && let Err(error) = fs_sys::remove_tree(path)
        {
            tracing::warn!(%error, path = %path.display(), "a half-made tree stays behind");
        }
    }
}
