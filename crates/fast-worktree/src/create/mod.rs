//! Making a worktree: plan, choose a backend, fill, stamp, publish.

mod fill;
mod gate;
mod making;
mod plan;
mod rules;
mod start;

use std::path::Path;

use backend::Site;
use fs_sys::process::this_process;
use fs_sys::{ErrorKind, Time};
use git_cli::{Admin, AdminFiles, WorktreeAdd};
use pool_db::{Nonce, Registry, State, Worktree as Row, WorktreeId, marker};

use self::fill::Content;
pub(crate) use self::gate::stat_block;
use self::making::Making;
pub(crate) use self::making::discard;
use self::plan::Scratch;
use self::start::Start;
use crate::api::{ApiError, Code, CowPolicy, CreateRequest, Stats, Worktree};
use crate::chain::{self, Choice, Rung};
use crate::dispose::branch_message;
use crate::place::{self, Place};
use crate::row::describe;
use crate::service::Service;
use crate::source::Source;
use crate::{manifest, name};

/// Why a tree is locked for git while it is made.
const MAKING_REASON: &str = "fwt is making this worktree";

impl Service {
    /// Makes a worktree.
    pub(crate) fn create(&self, request: &CreateRequest) -> Result<Worktree, ApiError> {
        let started = self.now();
        if let Some(name) = &request.name {
            name::check(name)?;
        }
        let source = Source::open(&self.git, &request.source.0)?;
        let existing = Registry::open_existing(&self.settings.home)?;
        if let Some(registry) = &existing {
            self.reclaim(registry, &source, request)?;
        }
        let start = start::resolve(&self.git, &source, request)?;
        let id = WorktreeId::random()?;
        let name = request.name.clone().unwrap_or_else(|| id.to_string());
        let place = place::choose(&self.settings.home, &source, request, &name)?;
        let registry = existing.map_or_else(|| self.registry(), Ok)?;
        let row = new_row(&source, &start, (id, name), place, started)?;
        let mut making = Making::begin(&self.git, &registry, row)?;
        let stats = self
            .make(request, &source, &start, &mut making)
            .map_err(|error| explain(error, making.wrapper()))?;
        let row = making.finish()?;
        let mut worktree = describe(&row);
        worktree.stats = Some(stats);
        worktree.elapsed_ms = Some(milliseconds_between(started, self.now()));
        Ok(worktree)
    }

    fn make(
        &self,
        request: &CreateRequest,
        source: &Source,
        start: &Start,
        making: &mut Making<'_>,
    ) -> Result<Stats, ApiError> {
        let git = &self.git;
        let wrapper = making.wrapper().to_owned();
        let scratch = Scratch { directory: &wrapper };
        let found = plan::source_index(git, source, &scratch)?;
        let target = plan::target(git, source, found.as_ref(), start.revision.tree, &scratch)?;
        let plan = plan::divide(git, source, found.as_ref(), &target.index, &scratch)?;
        let sample = plan.sample(&source.root);
        let site = Site { dest: &wrapper, sample: sample.as_deref() };
        let Choice { rung, passed_over } = chain::choose(request, &site, target.git_only.as_ref())?;
        let row = making.row();
        rung.kind().name().clone_into(&mut row.backend);
        row.passed_over = passed_over.into_iter().map(to_row).collect();
        making.save()?;
        let admin = self.register(source, start, rung, making)?;
        let filled = match rung {
            Rung::Backend(backend) => {
                let content = Content { root: &source.root, plan: &plan, index: &target.index };
                self.fill(backend, &admin, content, making)?
            }
            Rung::Checkout => self.check_out(source, &admin, making)?,
        };
        if request.cow == CowPolicy::Require && filled.stats.bytes_copied > 0 {
            let text = "some files of the source cannot be shared with the new tree";
            return Err(ApiError::new(Code::BackendUnavailable, text)
                .with_hint("without --cow require these files are copied"));
        }
        self.cancelled()?;
        fs_sys::write_new(
            &admin.path.join(manifest::FILE_NAME),
            &filled.manifest,
            fs_sys::Mode(0o600),
        )?;
        self.publish(start, &admin, making)?;
        Ok(filled.stats)
    }

    /// Makes the admin directory: ourselves where its files are all there is to it, else through git,
    /// which knows what reftables, per-worktree configuration or sparse patterns need.
    fn register(
        &self,
        source: &Source,
        start: &Start,
        rung: Rung,
        making: &mut Making<'_>,
    ) -> Result<Admin, ApiError> {
        let (tree, id) = (making.tree(), making.row().id.to_string());
        let admin = Admin::existing(&source.repository, &id);
        making.row().admin_dir = Some(admin.path.clone());
        making.save()?;
        let is_git_needed = source.repository.uses_reftable()
            || source.has_worktree_config()
            || source.is_sparse() && matches!(rung, Rung::Checkout);
        if !is_git_needed {
            let files = AdminFiles { lock_reason: MAKING_REASON, commit: start.revision.commit };
            let admin = Admin::create(&source.repository, &id, &files)?;
            if let Rung::Checkout = rung {
                fs_sys::make_dir(&tree, fs_sys::Mode(0o777))?;
                fs_sys::write_new(&tree.join(".git"), &admin.git_file(), fs_sys::Mode(0o666))?;
            }
            return Ok(admin);
        }
        let add =
            WorktreeAdd { path: &tree, commit: start.revision.commit, lock_reason: MAKING_REASON };
        self.git.add_worktree(&source.repository, &add)?;
        if let Rung::Backend(_) = rung {
            // The backend makes the tree's directory itself.
            fs_sys::remove_file(&tree.join(".git"))?;
            fs_sys::remove_dir(&tree)?;
        }
        Ok(admin)
    }

    /// Puts the tree at its place and registers it there.
    fn publish(
        &self,
        start: &Start,
        admin: &Admin,
        making: &mut Making<'_>,
    ) -> Result<(), ApiError> {
        if let Some(branch) = &start.branch {
            let context = git_cli::Context::Explicit {
                git_dir: &admin.path,
                work_tree: &making.tree(),
                index: None,
            };
            // First the row, so that a branch is never left that no row names.
            making.row().branch = Some(branch.clone());
            making.save()?;
            let message = branch_message(making.row());
            self.git
                .create_branch(context, branch, start.revision.commit, &message)
                // Somebody else may have been quicker.
                .map_err(|error| match start::require_free(&self.git, context, branch) {
                    Err(taken) => taken,
                    Ok(()) => error.into(),
                })?;
            self.git.attach_head(context, branch)?;
        }
        let row = making.row();
        row.state = State::Held;
        marker::create(&admin.path.join(marker::FILE_NAME), row)?;
        row.state = State::Making;
        making.publish()?;
        let path = making.row().path.clone();
        admin.set_tree(&path)?;
        let top_level = self.git.top_level(&path)?;
        if fs_sys::canonicalize(&top_level)? != fs_sys::canonicalize(&path)? {
            let text = format!("git takes {} for {}", path.display(), top_level.display());
            return Err(ApiError::new(Code::GitFailed, text));
        }
        Ok(admin.unlock(MAKING_REASON)?)
    }

    pub(crate) fn cancelled(&self) -> Result<(), ApiError> {
        if self.cancel.is_cancelled() {
            return Err(copy_engine::Error::Cancelled.into());
        }
        Ok(())
    }
}

/// git does not say why it could not write a file. If there is no room now, there was none then.
fn explain(error: ApiError, wrapper: &Path) -> ApiError {
    /// git writes that much at a time, and the kernel may refuse it long before the last block is used.
    const ROOM_BYTES: usize = 8 << 20;
    if error.code != Code::GitFailed {
        return error;
    }
    // It goes with the private directory that it is in.
    match fs_sys::write_new(&wrapper.join("room"), &vec![1; ROOM_BYTES], fs_sys::Mode(0o600)) {
        Err(full) if full.kind == ErrorKind::NoSpace => {
            let ApiError { code, hints, .. } = full.into();
            ApiError { code, hints, message: format!("no room is left: {}", error.message) }
        }
        _ => error,
    }
}

fn new_row(
    source: &Source,
    start: &Start,
    (id, name): (WorktreeId, String),
    place: Place,
    now: Time,
) -> Result<Row, ApiError> {
    let beside = format!(".fwt-{id}");
    let making_path = place.path.parent().map(|parent| parent.join(&beside));
    Ok(Row {
        id,
        nonce: Nonce::random()?,
        name,
        state: State::Making,
        epoch: 0,
        repository: pool_db::Repository {
            common_dir: source.repository.common_dir.clone(),
            identity: source.identity,
        },
        source: source.root.clone(),
        path: place.path,
        making_path,
        admin_dir: None,
        trash_path: None,
        placement: place.placement,
        mode: pool_db::Mode::Linked,
        backend: String::new(),
        passed_over: Vec::new(),
        carry: "clean".to_owned(),
        base: Some(pool_db::Base {
            rev: start.base.rev.clone(),
            commit: start.base.commit.clone(),
            from: start.base.from.clone(),
        }),
        branch: None,
        maker: this_process(),
        created_at: now.seconds,
        last_used_at: now.seconds,
        rebuilt_at: None,
        extra: std::collections::BTreeMap::default(),
    })
}

fn to_row(passed: crate::api::PassedOver) -> pool_db::PassedOver {
    pool_db::PassedOver { backend: passed.backend, reason: passed.reason, detail: passed.detail }
}

fn milliseconds_between(start: Time, end: Time) -> u64 {
    let milliseconds =
        |time: Time| i128::from(time.seconds) * 1000 + i128::from(time.nanos / 1_000_000);
    u64::try_from(milliseconds(end) - milliseconds(start)).unwrap_or(0)
}
