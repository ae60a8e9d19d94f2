//! A tree from an overlay of ours: it stands on what that stands on, with a copy of what was written to that.
//! Costs as much as was changed there, however large the whole is.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use backend::{Active, Backend as _, Changes, Overlay, Unfinished};
use copy_engine::{CopiedFile, Filter as _, Skip, Skipped, Tree, Verdict};
use fs_sys::{Dir, ErrorKind, Kind};
use git_cli::Admin;
use git_cli::index::StatBlock;
use walk::{Descend, Directory, Entry, Ignore, RULES_FILE, Visitor, walk};

use super::carry::{CarryFilter, Carrying, Unchanged, require_readable};
use super::carry_over::make_submodules;
use super::fill::Filled;
use super::include::as_path;
use super::make::Order;
use super::making::Making;
use super::over_sealed::Ground;
use super::plan::SourceIndex;
use super::tracked::Tracked;
use crate::api::{ApiError, Carry};
use crate::backing;
use crate::chain::Rung;
use crate::seal::{self, Held};
use crate::service::Service;

/// What a tree is forked from.
pub(super) struct Forked {
    active: Active,
    held: Held,
    /// What differs there from the sealed tree.
    changes: Changes,
    /// What is in the sealed tree, and git knows no more.
    untracked: Vec<PathBuf>,
}

impl Service {
    /// What the source is as a tree of ours; `None` where only a look at all of it says what is to be
    /// carried.
    pub(super) fn forked(
        &self,
        order: &Order<'_>,
        index: &SourceIndex,
    ) -> Result<Option<Forked>, ApiError> {
        let (carry, source) = (order.rules.request.carry, order.source);
        let Some(row) = &source.overlay else { return Ok(None) };
        let is_hiding = carry != Carry::All;
        if source.is_sparse()
            || backing::store(row) != Some(order.store()?)
            // Ignored directories are in the sealed tree too.
            || is_hiding && row.carry == super::carry_name(Carry::All)
        {
            return Ok(None);
        }
        let (Some(active), Some(sealed)) = (backing::overlay_at(row, &row.path)?, &row.sealed)
        else {
            return Ok(None);
        };
        let Some(held) = self.hold_sealed(sealed)? else { return Ok(None) };
        let Some(changes) = Overlay.changed(&active)? else { return Ok(None) };
        if is_hiding && has_rules(&changes) {
            return Ok(None);
        }
        let is_at_base =
            row.base.as_ref().is_some_and(|base| base.commit == order.start.base.commit);
        let is_sealed_index =
            is_at_base && index.index.is_exactly(order.start.tree(&self.git, source)?);
        let untracked = if is_hiding && !is_sealed_index {
            let tracked: HashSet<&[u8]> = index.index.iter().map(|entry| entry.path).collect();
            let sealed = seal::provisioned(&held.directory)?.into_iter().map(|file| file.path);
            let gone = sealed.filter(|path| !tracked.contains(path.as_slice()));
            gone.map(|path| as_path(&path).to_owned()).collect()
        } else {
            Vec::new()
        };
        Ok(Some(Forked { active, held, changes, untracked }))
    }

    /// Makes the tree what the source is now.
    pub(super) fn fork(
        &self,
        order: &Order<'_>,
        (rung, forked): (Rung, &Forked),
        making: &mut Making<'_>,
        carrying: &Carrying<'_>,
    ) -> Result<(Admin, Filled), ApiError> {
        let Forked { active, held, .. } = forked;
        let root = fs_sys::open_dir(&carrying.source.root)?;
        let judged = forked.judge(&root, &carrying.filter())?;
        require_readable(root.path(), &judged.skipped, |path| carrying.tracked.leads_to(path))?;
        let ground = Ground { rung, held, like: Some((active, &judged.left_out)) };
        let (admin, bytes) = self.stand_on(order, ground, making, |unfinished| {
            leave_out(unfinished, &judged.left_out, carrying.tracked)?;
            Ok(unfinished.bytes())
        })?;
        let row = making.row().clone();
        let tree = fs_sys::open_dir(&row.path)?;
        let changes = backing::changes(&row, &row.path)?.unwrap_or_default();
        tracing::debug!(changes = changes.present.len(), "forked");
        let files = forked.files((&root, &tree), &changes, &judged)?;
        let unchanged = unchanged(carrying, &changes);
        let copied = Tree { files, skipped: judged.skipped, bytes, ..Tree::default() };
        let filled = self.finish_carried(carrying, &admin, making, (copied, unchanged))?;
        Ok((admin, filled))
    }
}

/// Whether a file of rules came, changed or went: then others than what changed may be hidden.
fn has_rules(changes: &Changes) -> bool {
    let mut all = changes.present.iter().chain(&changes.absent);
    all.any(|path| path.file_name().is_some_and(|name| name == RULES_FILE))
}

/// Hides what is left out where the sealed tree has something of that name.
fn leave_out(
    unfinished: &Unfinished,
    left_out: &BTreeSet<PathBuf>,
    tracked: &Tracked<'_>,
) -> Result<(), ApiError> {
    let mut difference = unfinished.difference()?;
    for path in left_out {
        difference.hide(path)?;
    }
    make_submodules(tracked, &mut difference)?;
    Ok(difference.finish()?)
}

/// Entries of the source's index whose files are the sealed ones. What the index says of them holds in every
/// tree that stands on these.
fn unchanged(carrying: &Carrying<'_>, changes: &Changes) -> Unchanged {
    let SourceIndex { index, mtime } = carrying.index;
    let changed = changes.present.iter().chain(&changes.absent);
    let changed: HashSet<u32> = changed.filter_map(|path| carrying.tracked.number(path)).collect();
    let mut found = Unchanged::default();
    for (number, entry) in (0..).zip(index.iter()) {
        let is_known = entry.stat != StatBlock::default()
            // Whole seconds, as git compares them.
            && i64::from(entry.stat.mtime_s) < mtime.seconds;
        if entry.stage == 0 && is_known && !changed.contains(&number) {
            found.bytes += u64::from(entry.stat.size);
            found.entries.push((number, entry.stat));
        }
    }
    found
}

impl Forked {
    /// What of all that may differ comes along.
    fn judge(&self, root: &Dir, filter: &CarryFilter<'_>) -> Result<Judged, ApiError> {
        let candidates: HashSet<&Path> =
            self.changes.present.iter().chain(&self.untracked).map(PathBuf::as_path).collect();
        let above = candidates.iter().flat_map(|path| path.ancestors());
        let leading: HashSet<&Path> = above.collect();
        let new_judge = || Judge {
            filter,
            candidates: &candidates,
            leading: &leading,
            found: Judged::default(),
        };
        let mut all = Judged::default();
        for Judge { found, .. } in walk(root, copy_engine::default_workers(), new_judge)? {
            all.left_out.extend(found.left_out);
            all.ignored.extend(found.ignored);
            all.skipped.extend(found.skipped);
        }
        Ok(all)
    }

    /// The files that came along. One that was not there when it was decided what comes along is a change
    /// meanwhile.
    fn files(
        &self,
        (root, tree): (&Dir, &Dir),
        changes: &Changes,
        judged: &Judged,
    ) -> Result<Vec<CopiedFile>, ApiError> {
        let known: HashSet<&PathBuf> = self.changes.present.iter().collect();
        let mut files = Vec::new();
        for path in &changes.present {
            let Some(stat) = tree.stat_beneath(path)?.filter(|stat| stat.kind != Kind::Directory)
            else {
                continue;
            };
            if !known.contains(path) {
                let path = root.path().join(path);
                return Err(copy_engine::Error::KeepsChanging { path }.into());
            }
            // After the copy, so that one that is as the index has it was so all the time.
            let source = root.stat_beneath(path)?.unwrap_or(stat);
            let ignore = if judged.ignored.contains(path) { Ignore::Ignored } else { Ignore::Not };
            files.push(CopiedFile { path: path.clone(), source, stat, ignore });
        }
        Ok(files)
    }
}

/// What comes along, and what does not.
#[derive(Debug, Default)]
struct Judged {
    left_out: BTreeSet<PathBuf>,
    /// Files that come along though the rules hide them.
    ignored: HashSet<PathBuf>,
    skipped: Vec<Skipped>,
}

/// Looks at what may differ, in the directories that lead to it.
struct Judge<'a> {
    filter: &'a CarryFilter<'a>,
    candidates: &'a HashSet<&'a Path>,
    leading: &'a HashSet<&'a Path>,
    found: Judged,
}

impl Judge<'_> {
    fn leave_out(&mut self, path: PathBuf, why: Option<(Skip, Ignore)>) {
        if let Some((skip, ignore)) = why {
            self.found.skipped.push(Skipped { path: path.clone(), skip, ignore });
        }
        self.found.left_out.insert(path);
    }

    /// Whether the entry comes along. Where it does not, that is noted.
    fn admits(&mut self, parent: &Directory, relative: &Path, entry: &Entry) -> bool {
        match self.filter.judge(&parent.dir, relative, entry.kind, entry.ignore) {
            Verdict::Copy if entry.kind != Kind::Special => return true,
            Verdict::Copy => {
                self.leave_out(relative.to_owned(), Some((Skip::Special, entry.ignore)));
            }
            Verdict::LeaveOut => self.leave_out(relative.to_owned(), None),
            Verdict::Skip(skip) => self.leave_out(relative.to_owned(), Some((skip, entry.ignore))),
        }
        false
    }
}

impl Visitor for Judge<'_> {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        let relative = parent.relative.join(&entry.name);
        if !self.leading.contains(relative.as_path()) || !self.admits(parent, &relative, entry) {
            return Ok(Descend::Past);
        }
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), ApiError> {
        for entry in files {
            let relative = parent.relative.join(&entry.name);
            if self.candidates.contains(relative.as_path())
                && self.admits(parent, &relative, entry)
                && entry.ignore == Ignore::Ignored
            {
                self.found.ignored.insert(relative);
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, relative: &Path, error: fs_sys::Error) -> Result<(), ApiError> {
        if error.kind == ErrorKind::CrossDevice {
            self.leave_out(relative.to_owned(), Some((Skip::Mount, Ignore::Not)));
        } else if error.kind == ErrorKind::Denied {
            self.leave_out(relative.to_owned(), Some((Skip::Unreadable, Ignore::Not)));
        } else if error.kind != ErrorKind::NotFound {
            return Err(error.into());
        }
        Ok(())
    }
}
