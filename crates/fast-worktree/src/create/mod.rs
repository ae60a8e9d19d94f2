//! Making a worktree: plan, choose a backend, fill, stamp, publish.

mod fill;
mod gate;
mod making;
mod plan;
mod rules;
mod start;

use backend::Site;
use fs_sys::Time;
use fs_sys::process::this_process;
use git_cli::{Admin, AdminFiles, Files, WorktreeAdd};
use pool_db::{Nonce, State, Worktree as Row, WorktreeId, marker};

use self::fill::Content;
pub(crate) use self::gate::stat_block;
use self::making::Making;
use self::plan::Scratch;
use self::start::Start;
use crate::api::{ApiError, Code, CowPolicy, CreateRequest, Stats, Worktree};
use crate::chain::{self, Choice, Rung};
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
        let start = start::resolve(&self.git, &source, request)?;
        let id = WorktreeId::random()?;
        let name = request.name.clone().unwrap_or_else(|| id.to_string());
        let place = place::choose(&self.settings.home, &source, request, &name)?;
        let registry = self.registry()?;
        let row = new_row(&source, &start, (id, name), place, started)?;
        let mut making = Making::begin(&self.git, &registry, row)?;
        let stats = self.make(request, &source, &start, &mut making)?;
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
            Rung::Checkout => self.take_over_checkout(source, &admin, making)?,
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
    /// which knows what a repository with reftables or per-worktree configuration needs.
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
        let files = match rung {
            Rung::Checkout => Files::Checkout,
            Rung::Backend(_)
                if source.repository.uses_reftable() || source.has_worktree_config() =>
            {
                Files::None
            }
            Rung::Backend(_) => {
                let files =
                    AdminFiles { lock_reason: MAKING_REASON, commit: start.revision.commit };
                return Ok(Admin::create(&source.repository, &id, &files)?);
            }
        };
        let add = WorktreeAdd {
            path: &tree,
            commit: start.revision.commit,
            lock_reason: MAKING_REASON,
            files,
        };
        self.git.add_worktree(&source.repository, &add)?;
        if files == Files::None {
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
            self.git.create_branch(context, branch, start.revision.commit)?;
            making.row().branch = Some(branch.clone());
            making.save()?;
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
