//! From a request to a filled tree: what is to be in it, who makes it, where it is registered.

use std::path::{Path, PathBuf};

use backend::{Reason, Site};
use copy_engine::{Existing, Ladder, Method, Options, copy_tree};
use git_cli::Admin;
use git_cli::index::Index;

use super::carry::{Carrying, skipped_entry};
use super::fill::{Content, Filled};
use super::filters;
use super::include::{self, Included};
use super::making::Making;
use super::own::Own;
use super::plan::{self, Scratch, Wanted};
use super::start::Start;
use super::tracked::Tracked;
use crate::api::{ApiError, Code, Include};
use crate::chain::{self, Choice, Rules, Rung};
use crate::manifest::Provisioned;
use crate::service::Service;
use crate::source::Checkout;

/// A tree that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) rules: Rules<'a>,
    pub(crate) source: &'a Checkout,
    pub(crate) start: &'a Start,
    /// The store for sealed trees, if one is needed.
    pub(crate) store: Option<&'a Path>,
}

impl Service {
    /// A commit, and what `.worktreeinclude` selects.
    pub(crate) fn make_clean(
        &self,
        order: &Order<'_>,
        making: &mut Making<'_>,
    ) -> Result<(Admin, Filled), ApiError> {
        let (git, source) = (&self.git, order.source);
        let wrapper = making.wrapper().to_owned();
        let scratch = Scratch { directory: &wrapper };
        let found = plan::source_index(git, source, &scratch)?;
        let tree = order.start.revision.tree;
        tracing::debug!("the source's index is read");
        let target = plan::target(git, source, found.as_ref(), tree, &scratch)?;
        let wanted = Wanted { index: &target.index, lfs: order.rules.request.lfs };
        let plan = plan::divide(git, source, found.as_ref(), &wanted, &scratch)?;
        tracing::debug!(copied = plan.manifest.len(), by_git = plan.for_git.len(), "planned");
        let sample = sample(&target.index, &source.root);
        let rung = choose(order.rules, making, sample.as_deref(), target.git_only.as_ref())?;
        let admin = self.register(order, rung, making)?;
        let filters = filters(order.rules.request.lfs);
        let mut filled = match rung {
            Rung::Backend(backend) => {
                let content =
                    Content { root: &source.root, plan: &plan, index: &target.index, filters };
                self.fill(backend, &admin, content, making)?
            }
            Rung::Checkout => self.check_out(source, &admin, filters, making)?,
        };
        if let (Include::Selected, Some(found)) = (order.rules.request.include, &found) {
            let included = include::find(source, &Tracked::of(&found.index))?;
            self.bring_included(&included, source, making, &mut filled)?;
        }
        Ok((admin, filled))
    }

    /// The source as it is now.
    pub(crate) fn make_carried(
        &self,
        order: &Order<'_>,
        making: &mut Making<'_>,
    ) -> Result<(Admin, Filled), ApiError> {
        let (git, source) = (&self.git, order.source);
        let wrapper = making.wrapper().to_owned();
        let scratch = Scratch { directory: &wrapper };
        let Some(index) = plan::source_index(git, source, &scratch)? else {
            let text =
                format!("{} has no index, so there is no state to carry", source.root.display());
            return Err(ApiError::new(Code::UnsupportedRepository, text)
                .with_hint("git reset makes one; --carry clean needs none"));
        };
        let detail = "git checks out a commit and nothing else".to_owned();
        let sample = sample(&index.index, &source.root);
        let limit = (Reason::OnlyCommits, detail);
        let rung = choose(order.rules, making, sample.as_deref(), Some(&limit))?;
        let Rung::Backend(backend) = rung else {
            return Err(ApiError::new(
                Code::BackendUnavailable,
                "plain git cannot carry files over",
            ));
        };
        let admin = self.register(order, rung, making)?;
        let tracked = Tracked::of(&index.index);
        let included = match order.rules.request.include {
            Include::Selected => include::find(source, &tracked)?,
            Include::Nothing => Included::default(),
        };
        let own = Own::below(making.registry(), &source.root)?;
        let carrying = Carrying {
            carry: order.rules.request.carry,
            source,
            index: &index,
            tracked: &tracked,
            included: &included,
            own: &own,
        };
        let filled = self.carry(backend, &carrying, &admin, making)?;
        Ok((admin, filled))
    }

    /// Copies selected ignored files into a clean tree. What is tracked there wins.
    pub(crate) fn bring_included(
        &self,
        included: &Included,
        source: &Checkout,
        making: &Making<'_>,
        filled: &mut Filled,
    ) -> Result<(), ApiError> {
        filled.skipped.extend(included.refused.iter().cloned());
        if included.paths.is_empty() {
            return Ok(());
        }
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: copy_engine::default_workers(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        let (from, to) = (fs_sys::open_dir(&source.root)?, fs_sys::open_dir(&making.tree())?);
        let copied = copy_tree(&from, &to, included, Existing::Keep, &options)?;
        for file in copied.files {
            filled.carried.ignored += 1;
            filled.stats.files += 1;
            filled.included.push(file.path.clone().into());
            filled.provisioned.push(Provisioned::carried(&file));
        }
        filled.included.sort();
        filled.provisioned.sort_by(|a, b| a.path.cmp(&b.path));
        filled.stats.bytes_cloned += copied.bytes.cloned;
        filled.stats.bytes_copied += copied.bytes.copied;
        filled.skipped.extend(copied.skipped.iter().map(skipped_entry));
        Ok(())
    }
}

/// Chooses who makes the tree and writes that into the row.
pub(crate) fn choose(
    rules: Rules<'_>,
    making: &mut Making<'_>,
    sample: Option<&Path>,
    limit: Option<&(Reason, String)>,
) -> Result<Rung, ApiError> {
    let wrapper = making.wrapper().to_owned();
    let site = Site { dest: &wrapper, sample };
    let Choice { rung, passed_over } = chain::choose(rules, &site, limit)?;
    let row = making.row();
    rung.kind().name().clone_into(&mut row.backend);
    row.passed_over = passed_over
        .into_iter()
        .map(|passed| pool_db::PassedOver {
            backend: passed.backend,
            reason: passed.reason,
            detail: passed.detail,
        })
        .collect();
    making.save()?;
    Ok(rung)
}

/// A regular file of the source with bytes in it, for a probe.
fn sample(index: &Index, root: &Path) -> Option<PathBuf> {
    const LOOKED_AT: usize = 64;
    let mut paths =
        index.iter().take(LOOKED_AT).map(|entry| root.join(include::as_path(entry.path)));
    paths.find(|path| is_sample(path))
}

/// The same for a directory that no index lists: at its top, or one level down.
pub(crate) fn sample_file(root: &Path) -> Option<PathBuf> {
    let in_directory = |directory: &Path| {
        let entries = fs_sys::list(directory).unwrap_or_default();
        let (directories, files): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(_, kind)| *kind == fs_sys::Kind::Directory);
        let mut files = files.into_iter().map(|(name, _)| directory.join(name));
        (files.find(|path| is_sample(path)), directories)
    };
    let (found, directories) = in_directory(root);
    let mut below = directories.iter().map(|(name, _)| root.join(name));
    found.or_else(|| below.find_map(|directory| in_directory(&directory).0))
}

fn is_sample(path: &Path) -> bool {
    fs_sys::stat(path).is_ok_and(|stat| stat.kind == fs_sys::Kind::File && stat.size > 0)
}
