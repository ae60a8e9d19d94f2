//! Carrying a source over to a tree that stands on a sealed one: only what differs is written.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use backend::{Difference, Kind as Way, Unfinished};
use copy_engine::{Existing, Filter, Ladder, Method, Options, Skip, Tree, Verdict, copy_tree};
use fs_sys::{Dir, ErrorKind, Kind};
use git_cli::Admin;
use walk::Ignore;

use super::carry::{Carrying, Unchanged, require_readable};
use super::fill::Filled;
use super::include::as_path;
use super::make::Order;
use super::making::Making;
use super::over_sealed::Ground;
use super::survey::{Compared, Survey};
use super::tracked::Tracked;
use crate::api::{ApiError, Carry};
use crate::chain::Rung;
use crate::seal::{Held, IgnoredRoot, Image};
use crate::service::Service;

impl Service {
    /// Stands a tree on the sealed one of the source's commit and makes it the source as it is now.
    pub(crate) fn carry_over_sealed(
        &self,
        order: &Order<'_>,
        (rung, held): (Rung, &Held),
        making: &mut Making<'_>,
        carrying: &Carrying<'_>,
    ) -> Result<(Admin, Filled), ApiError> {
        let image = held.image()?;
        let root = fs_sys::open_dir(&carrying.source.root)?;
        let filter = carrying.filter();
        let compared = Compared::new(&filter, (carrying.index, carrying.tracked), &image);
        let mut survey = compared.survey(&root)?;
        let shared = match (rung.kind(), carrying.carry) {
            (Way::Overlay, Carry::All) => {
                self.share_ignored(&mut survey, &compared, (&root, carrying), held)?
            }
            _ => Vec::new(),
        };
        survey.put_back_all();
        let stack = match shared.as_slice() {
            [] => None,
            shared => Some(self.seal_stack((held, &image), shared)?),
        };
        tracing::debug!(files = survey.files.len(), same = survey.same.len(), "compared");
        let change = Change { root: &root, image: &image, survey: &survey, carrying };
        let ground = stack.as_ref().unwrap_or(held);
        let (admin, mut copied) =
            self.stand_on(order, Ground::sealed(rung, ground), making, |unfinished| {
                self.make_differ(unfinished, &change)
            })?;
        let unchanged = survey.same.iter();
        let unchanged =
            unchanged.map(|(number, sealed)| (*number, image.files[*sealed as usize].stat));
        let unchanged = Unchanged::of(unchanged);
        copied.skipped.extend(survey.skipped);
        copied.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let mut filled = self.finish_carried(carrying, &admin, making, (copied, unchanged))?;
        for (root, _) in &shared {
            let count = root.files.len() as u64;
            filled.stats.files += count;
            filled.carried.ignored += count;
            let included = root.files.iter().map(|(path, _)| path);
            let included = included.filter(|path| carrying.included.paths.contains(*path));
            filled.included.extend(included.map(|path| path.clone().into()));
            filled.stats.bytes_cloned += root.files.iter().map(|(_, stat)| stat.size).sum::<u64>();
        }
        filled.included.sort();
        Ok((admin, filled))
    }

    /// Seals the ignored directories that can be layers of their own. One that does not hold still comes as
    /// all else does.
    fn share_ignored(
        &self,
        survey: &mut Survey,
        compared: &Compared<'_>,
        (root, carrying): (&Dir, &Carrying<'_>),
        held: &Held,
    ) -> Result<Vec<(IgnoredRoot, Held)>, ApiError> {
        let mut shared = Vec::new();
        for ignored in survey.take_shareable(compared) {
            let source = (carrying.source, root);
            match self.seal_ignored(source, &ignored, compared.filter, held)? {
                Some(layer) => shared.push((ignored, layer)),
                None => survey.put_back(ignored),
            }
        }
        Ok(shared)
    }

    /// Writes into a tree that nobody can reach yet what makes it the source.
    fn make_differ(&self, unfinished: &Unfinished, change: &Change<'_>) -> Result<Tree, ApiError> {
        let Change { root, survey, carrying, .. } = change;
        let mut difference = unfinished.difference()?;
        let leading = change.clear_the_way(&mut difference)?;
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: copy_engine::default_workers(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        self.progress.expect_files(survey.files.len() as u64);
        let dest = fs_sys::open_dir(&unfinished.root())?;
        let chosen = Chosen { survey, leading };
        let copied = copy_tree(root, &dest, &chosen, Existing::Keep, &options)?;
        let tracked = carrying.tracked;
        let unreadable = survey.skipped.iter().chain(&copied.skipped);
        require_readable(root.path(), unreadable, |path| tracked.leads_to(path))?;
        // Something took the place of a file since it was looked at.
        if let Some(taken) = copied.skipped.iter().find(|skipped| skipped.skip == Skip::Exists) {
            let path = root.path().join(&taken.path);
            return Err(copy_engine::Error::KeepsChanging { path }.into());
        }
        change.hide_lost(&copied, &mut difference)?;
        make_submodules(tracked, &mut difference)?;
        difference.finish()?;
        Ok(copied)
    }
}

/// Each submodule is the empty directory that git would leave.
pub(super) fn make_submodules(
    tracked: &Tracked<'_>,
    difference: &mut Difference,
) -> Result<(), ApiError> {
    for path in tracked.submodules().map(as_path) {
        let found = difference.stat(path)?;
        if found.is_none_or(|found| found.kind != Kind::Directory) {
            difference.directory(path)?;
        }
    }
    Ok(())
}

/// What makes a sealed tree the source.
struct Change<'a> {
    root: &'a Dir,
    image: &'a Image,
    survey: &'a Survey,
    carrying: &'a Carrying<'a>,
}

impl<'a> Change<'a> {
    /// Hides what is gone, makes room for what comes, and gives the sealed tree's own directories the source's
    /// attributes. Says which directories lead to something that is to be copied.
    fn clear_the_way(&self, difference: &mut Difference) -> Result<BTreeSet<&'a Path>, ApiError> {
        let (survey, image) = (self.survey, self.image);
        for path in survey.gone(image) {
            // A submodule is its empty directory, which the source's own is not looked into for.
            if !self.carrying.tracked.is_submodule(&path) {
                difference.hide(&path)?;
            }
        }
        let mut leading = BTreeSet::new();
        let is_sealed =
            |path: &Path| path.as_os_str().is_empty() || image.directories.contains_key(path);
        for (path, _) in survey.changed_directories(image) {
            if is_sealed(path) {
                self.make_like_source(path, difference)?;
                continue;
            }
            leading.extend(path.ancestors());
            // What is in a new one comes with it.
            if path.parent().is_some_and(is_sealed) {
                difference.place(path)?;
            }
        }
        for path in survey.files.keys() {
            let Some(parent) = path.parent() else { continue };
            leading.extend(parent.ancestors());
            if is_sealed(parent) {
                difference.place(path)?;
            }
        }
        Ok(leading)
    }

    fn make_like_source(&self, path: &Path, difference: &mut Difference) -> Result<(), ApiError> {
        match self.root.open_beneath(path) {
            Ok(like) => Ok(difference.make_like(path, &like)?),
            // It went since it was looked at: files in it are found to be lost.
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was to be copied and vanished before it was must not show as it was sealed.
    fn hide_lost(&self, copied: &Tree, difference: &mut Difference) -> Result<(), ApiError> {
        let came: HashSet<&Path> = copied.files.iter().map(|file| file.path.as_path()).collect();
        for path in self.survey.files.keys().filter(|path| !came.contains(path.as_path())) {
            difference.hide(path)?;
        }
        Ok(())
    }
}

/// The filter of a second walk, which copies what the first one found.
struct Chosen<'a> {
    survey: &'a Survey,
    /// The directories that are new, or lead to a file that is to be copied.
    leading: BTreeSet<&'a Path>,
}

impl Filter for Chosen<'_> {
    fn judge(&self, _parent: &Dir, relative: &Path, kind: Kind, _ignore: Ignore) -> Verdict {
        let is_chosen = match kind {
            Kind::Directory => self.leading.contains(relative),
            Kind::File | Kind::Symlink | Kind::Special => self.survey.files.contains_key(relative),
        };
        if is_chosen { Verdict::Copy } else { Verdict::LeaveOut }
    }
}
