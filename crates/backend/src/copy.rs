//! `copy`: every file is copied, in parallel; works wherever a file can be written.

use std::path::Path;

use copy_engine::{Cancel, Existing, Ladder, Method, Options, Progress, copy_listed, copy_tree};
use fs_sys::Mode;

use crate::capture::{Captured, TopGit};
use crate::contract::{Backend, Content, Kind, Parent, Prepared, Site, Support};
use crate::undo::Undo;
use crate::{Active, Error, Sealed, capture};

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

    fn commit(
        &self,
        active: &Active,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Sealed, Error> {
        commit_with(
            &Ladder::new(Method::CopyRange, Method::ReadWrite),
            (active, dest),
            progress,
            cancel,
        )
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
    let root = match parent {
        Parent::Source { root, .. } | Parent::Carried { root, .. } => *root,
        Parent::Sealed { .. } | Parent::Active { .. } => return Err(Error::WrongParent(kind)),
    };
    let source = fs_sys::open_dir(root)?;
    fs_sys::make_dir(dest, Mode(0o777))?;
    let unfinished = Undo::tree(dest);
    let options = Options { ladder, workers: copy_engine::default_workers(), progress, cancel };
    let made = fs_sys::open_dir(dest)?;
    let content = match parent {
        Parent::Source { manifest, gate, .. } => {
            Content::Listed(copy_listed(&source, &made, manifest, *gate, &options)?)
        }
        Parent::Carried { filter, .. } => {
            Content::Carried(copy_tree(&source, &made, *filter, Existing::Fail, &options)?)
        }
        Parent::Sealed { .. } | Parent::Active { .. } => Content::Shared,
    };
    unfinished.disarm();
    Ok(Prepared { active: Active::planned(kind, parent, dest), content })
}

/// Seals a tree by copying it with the methods of `ladder`.
pub(crate) fn commit_with(
    ladder: &Ladder,
    (active, dest): (&Active, &Path),
    progress: &Progress,
    cancel: &Cancel,
) -> Result<Sealed, Error> {
    let source = fs_sys::open_dir(&active.path)?;
    let part = capture::part_of(dest);
    fs_sys::make_dir(&part, Mode(0o700))?;
    let unfinished = Undo::tree(&part);
    let from = Captured::whole(&source, TopGit::LeaveOut);
    let (made, _) = capture::copy_everything(from, &part, ladder, progress, cancel)?;
    capture::copy_attributes(&source, &made)?;
    fs_sys::rename_noreplace(&part, dest)?;
    unfinished.disarm();
    Ok(Sealed { layers: vec![dest.to_owned()] })
}
