//! Copying a plain directory: everything in it, and no git anywhere.

use std::path::Path;

use backend::{Backend, Parent, Reason, Site, Support};
use copy_engine::{Filter, Verdict};
use fs_sys::{Dir, Kind, Mode};
use pool_db::{State, marker};
use walk::Ignore;

use super::carry::{require_readable, summary};
use super::fill::Filled;
use super::include::not_its_own;
use super::make::{choose, only_commits, sample_file};
use super::making::Making;
use super::own::Own;
use super::{owner, require_shared};
use crate::api::{ApiError, Carried, Carry, Code, CreateRequest, Fetch, Lfs};
use crate::chain::{Rules, Rung};
use crate::manifest::{self, Provisioned};
use crate::service::Service;
use crate::source::PlainDirectory;
use crate::{identity, plain};

/// All of a plain directory but what is never carried.
struct PlainFilter {
    own: Own,
}

impl Filter for PlainFilter {
    fn judge(&self, parent: &Dir, relative: &Path, kind: Kind, _ignore: Ignore) -> Verdict {
        if let Some(skip) = self.own.skipped(relative) {
            return Verdict::Skip(skip);
        }
        let name = relative.file_name().filter(|_| kind == Kind::Directory);
        let found = name.and_then(|name| not_its_own(parent, name));
        found.map_or(Verdict::Copy, Verdict::Skip)
    }
}

impl PlainDirectory {
    /// An error if the request asks for what only a repository has.
    pub(crate) fn require_possible(&self, request: &CreateRequest) -> Result<(), ApiError> {
        let root = self.root.display();
        if request.carry != Carry::All {
            let text = format!("{root} is in no git repository, so there is no commit to start at");
            return Err(ApiError::new(Code::NotARepository, text)
                .with_hint("name a directory of a repository with --source")
                .with_hint("--carry all copies a plain directory as it is"));
        }
        let asked = [
            (request.rev.is_some(), "--rev"),
            (request.branch.is_some(), "--branch"),
            (request.fetch == Fetch::First, "--fetch"),
            (request.lfs == Lfs::Pointer, "--lfs"),
        ];
        match asked.into_iter().find(|(is_asked, _)| *is_asked) {
            None => Ok(()),
            Some((_, flag)) => {
                let text = format!("{root} is in no git repository, so {flag} has no meaning");
                Err(ApiError::new(Code::BadRequest, text).with_hint(format!("leave {flag} away")))
            }
        }
    }
}

impl Service {
    /// Copies the directory as it is now.
    pub(crate) fn make_plain(
        &self,
        rules: Rules<'_>,
        directory: &PlainDirectory,
        making: &mut Making<'_>,
    ) -> Result<Filled, ApiError> {
        let sample = sample_file(&directory.root);
        let wrapper = making.wrapper().to_owned();
        let rung = choose(rules, making, |rung| {
            Ok(match rung {
                Rung::Checkout => only_commits("there is no git repository"),
                Rung::Backend(_) if rung.kind().needs_sealed_parent() => Support::No {
                    reason: Reason::NoSealedParent,
                    detail: "a sealed tree holds a commit, and here is none".to_owned(),
                },
                Rung::Backend(backend) => {
                    backend.probe(&Site { dest: &wrapper, sample: sample.as_deref() })
                }
            })
        })?;
        let Rung::Backend(backend) = rung else {
            return Err(ApiError::new(Code::BackendUnavailable, "plain git copies no directory"));
        };
        let own = Own::below(making.registry(), &directory.root)?;
        let owner = owner(rules.request, making)?;
        let mut filled = self.copy_plain(backend, directory, own, making)?;
        require_shared(rules.request, &filled)?;
        self.cancelled()?;
        if let Some(owner) = owner {
            owner::hand_over((&making.tree(), None), owner, &mut filled)?;
        }
        publish(&filled, making)?;
        Ok(filled)
    }

    fn copy_plain(
        &self,
        backend: &dyn Backend,
        directory: &PlainDirectory,
        own: Own,
        making: &Making<'_>,
    ) -> Result<Filled, ApiError> {
        let filter = PlainFilter { own };
        let parent = Parent::Carried { root: &directory.root, filter: &filter };
        let prepared = backend.prepare(&parent, &making.tree(), &self.progress, &self.cancel)?;
        let backend::Content::Carried(mut copied) = prepared.content else {
            return Err(ApiError::new(Code::Failed, "the backend answered another question"));
        };
        require_readable(&directory.root, &copied.skipped, |_| false)?;
        copied.files.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        let ignored = copied.files.iter().filter(|file| file.ignore == Ignore::Ignored).count();
        let ignored = ignored as u64;
        let untracked = copied.files.len() as u64 - ignored;
        let (stats, skipped) = summary(&copied);
        let provisioned = copied.files.iter().map(Provisioned::carried).collect();
        let carried = Carried { untracked, ignored, ..Carried::default() };
        Ok(Filled { stats, provisioned, carried, included: Vec::new(), skipped })
    }
}

/// Writes what says that the tree is ours, then puts it at its place.
fn publish(filled: &Filled, making: &mut Making<'_>) -> Result<(), ApiError> {
    let directory = identity::of(&making.tree())?;
    making.row().directory = Some(directory);
    making.save()?;
    let registry = making.registry();
    let row = making.row();
    let state = plain::state_dir(registry, row);
    fs_sys::make_dirs(&state, Mode(0o700))?;
    let bytes = manifest::encode(&filled.provisioned);
    fs_sys::write_new(&state.join(manifest::FILE_NAME), &bytes, Mode(0o600))?;
    row.state = State::Held;
    let written = marker::create(&state.join(marker::FILE_NAME), row);
    row.state = State::Making;
    written?;
    making.publish()
}
