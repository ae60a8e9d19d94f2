//! `reflink`: every file shares its extents with the source until one side writes.

use std::path::Path;

use copy_engine::{Cancel, Ladder, Method, Progress};

use crate::contract::{Backend, Kind, Parent, Prepared, Site, Support};
use crate::copy::{commit_with, prepare_with};
use crate::probe::{Scratch, support};
use crate::{Active, Error, Sealed};

/// The backend.
#[derive(Clone, Copy, Debug)]
pub struct Reflink;

impl Backend for Reflink {
    fn kind(&self) -> Kind {
        Kind::Reflink
    }

    fn probe(&self, site: &Site<'_>) -> Support {
        let tried = Scratch::new(site.dest).and_then(|scratch| {
            scratch.clone_within()?;
            site.sample.map_or(Ok(()), |sample| scratch.clone_of(sample))
        });
        support(tried, site)
    }

    fn prepare(
        &self,
        parent: &Parent<'_>,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Prepared, Error> {
        // A single file that cannot be shared (btrfs: `chattr +C`) is copied and counted as such.
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        prepare_with(Kind::Reflink, &ladder, (parent, dest), progress, cancel)
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
            &Ladder::new(Method::Reflink, Method::ReadWrite),
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
