//! From a request to a filled tree: what is to be in it, who makes it, where it is registered.

use std::path::{Path, PathBuf};

use backend::{Kind, Reason, Site, Support};
use copy_engine::{Existing, Ladder, Method, Options, copy_tree};
use git_cli::index::Index;
use git_cli::object::ObjectId;
use git_cli::{Admin, Staged};

use super::carry::{Carrying, skipped_entry};
use super::fill::{Content, Filled};
use super::include::{self, Included};
use super::making::Making;
use super::own::Own;
use super::plan::{self, Scratch, SourceIndex, Target, Wanted};
use super::start::Start;
use super::tracked::Tracked;
use super::{filters, over_sealed};
use crate::api::{ApiError, Code, Include};
use crate::chain::{self, Choice, Rules, Rung};
use crate::limits::Limits;
use crate::manifest::Provisioned;
use crate::place::{self, Store};
use crate::seal::Held;
use crate::service::Service;
use crate::source::{Checkout, Source};

/// A tree that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) rules: Rules<'a>,
    pub(crate) source: &'a Checkout,
    pub(crate) start: &'a Start,
    /// What `source` was opened as.
    pub(crate) opened: &'a Source,
    pub(crate) stores: Store<'a>,
    /// What may stay sealed.
    pub(crate) limits: Limits,
}

impl Order<'_> {
    /// The store for sealed trees and what stands on them, which is made if it is not there.
    pub(crate) fn store(&self) -> Result<PathBuf, ApiError> {
        place::store(self.stores, self.opened)
    }
}

/// What is read of a source before its files are copied.
struct Inputs {
    found: Option<SourceIndex>,
    target: Target,
    /// For probes.
    sample: Option<PathBuf>,
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
        let mut read = None;
        let rung = choose(order.rules, making, |rung| {
            self.can_make_clean(order, rung, &wrapper, &mut read)
        })?;
        if rung.kind().needs_sealed_parent() {
            return self.make_over_sealed(order, rung, making);
        }
        let Inputs { found, target, .. } =
            read.map_or_else(|| self.read_inputs(order, &scratch), Ok)?;
        let lfs = order.rules.request.lfs;
        let wanted = Wanted { index: &target.index, numbers: None, lfs };
        let plan = plan::divide(git, source, found.as_ref(), &wanted, &scratch)?;
        tracing::debug!(copied = plan.manifest.len(), by_git = plan.for_git.len(), "planned");
        let admin = self.register(order, rung, making, &making.own_repository())?;
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

    fn read_inputs(&self, order: &Order<'_>, scratch: &Scratch<'_>) -> Result<Inputs, ApiError> {
        let (git, source) = (&self.git, order.source);
        let found = plan::source_index(git, source, scratch)?;
        tracing::debug!("the source's index is read");
        let tree = order.start.tree(git, source)?;
        let target = plan::target(git, source, found.as_ref(), tree, scratch)?;
        let sample = sample(&target.index, &source.root);
        Ok(Inputs { found, target, sample })
    }

    /// Whether a rung can make this commit. The source is looked into only where that matters: over a
    /// sealed tree nothing of it is needed.
    fn can_make_clean(
        &self,
        order: &Order<'_>,
        rung: Rung,
        wrapper: &Path,
        read: &mut Option<Inputs>,
    ) -> Result<Support, ApiError> {
        let Rung::Backend(backend) = rung else { return Ok(Support::Yes) };
        let is_over_sealed = rung.kind().needs_sealed_parent();
        if is_over_sealed && !order.source.is_sparse() {
            return over_sealed::support(order, backend, wrapper);
        }
        let inputs = match read {
            Some(inputs) => inputs,
            None => read.insert(self.read_inputs(order, &Scratch { directory: wrapper })?),
        };
        if let Some((reason, detail)) = &inputs.target.git_only {
            return Ok(Support::No { reason: *reason, detail: detail.clone() });
        }
        if is_over_sealed {
            return over_sealed::support(order, backend, wrapper);
        }
        Ok(backend.probe(&Site { dest: wrapper, sample: inputs.sample.as_deref() }))
    }

    /// Seals the commit that a carried tree starts at. Where git cannot write a file that the source has
    /// changed (a filter has lost its content, say), the source can still be carried without.
    fn can_seal(
        &self,
        order: &Order<'_>,
        rung: Rung,
        held: &mut Option<Held>,
    ) -> Result<Support, ApiError> {
        match self.seal_for(order, rung) {
            Ok(sealed) => {
                *held = Some(sealed);
                Ok(Support::Yes)
            }
            Err(error) if error.code == Code::GitFailed => {
                Ok(Support::No { reason: Reason::NoSealedParent, detail: error.message })
            }
            Err(error) => Err(error),
        }
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
        let sample = sample(&index.index, &source.root);
        let (mut read, mut held, mut forked) = (None, None, None);
        let rung = choose(order.rules, making, |rung| {
            Ok(match rung {
                Rung::Checkout => only_commits("git checks out a commit and nothing else"),
                Rung::Backend(_) if rung.kind().needs_sealed_parent() => {
                    let found = self.can_make_clean(order, rung, &wrapper, &mut read)?;
                    if found == Support::Yes && rung.kind() == Kind::Overlay {
                        forked = self.forked(order, &index)?;
                    }
                    match (found, &forked) {
                        (Support::Yes, None) => self.can_seal(order, rung, &mut held)?,
                        (found, _) => found,
                    }
                }
                Rung::Backend(backend) => {
                    backend.probe(&Site { dest: &wrapper, sample: sample.as_deref() })
                }
            })
        })?;
        let Rung::Backend(backend) = rung else {
            return Err(ApiError::new(
                Code::BackendUnavailable,
                "plain git cannot carry files over",
            ));
        };
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
            staged: staged(&index.index, order.start.tree(git, source)?),
            tracked: &tracked,
            included: &included,
            own: &own,
        };
        if let Some(forked) = forked {
            return self.fork(order, (rung, &forked), making, &carrying);
        }
        if let Some(held) = held {
            return self.carry_over_sealed(order, (rung, &held), making, &carrying);
        }
        let admin = self.register(order, rung, making, &making.own_repository())?;
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
    support: impl FnMut(Rung) -> Result<Support, ApiError>,
) -> Result<Rung, ApiError> {
    let Choice { rung, passed_over } = chain::choose(rules, support)?;
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

/// Why plain git makes no tree of more than a commit.
pub(crate) fn only_commits(detail: &str) -> Support {
    Support::No { reason: Reason::OnlyCommits, detail: detail.to_owned() }
}

/// Whether an index differs from HEAD's tree, as far as it says so itself.
fn staged(index: &Index, tree: ObjectId) -> Staged {
    if index.is_exactly(tree) { Staged::Nothing } else { Staged::Maybe }
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
