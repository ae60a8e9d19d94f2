//! Carrying the source over as it is now: modified, staged, deleted and untracked files, and with
//! `all` the ignored ones.

use std::path::Path;

use backend::{Backend, Parent};
use copy_engine::{CopiedFile, Filter, Skip, Tree, Verdict};
use fs_sys::{Dir, Kind, Mode, Stat};
use git_cli::index::{Mode as IndexMode, StatBlock};
use git_cli::{Admin, Context, Staged};
use walk::Ignore;

use super::fill::Filled;
use super::gate::{is_settled, is_unchanged};
use super::include::{Included, as_path, not_its_own};
use super::making::Making;
use super::own::Own;
use super::plan::SourceIndex;
use super::tracked::Tracked;
use crate::api::{ApiError, Carried, Carry, Code, Skipped, Stats};
use crate::create::stat_block;
use crate::manifest::Provisioned;
use crate::service::Service;
use crate::source::Checkout;

/// Chooses what of the source comes along.
pub(super) struct CarryFilter<'a> {
    carry: Carry,
    tracked: &'a Tracked<'a>,
    included: &'a Included,
    own: &'a Own,
}

impl Filter for CarryFilter<'_> {
    fn judge(&self, parent: &Dir, relative: &Path, kind: Kind, ignore: Ignore) -> Verdict {
        if relative == Path::new(".git") {
            return Verdict::LeaveOut;
        }
        if let Some(skip) = self.own.skipped(relative) {
            return Verdict::Skip(skip);
        }
        let is_hidden = ignore == Ignore::Ignored && self.carry != Carry::All;
        if kind != Kind::Directory {
            let is_wanted = !is_hidden
                || self.tracked.holds(relative)
                || self.included.paths.contains(relative);
            return if is_wanted { Verdict::Copy } else { Verdict::LeaveOut };
        }
        let leads_on =
            self.tracked.is_below(relative) || self.included.directories.contains(relative);
        if is_hidden && !leads_on {
            return Verdict::LeaveOut;
        }
        if self.tracked.is_submodule(relative) {
            return Verdict::Skip(Skip::NestedRepository);
        }
        let found = relative.file_name().and_then(|name| not_its_own(parent, name));
        found.map_or(Verdict::Copy, Verdict::Skip)
    }
}

/// What to carry, and how.
pub(crate) struct Carrying<'a> {
    pub(crate) carry: Carry,
    pub(crate) source: &'a Checkout,
    pub(crate) index: &'a SourceIndex,
    pub(crate) staged: Staged,
    pub(crate) tracked: &'a Tracked<'a>,
    pub(crate) included: &'a Included,
    pub(crate) own: &'a Own,
}

impl<'a> Carrying<'a> {
    /// What chooses.
    pub(super) fn filter(&self) -> CarryFilter<'a> {
        let Carrying { carry, tracked, included, own, .. } = *self;
        CarryFilter { carry, tracked, included, own }
    }
}

/// Entries whose files the tree had before anything was carried to it.
#[derive(Debug, Default)]
pub(super) struct Unchanged {
    /// Their numbers in the source's index, and what is known of the files.
    pub(super) entries: Vec<(u32, StatBlock)>,
    pub(super) bytes: u64,
}

impl Unchanged {
    /// Files by their lstat in the tree.
    pub(super) fn of(files: impl IntoIterator<Item = (u32, Stat)>) -> Self {
        let mut found = Self::default();
        for (number, stat) in files {
            found.bytes += stat.size;
            found.entries.push((number, stat_block(&stat)));
        }
        found
    }
}

impl Service {
    /// Fills the tree with the source as it is now.
    pub(crate) fn carry(
        &self,
        backend: &dyn Backend,
        carrying: &Carrying<'_>,
        admin: &Admin,
        making: &Making<'_>,
    ) -> Result<Filled, ApiError> {
        let Carrying { source, index, tracked, .. } = carrying;
        let tree = making.tree();
        self.progress.expect_files(index.index.len() as u64);
        let filter = carrying.filter();
        let parent = Parent::Carried { root: &source.root, filter: &filter };
        let prepared = backend.prepare(&parent, &tree, &self.progress, &self.cancel)?;
        let backend::Content::Carried(copied) = prepared.content else {
            return Err(ApiError::new(Code::Failed, "the backend answered another question"));
        };
        tracing::debug!(files = copied.files.len(), "copied");
        require_readable(&source.root, &copied.skipped, |path| tracked.leads_to(path))?;
        make_submodules(&tree, tracked)?;
        self.finish_carried(carrying, admin, making, (copied, Unchanged::default()))
    }

    /// Stamps the index of a tree that has what was carried, and tells what that was.
    pub(super) fn finish_carried(
        &self,
        carrying: &Carrying<'_>,
        admin: &Admin,
        making: &Making<'_>,
        (mut copied, unchanged): (Tree, Unchanged),
    ) -> Result<Filled, ApiError> {
        let Carrying { index, staged, tracked, included, .. } = carrying;
        let tree = making.tree();
        copied.files.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));

        let (stamped, suspects) = stamp(index, tracked, &copied.files, &unchanged.entries)?;
        fs_sys::write_new(&admin.index(), &stamped, Mode(0o666))?;
        tracing::debug!("the index is stamped");
        let context = Context::Explicit { git_dir: &admin.path, work_tree: &tree, index: None };
        let changes = self.git.count_changes(context, *staged, &suspects)?;
        let mut carried =
            Carried { modified: changes.modified, deleted: changes.deleted, ..Carried::default() };
        let mut paths = Vec::new();
        for file in copied.files.iter().filter(|file| !tracked.holds(&file.path)) {
            if included.paths.contains(&file.path) {
                paths.push(file.path.as_path().into());
            }
            // What the project's rules hide is ignored, whichever way it came.
            if file.ignore == Ignore::Ignored {
                carried.ignored += 1;
            } else {
                carried.untracked += 1;
            }
        }
        let (mut stats, left_out) = summary(&copied);
        stats.files += unchanged.entries.len() as u64;
        stats.bytes_cloned += unchanged.bytes;
        let mut skipped = included.refused.clone();
        skipped.extend(left_out);
        let provisioned = provisioned(index, tracked, &copied.files);
        Ok(Filled { stats, provisioned, carried, included: paths, skipped })
    }
}

/// What copying took, and what it left out.
pub(crate) fn summary(copied: &Tree) -> (Stats, Vec<Skipped>) {
    let stats = Stats {
        files: copied.files.len() as u64,
        bytes_cloned: copied.bytes.cloned,
        bytes_copied: copied.bytes.copied,
        ..Stats::default()
    };
    let lost = copied.lost_attributes.iter().map(|(path, _)| Skipped {
        path: path.as_path().into(),
        reason: "attribute-lost".to_owned(),
    });
    (stats, copied.skipped.iter().map(skipped_entry).chain(lost).collect())
}

/// A file that git or nothing keeps and that cannot be read cannot be carried, and then the tree would
/// not be what was asked for. An ignored one is listed.
pub(crate) fn require_readable<'a>(
    root: &Path,
    skipped: impl IntoIterator<Item = &'a copy_engine::Skipped>,
    is_tracked: impl Fn(&Path) -> bool,
) -> Result<(), ApiError> {
    let is_needed = |path: &Path, ignore: Ignore| ignore == Ignore::Not || is_tracked(path);
    let unreadable = skipped.into_iter().find(|skipped| {
        skipped.skip == Skip::Unreadable && is_needed(&skipped.path, skipped.ignore)
    });
    match unreadable {
        None => Ok(()),
        Some(skipped) => {
            let path = root.join(&skipped.path);
            let text = format!("{} may not be read, so it cannot be carried", path.display());
            Err(ApiError::new(Code::PermissionDenied, text)
                .with_hint("make it readable, ignore it, or carry clean"))
        }
    }
}

/// Each submodule is the empty directory that git would leave.
fn make_submodules(tree: &Path, tracked: &Tracked<'_>) -> Result<(), ApiError> {
    for path in tracked.submodules() {
        fs_sys::make_dirs(&tree.join(as_path(path)), Mode(0o777))?;
    }
    Ok(())
}

/// The source's index for the tree, and the paths that are left for git to compare. An entry is stamped
/// clean if its file was clean in the source, by an lstat that did not change through the copy.
fn stamp<'a>(
    index: &'a SourceIndex,
    tracked: &Tracked<'_>,
    files: &[CopiedFile],
    unchanged: &[(u32, StatBlock)],
) -> Result<(Vec<u8>, Vec<&'a [u8]>), ApiError> {
    let mut patch =
        index.index.clone().into_patch().map_err(|error| {
            ApiError::new(Code::Failed, format!("cannot stamp the index: {error}"))
        })?;
    let mut stamps: Vec<Option<StatBlock>> = vec![None; index.index.len()];
    for (number, stat) in unchanged {
        stamps[*number as usize] = Some(*stat);
    }
    for file in files {
        if let Some(number) = tracked.number(&file.path)
            && is_clean(index, number, file)
        {
            stamps[number as usize] = Some(stat_block(&file.stat));
        }
    }
    let mut suspects = Vec::new();
    for (number, stamp) in stamps.into_iter().enumerate() {
        let entry = index.index.entry(number);
        if let Some(stamp) = stamp {
            patch.set_stat(number, &stamp);
        } else if !entry.flags.is_skip_worktree() {
            patch.set_stat(number, &StatBlock::default());
            // A submodule is an empty directory here, which git takes for unchanged.
            if !matches!(entry.mode, IndexMode::Gitlink | IndexMode::SparseDirectory) {
                suspects.push(entry.path);
            }
        }
    }
    Ok((patch.finish(), suspects))
}

fn is_clean(index: &SourceIndex, number: u32, file: &CopiedFile) -> bool {
    let entry = index.index.entry(number as usize);
    entry.stage == 0
        && is_unchanged(&entry.stat, &file.source)
        && is_settled(&file.source, index.mtime)
}

fn provisioned(
    index: &SourceIndex,
    tracked: &Tracked<'_>,
    files: &[CopiedFile],
) -> Vec<Provisioned> {
    let with_content = |file: &CopiedFile| {
        let number = tracked.number(&file.path).filter(|number| is_clean(index, *number, file));
        let content = number.map(|number| index.index.entry(number as usize).id);
        Provisioned { content, ..Provisioned::carried(file) }
    };
    files.iter().map(with_content).collect()
}

/// What was left out, as the answer says it.
pub(crate) fn skipped_entry(skipped: &copy_engine::Skipped) -> Skipped {
    let reason = match skipped.skip {
        Skip::Special => "special-file",
        Skip::Mount => "mount",
        Skip::NestedRepository => "nested-repository",
        Skip::Unreadable => "unreadable",
        Skip::Exists => "exists",
        Skip::KeepsChanging => "keeps-changing",
        Skip::JjRepository => "jj-repository",
        Skip::Managed => "fwt-worktree",
    };
    Skipped { path: skipped.path.as_path().into(), reason: reason.to_owned() }
}
