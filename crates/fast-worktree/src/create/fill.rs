//! Filling a tree: what the source can give, then what only git can write, then the stamps.

use std::path::Path;

use backend::{Backend, Parent};
use copy_engine::Listed;
use fs_sys::Mode;
use git_cli::index::Index;
use git_cli::{Admin, Context, Filters};

use super::making::Making;
use super::plan::Plan;
use crate::api::{ApiError, Carried, Code, Skipped, Stats, WirePath};
use crate::manifest::Provisioned;
use crate::service::Service;
use crate::source::Checkout;
use crate::stamp::Stamps;

/// A tree whose files are all there.
pub(crate) struct Filled {
    pub(crate) stats: Stats,
    /// All that is in it, sorted by path.
    pub(crate) provisioned: Vec<Provisioned>,
    pub(crate) carried: Carried,
    /// Ignored files that were selected.
    pub(crate) included: Vec<WirePath>,
    pub(crate) skipped: Vec<Skipped>,
}

impl Filled {
    pub(crate) fn clean(stats: Stats, provisioned: Vec<Provisioned>) -> Self {
        let (included, skipped) = (Vec::new(), Vec::new());
        Self { stats, provisioned, carried: Carried::default(), included, skipped }
    }
}

/// What is to be in a tree.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    /// Root of the source.
    pub(crate) root: &'a Path,
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) index: &'a Index,
    pub(crate) filters: Filters,
}

/// Where git works while it writes what the source could not give.
#[derive(Clone, Copy)]
pub(crate) struct GitPlace<'a> {
    /// The repository, or an admin directory.
    pub(crate) git_dir: &'a Path,
    /// Where an index may be that is for this alone.
    pub(crate) own_index: &'a Path,
}

/// Files that are all there, and the index that says so.
pub(crate) struct Finished {
    pub(crate) stats: Stats,
    pub(crate) provisioned: Vec<Provisioned>,
    pub(crate) index: Vec<u8>,
}

impl Service {
    /// Fills the tree through a backend.
    pub(crate) fn fill(
        &self,
        backend: &dyn Backend,
        admin: &Admin,
        content: Content<'_>,
        making: &Making<'_>,
    ) -> Result<Filled, ApiError> {
        let Content { root, plan, .. } = content;
        let tree = making.tree();
        self.progress.expect_files(plan.manifest.len() as u64);
        let parent = Parent::Source { root, manifest: &plan.manifest, gate: &plan.gate };
        let prepared = backend.prepare(&parent, &tree, &self.progress, &self.cancel)?;
        let backend::Content::Listed(listed) = prepared.content else {
            return Err(ApiError::new(Code::Failed, "the backend answered another question"));
        };

        tracing::debug!(files = listed.copied.len(), "copied");
        let own = admin.path.join("index.fwt");
        let place = GitPlace { git_dir: &admin.path, own_index: &own };
        let finished = self.finish_files(&tree, &listed, content, place)?;
        fs_sys::write_new(&admin.index(), &finished.index, Mode(0o666))?;
        tracing::debug!("the index is stamped");
        Ok(Filled::clean(finished.stats, finished.provisioned))
    }

    /// Has git write what is missing in `tree`, and stamps an index for all of it.
    pub(crate) fn finish_files(
        &self,
        tree: &Path,
        listed: &Listed,
        content: Content<'_>,
        place: GitPlace<'_>,
    ) -> Result<Finished, ApiError> {
        let for_git = self.write_rest(tree, listed, content, place)?;
        let (stamps, stats) = self.stamp(tree, content.index, listed, &for_git)?;
        let provisioned = provisioned(content.index, &stamps);
        Ok(Finished { stats, provisioned, index: stamps.apply(content.index.clone())? })
    }

    /// Has git write what the source could not give, and says which entries these were.
    pub(crate) fn write_rest(
        &self,
        tree: &Path,
        listed: &Listed,
        content: Content<'_>,
        place: GitPlace<'_>,
    ) -> Result<Vec<u32>, ApiError> {
        let mut for_git = content.plan.for_git.clone();
        for_git.extend(listed.rejected.iter().map(|(number, _)| *number));
        for_git.sort_unstable();
        self.write_by_git(place, tree, (content.index, &for_git), content.filters)?;
        tracing::debug!(files = for_git.len(), "git has written the rest");
        Ok(for_git)
    }

    /// The stamps of files that were written just now.
    pub(crate) fn stamp(
        &self,
        tree: &Path,
        index: &Index,
        listed: &Listed,
        for_git: &[u32],
    ) -> Result<(Stamps, Stats), ApiError> {
        let dir = fs_sys::open_dir(tree)?;
        let mut stamps = Stamps::new(index.len());
        stamps.add_copied(&dir, index, &listed.copied, self.now())?;
        stamps.add_written(&dir, index, for_git, self.now())?;
        let stats = Stats {
            files: stamps.stats.iter().flatten().count() as u64,
            files_from_git: for_git.len() as u64,
            bytes_cloned: listed.bytes.cloned,
            bytes_copied: listed.bytes.copied,
            bytes_from_git: bytes_of(&stamps, for_git),
        };
        Ok((stamps, stats))
    }

    /// Lets git write the entries that the source could not give. An index of its own serves it, so
    /// that the tree's index is written once, at the end.
    fn write_by_git(
        &self,
        place: GitPlace<'_>,
        tree: &Path,
        (index, numbers): (&Index, &[u32]),
        filters: Filters,
    ) -> Result<(), ApiError> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.cancelled()?;
        let GitPlace { git_dir, own_index } = place;
        fs_sys::write_new(own_index, index.bytes(), Mode(0o600))?;
        let context = Context::Explicit { git_dir, work_tree: tree, index: Some(own_index) };
        let paths: Vec<&[u8]> =
            numbers.iter().map(|number| index.entry(*number as usize).path).collect();
        self.git.checkout_entries(context, &paths, filters)?;
        Ok(fs_sys::remove_file(own_index)?)
    }

    /// Lets git write the whole tree.
    pub(crate) fn check_out(
        &self,
        source: &Checkout,
        admin: &Admin,
        filters: Filters,
        making: &Making<'_>,
    ) -> Result<Filled, ApiError> {
        let (path, tree) = (admin.index(), making.tree());
        let context = Context::Explicit { git_dir: &admin.path, work_tree: &tree, index: None };
        fs_sys::make_dir(&tree, Mode(0o777))?;
        self.git.checkout_head(context, filters)?;
        let index = Index::parse(fs_sys::read_file(&path)?, source.repository.format)
            .map_err(|error| git_cli::Error::Index { path, source: error })?;
        let written: Vec<u32> = (0_u32..)
            .zip(index.iter())
            .filter(|(_, entry)| !entry.flags.is_skip_worktree())
            .map(|(number, _)| number)
            .collect();
        let mut stamps = Stamps::new(index.len());
        let dir = fs_sys::open_dir(&tree)?;
        stamps.add_written(&dir, &index, &written, self.now())?;
        let stats = Stats {
            files: stamps.stats.iter().flatten().count() as u64,
            files_from_git: written.len() as u64,
            bytes_from_git: bytes_of(&stamps, &written),
            ..Stats::default()
        };
        let provisioned = provisioned(&index, &stamps);
        let bytes = stamps.apply(index)?;
        fs_sys::replace_file(&admin.index(), "index.fwt".as_ref(), &bytes, Mode(0o666))?;
        Ok(Filled::clean(stats, provisioned))
    }
}

fn bytes_of(stamps: &Stamps, numbers: &[u32]) -> u64 {
    let stats = numbers.iter().filter_map(|number| stamps.stats[*number as usize]);
    stats.map(|stat| stat.size).sum()
}

fn provisioned(index: &Index, stamps: &Stamps) -> Vec<Provisioned> {
    let entries = index.iter().zip(&stamps.stats);
    entries
        .filter_map(|(entry, stat)| {
            Some(Provisioned { path: entry.path.to_vec(), stat: (*stat)?, content: Some(entry.id) })
        })
        .collect()
}
