//! Making a sealed tree: like a clean worktree, but for nobody.

use std::path::{Path, PathBuf};

use backend::Kind;
use copy_engine::{Ladder, Listed, Method, Options, copy_listed};
use fs_sys::{Access, Dir, Mode};
use git_cli::index::Index;

use super::base::Base;
use super::compare::compare;
use super::image::record_directories;
use super::key::Key;
use super::record::{Content as Amount, Record};
use super::{INDEX, TREE, TREES};
use crate::api::{ApiError, Code, Stats};
use crate::create::plan::{self, Scratch, SourceIndex};
use crate::create::{Content, GitPlace, Order, Wanted, filters};
use crate::manifest::{self, Provisioned};
use crate::service::Service;

/// A sealed tree that is being made.
pub(super) struct Sealing<'a> {
    pub(super) order: &'a Order<'a>,
    pub(super) kind: Kind,
    /// The directory that it grows in.
    pub(super) part: &'a Path,
    /// A directory in there that does not stay.
    pub(super) scratch: &'a Path,
    pub(super) found: Option<&'a SourceIndex>,
    pub(super) target: &'a Index,
}

/// Its files, and all that is known of them.
pub(super) struct Filled {
    pub(super) stats: Stats,
    pub(super) provisioned: Vec<Provisioned>,
    pub(super) index: Vec<u8>,
    /// The names of those whose layers are below its own.
    pub(super) below: Vec<String>,
}

impl Service {
    /// Makes the sealed tree in `directory`. The caller holds its lock alone: what is there without a
    /// record was left by somebody who died.
    pub(super) fn make_sealed(
        &self,
        order: &Order<'_>,
        (kind, key): (Kind, &Key),
        directory: &Path,
    ) -> Result<Stats, ApiError> {
        let mut part = directory.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        remove(directory)?;
        remove(&part)?;
        fs_sys::make_dir(&part, Mode(0o700))?;
        // It stays until what is made over it says so.
        let base = Base::find(directory.parent().unwrap_or(&part), &key.family)?;
        let made = self.fill_sealed(order, kind, &part, base.as_ref()).and_then(|filled| {
            fs_sys::rename_noreplace(&part, directory)?;
            finish(kind, key, directory, &filled)?;
            Ok(filled.stats)
        });
        if made.is_err() {
            for path in [&part, directory] {
                if let Err(error) = remove(path) {
                    tracing::warn!(%error, "a half-sealed tree stays behind");
                }
            }
        }
        made
    }

    fn fill_sealed(
        &self,
        order: &Order<'_>,
        kind: Kind,
        part: &Path,
        base: Option<&Base>,
    ) -> Result<Filled, ApiError> {
        let scratch = &part.join("scratch");
        fs_sys::make_dir(scratch, Mode(0o700))?;
        let place = Scratch { directory: scratch };
        let source = order.source;
        let tree = order.start.tree(&self.git, source)?;
        let found = plan::source_index(&self.git, source, &place)?;
        let target = plan::target(&self.git, source, found.as_ref(), tree, &place)?;
        if let Some((reason, detail)) = &target.git_only {
            let text = format!("no sealed tree can be made: {} ({detail})", reason.name());
            return Err(ApiError::new(Code::BackendUnavailable, text)
                .with_hint("without --backend the next one is taken"));
        }
        let (found, target) = (found.as_ref(), &target.index);
        let sealing = Sealing { order, kind, part, scratch, found, target };
        let over = match base {
            Some(base) => compare(&base.load_index(target.format())?, target).map(|it| (base, it)),
            None => None,
        };
        let filled = match over {
            Some((base, comparison)) => self.fill_difference(&sealing, base, comparison)?,
            None => self.fill_whole(&sealing)?,
        };
        fs_sys::write_new(&part.join(INDEX), &filled.index, Mode(0o600))?;
        let bytes = manifest::encode(&filled.provisioned);
        fs_sys::write_new(&part.join(manifest::FILE_NAME), &bytes, Mode(0o600))?;
        fs_sys::make_dir(&part.join(TREES), Mode(0o700))?;
        fs_sys::remove_tree(scratch)?;
        Ok(filled)
    }

    fn fill_whole(&self, sealing: &Sealing<'_>) -> Result<Filled, ApiError> {
        let tree = sealing.part.join(TREE);
        if sealing.kind == Kind::Btrfs {
            fs_sys::create_subvolume(&tree)?;
        } else {
            fs_sys::make_dir(&tree, Mode(0o777))?;
        }
        let plan = self.plan(sealing, None)?;
        let listed = self.copy_from_source(sealing, &plan, &fs_sys::open_dir(&tree)?)?;
        let own_index = sealing.scratch.join(OWN_INDEX);
        let (content, place) = sealing.content(&plan, &own_index);
        let finished = self.finish_files(&tree, &listed, content, place)?;
        let source = fs_sys::open_dir(&sealing.order.source.root)?;
        record_directories(&source, &fs_sys::open_dir(&tree)?, sealing.part)?;
        Ok(Filled {
            stats: finished.stats,
            provisioned: finished.provisioned,
            index: finished.index,
            below: Vec::new(),
        })
    }

    /// What the source can give of the entries with these numbers, or of all.
    pub(super) fn plan<'a>(
        &self,
        sealing: &Sealing<'a>,
        numbers: Option<&'a [u32]>,
    ) -> Result<plan::Plan<'a>, ApiError> {
        let Sealing { order, found, target, scratch, .. } = *sealing;
        let wanted = Wanted { index: target, numbers, lfs: order.rules.request.lfs };
        let scratch = Scratch { directory: scratch };
        plan::divide(&self.git, order.source, found, &wanted, &scratch)
    }

    /// Copies that into an empty directory.
    pub(super) fn copy_from_source(
        &self,
        sealing: &Sealing<'_>,
        plan: &plan::Plan<'_>,
        to: &Dir,
    ) -> Result<Listed, ApiError> {
        self.progress.expect_files(plan.manifest.len() as u64);
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: copy_engine::default_workers(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        let from = fs_sys::open_dir(&sealing.order.source.root)?;
        Ok(copy_listed(&from, to, &plan.manifest, &plan.gate, &options)?)
    }
}

impl<'a> Sealing<'a> {
    /// What git is told, and where it works with an index of its own.
    pub(super) fn content(
        &self,
        plan: &'a plan::Plan<'a>,
        own_index: &'a Path,
    ) -> (Content<'a>, GitPlace<'a>) {
        let source = self.order.source;
        let filters = filters(self.order.rules.request.lfs);
        let git_dir = &source.repository.git_dir;
        (
            Content { root: &source.root, plan, index: self.target, filters },
            GitPlace { git_dir, own_index },
        )
    }
}

/// The index that git works with.
pub(super) const OWN_INDEX: &str = "index.fwt";

/// The last steps, in a directory that has its name. A subvolume becomes read-only once nothing is
/// renamed any more.
fn finish(kind: Kind, key: &Key, directory: &Path, filled: &Filled) -> Result<(), ApiError> {
    if kind == Kind::Btrfs {
        let tree = fs_sys::open_dir(&directory.join(TREE))?;
        fs_sys::set_subvolume_access(&tree, Access::ReadOnly)?;
    }
    let Stats { files, bytes_cloned, bytes_copied, bytes_from_git, .. } = filled.stats;
    let own = Amount { files, bytes: bytes_cloned + bytes_copied + bytes_from_git };
    let total = total(&filled.provisioned);
    let layers = [key.name.clone()].into_iter().chain(filled.below.iter().cloned()).collect();
    Record::new(key.family.clone(), layers, total, own).write(directory)
}

fn total(provisioned: &[Provisioned]) -> Amount {
    let files = provisioned.iter().filter(|entry| entry.stat.kind == fs_sys::Kind::File);
    let bytes = files.map(|entry| entry.stat.size).sum();
    Amount { files: provisioned.len() as u64, bytes }
}

/// Removes what was left of a sealing, a subvolume with it.
pub(super) fn remove(directory: &Path) -> Result<(), ApiError> {
    let tree = directory.join(TREE);
    if fs_sys::exists(&tree)? && fs_sys::is_subvolume_root(&fs_sys::open_dir(&tree)?)? {
        fs_sys::remove_subvolume(&tree)?;
    }
    fs_sys::remove_tree(directory)?;
    Ok(())
}
