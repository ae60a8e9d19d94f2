//! Filling a tree: what the source can give, then what only git can write, then the stamps.

use std::path::{Path, PathBuf};

use backend::{Backend, Parent};
use fs_sys::{Kind, Mode};
use git_cli::index::Index;
use git_cli::{Admin, Context};

use super::making::Making;
use super::plan::Plan;
use crate::api::{ApiError, Stats};
use crate::manifest;
use crate::service::Service;
use crate::source::Source;
use crate::stamp::Stamps;

/// A tree whose files are all there.
pub(crate) struct Filled {
    pub(crate) stats: Stats,
    /// The provision manifest.
    pub(crate) manifest: Vec<u8>,
}

/// What is to be in a tree.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    /// Root of the source.
    pub(crate) root: &'a Path,
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) index: &'a Index,
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
        let Content { root, plan, index } = content;
        let tree = making.tree();
        self.progress.expect_files(plan.manifest.len() as u64);
        let parent = Parent::Source { root, manifest: &plan.manifest, gate: &plan.gate };
        let prepared = backend.prepare(&parent, &tree, &self.progress, &self.cancel)?;
        let listed = prepared.listed;
        fs_sys::write_new(&tree.join(".git"), &admin.git_file(), Mode(0o666))?;

        let mut for_git = plan.for_git.clone();
        for_git.extend(listed.rejected.iter().map(|(number, _)| *number));
        for_git.sort_unstable();
        self.write_by_git(admin, &tree, index, &for_git)?;

        let dir = fs_sys::open_dir(&tree)?;
        let mut stamps = Stamps::new(index.len());
        stamps.add_copied(&dir, index, &listed.copied, self.now())?;
        stamps.add_written(&dir, index, &for_git, self.now())?;
        let stats = Stats {
            files: stamps.stats.iter().flatten().count() as u64,
            files_from_git: for_git.len() as u64,
            bytes_cloned: listed.bytes.cloned,
            bytes_copied: listed.bytes.copied,
            bytes_from_git: bytes_of(&stamps, &for_git),
        };
        let bytes = stamps.apply(index.clone())?;
        fs_sys::write_new(&admin.index(), &bytes, Mode(0o666))?;
        Ok(Filled { stats, manifest: manifest_of(index, &stamps) })
    }

    /// Lets git write the entries that the source could not give. An index of its own serves it, so
    /// that the tree's index is written once, at the end.
    fn write_by_git(
        &self,
        admin: &Admin,
        tree: &Path,
        index: &Index,
        numbers: &[u32],
    ) -> Result<(), ApiError> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.cancelled()?;
        let own = admin.path.join("index.fwt");
        fs_sys::write_new(&own, index.bytes(), Mode(0o600))?;
        let context =
            Context::Explicit { git_dir: &admin.path, work_tree: tree, index: Some(&own) };
        let paths: Vec<&[u8]> =
            numbers.iter().map(|number| index.entry(*number as usize).path).collect();
        self.git.checkout_entries(context, &paths)?;
        Ok(fs_sys::remove_file(&own)?)
    }

    /// Lets git write the whole tree.
    pub(crate) fn check_out(
        &self,
        source: &Source,
        admin: &Admin,
        making: &Making<'_>,
    ) -> Result<Filled, ApiError> {
        let (path, tree) = (admin.index(), making.tree());
        let context = Context::Explicit { git_dir: &admin.path, work_tree: &tree, index: None };
        self.git.checkout_head(context)?;
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
        let manifest = manifest_of(&index, &stamps);
        let bytes = stamps.apply(index)?;
        fs_sys::replace_file(&admin.index(), "index.fwt".as_ref(), &bytes, Mode(0o666))?;
        Ok(Filled { stats, manifest })
    }
}

impl Plan<'_> {
    /// A regular file of the source with bytes in it, for a probe. A few are looked at: a source whose
    /// first files are all empty or gone is one whose sharing shows soon enough.
    pub(crate) fn sample(&self, root: &Path) -> Option<PathBuf> {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        const LOOKED_AT: usize = 64;
        let paths = self.manifest.iter().take(LOOKED_AT).map(|(directory, item)| {
            root.join(OsStr::from_bytes(directory)).join(OsStr::from_bytes(item.name))
        });
        paths.into_iter().find(|path| {
            fs_sys::stat(path).is_ok_and(|stat| stat.kind == Kind::File && stat.size > 0)
        })
    }
}

fn bytes_of(stamps: &Stamps, numbers: &[u32]) -> u64 {
    let stats = numbers.iter().filter_map(|number| stamps.stats[*number as usize]);
    stats.map(|stat| stat.size).sum()
}

fn manifest_of(index: &Index, stamps: &Stamps) -> Vec<u8> {
    let entries = index.iter().zip(&stamps.stats);
    manifest::encode(entries.filter_map(|(entry, stat)| Some((entry.path, (*stat)?, entry.id))))
}
