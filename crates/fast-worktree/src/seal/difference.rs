//! Sealing a later commit: what differs from one that is sealed is written, and the rest is shared.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use backend::{Difference, GIT, Kind};
use fs_sys::{Access, Dir, Mode as FileMode, Stat};
use git_cli::index::{Index, Mode, StatBlock};

use super::TREE;
use super::base::Base;
use super::compare::Comparison;
use super::image::record_changed;
use super::make::{Filled, OWN_INDEX, Sealing};
use crate::api::ApiError;
use crate::manifest::{self, Provisioned};
use crate::service::Service;
use crate::stamp::Stamps;

impl Service {
    /// Fills the tree with what differs: a layer of its own, or a snapshot in which that is changed. Costs
    /// as much as differs, but for the index.
    pub(super) fn fill_difference(
        &self,
        sealing: &Sealing<'_>,
        base: &Base,
        comparison: Comparison,
    ) -> Result<Filled, ApiError> {
        let tree = sealing.part.join(TREE);
        let below = base.record.sealed(&base.directory).layers;
        let mut difference = if sealing.kind == Kind::Btrfs {
            fs_sys::snapshot_subvolume(&below[0], &tree, Access::ReadWrite)?;
            Difference::between(&[], &tree)?
        } else {
            fs_sys::make_dir(&tree, FileMode(0o700))?;
            Difference::between(&below, &tree)?
        };
        // Files are renamed from there to their places, so it is in the same subvolume; nothing that is
        // tracked has this name.
        let staged = tree.join(GIT);
        fs_sys::make_dir(&staged, FileMode(0o777))?;
        let plan = self.plan(sealing, Some(&comparison.written))?;
        let from = fs_sys::open_dir(&staged)?;
        let mut listed = self.copy_from_source(sealing, &plan, &from)?;
        let own_index = sealing.scratch.join(OWN_INDEX);
        let (content, place) = sealing.content(&plan, &own_index);
        let for_git = self.write_rest(&staged, &listed, content, place)?;
        self.cancelled()?;
        move_in(&from, &mut difference, (sealing.target, &comparison))?;
        fs_sys::remove_tree(&staged)?;
        difference.finish()?;
        let target = sealing.target;
        look_again(&fs_sys::open_dir(&tree)?, target, &mut listed.copied)?;
        let (mut stamps, stats) = self.stamp(&tree, target, &listed, &for_git)?;
        tracing::debug!(files = stats.files, layers = below.len(), "sealed as a difference");
        record_changed((&base.directory, sealing.part), target, &comparison)?;
        let provisioned = provisioned(base, target, (&stamps, &comparison.kept))?;
        stamps.kept = comparison.kept;
        let below = if sealing.kind == Kind::Btrfs { &[] } else { &*base.record.layers };
        let index = stamps.apply(target.clone())?;
        Ok(Filled { stats, provisioned, index, below: below.to_vec() })
    }
}

/// Takes away what is gone, and puts what was written in its place.
fn move_in(
    staged: &Dir,
    difference: &mut Difference,
    (target, comparison): (&Index, &Comparison),
) -> Result<(), ApiError> {
    for path in &comparison.gone {
        difference.hide(path)?;
    }
    let mut seen = None;
    for number in &comparison.written {
        let entry = target.entry(*number as usize);
        let path = Path::new(OsStr::from_bytes(entry.path));
        let (parent, name) = split(path);
        if seen != Some(parent) {
            make_directories(staged, difference, parent)?;
            seen = Some(parent);
        }
        if entry.mode == Mode::Gitlink {
            make_directories(staged, difference, path)?;
            continue;
        }
        let to = difference.place(path)?;
        fs_sys::rename_at(staged.open_beneath(parent)?.at(name), to.at(name))?;
    }
    Ok(())
}

/// Makes the directories that lead to `path`, and itself, where there are none: like those that were made
/// for the files in them.
fn make_directories(
    staged: &Dir,
    difference: &mut Difference,
    path: &Path,
) -> Result<(), ApiError> {
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.pop();
    for directory in above.into_iter().rev() {
        let is_there = |stat: Stat| stat.kind == fs_sys::Kind::Directory;
        if !difference.stat(directory)?.is_some_and(is_there) {
            difference.make_like(directory, &staged.open_beneath(directory)?)?;
        }
    }
    Ok(())
}

/// A rename has moved the time of each file that no program can set.
fn look_again(tree: &Dir, target: &Index, copied: &mut [(u32, Stat)]) -> Result<(), ApiError> {
    for (number, stat) in copied {
        let (parent, name) =
            split(Path::new(OsStr::from_bytes(target.entry(*number as usize).path)));
        *stat = fs_sys::stat_at(tree.open_beneath(parent)?.at(name))?;
    }
    Ok(())
}

/// What is in the whole tree. What it shares is as it was when the tree below was sealed.
fn provisioned(
    base: &Base,
    target: &Index,
    (stamps, kept): (&Stamps, &[(u32, StatBlock)]),
) -> Result<Vec<Provisioned>, ApiError> {
    let mut below = manifest::load(&base.directory.join(manifest::FILE_NAME))?.into_iter();
    let mut kept = kept.iter().map(|(number, _)| *number as usize).peekable();
    let mut all = Vec::with_capacity(target.len());
    for (number, (entry, stat)) in target.iter().zip(&stamps.stats).enumerate() {
        if kept.next_if_eq(&number).is_some() && entry.mode != Mode::Gitlink {
            all.extend(below.find(|provisioned| provisioned.path == entry.path));
        } else if let Some(stat) = *stat {
            let (path, content) = (entry.path.to_vec(), Some(entry.id));
            all.push(Provisioned { path, stat, content });
        }
    }
    Ok(all)
}

fn split(path: &Path) -> (&Path, &OsStr) {
    (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default())
}
