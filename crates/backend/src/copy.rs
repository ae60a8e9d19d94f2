//! `copy`: every file is copied, in parallel; works wherever a file can be written.

use std::path::Path;

use copy_engine::{Cancel, Existing, Ladder, Method, Options, Progress, copy_listed, copy_tree};
use fs_sys::Mode;

use crate::contract::{Active, Backend, Content, Error, Kind, Parent, Prepared, Site, Support};

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
    let (Parent::Source { root, .. } | Parent::Carried { root, .. }) = parent;
    let source = fs_sys::open_dir(root)?;
    fs_sys::make_dir(dest, Mode(0o777))?;
    let unfinished = Unfinished(Some(dest));
    let options = Options { ladder, workers: copy_engine::default_workers(), progress, cancel };
    let made = fs_sys::open_dir(dest)?;
    let content = match parent {
        Parent::Source { manifest, gate, .. } => {
            Content::Listed(copy_listed(&source, &made, manifest, *gate, &options)?)
        }
        Parent::Carried { filter, .. } => {
            Content::Carried(copy_tree(&source, &made, *filter, Existing::Fail, &options)?)
        }
    };
    unfinished.disarm();
    Ok(Prepared { active: Active { kind, path: dest.to_owned() }, content })
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
