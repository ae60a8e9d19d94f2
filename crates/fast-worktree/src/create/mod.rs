//! Making a worktree: plan, choose a backend, fill, stamp, publish.

mod carry;
mod carry_over;
mod fill;
mod gate;
mod include;
mod make;
mod making;
mod objects;
mod over_sealed;
mod own;
mod owner;
mod plain;
pub(crate) mod plan;
mod register;
mod rules;
mod start;
mod survey;
mod tracked;

use std::path::Path;

use fs_sys::process::this_process;
use fs_sys::{ErrorKind, Mode, Owner, Time};
use git_cli::{Admin, Filters};
use pool_db::{Lease, Nonce, Registry, State, Worktree as Row, WorktreeId};

use self::fill::Filled;
pub(crate) use self::fill::{Content, GitPlace};
pub(crate) use self::gate::stat_block;
pub(crate) use self::include::{as_path, not_its_own};
pub(crate) use self::make::{Order, sample_file};
use self::making::Making;
pub(crate) use self::making::discard;
pub(crate) use self::over_sealed::copy_file;
pub(crate) use self::plan::{Wanted, names_attributes};
use self::start::Start;
pub(crate) use self::start::resolve;
use crate::api::{
    ApiError, Base, Carry, Code, CowPolicy, CreateRequest, HookOutcome, Lfs, Mode as WireMode,
    TreeOwner, Worktree,
};
use crate::chain::Rules;
use crate::config::Configuration;
use crate::place::{self, Place, Store};
use crate::plain::kept_dir;
use crate::row::describe;
use crate::service::Service;
use crate::source::{Checkout, PlainDirectory, Source};
use crate::{hook, lease, manifest, name};

/// What is to be made.
enum Task<'a> {
    /// A tree of a repository, which starts at a commit.
    Commit(&'a Checkout, Start),
    /// A copy of a plain directory.
    Copy(&'a PlainDirectory),
}

impl Service {
    /// Makes a worktree.
    pub(crate) fn create(&self, request: &CreateRequest) -> Result<Worktree, ApiError> {
        self.create_held(request, None)
    }

    /// Makes a worktree that is leased from its beginning, if there is a lease.
    pub(crate) fn create_held(
        &self,
        request: &CreateRequest,
        lease: Option<&Lease>,
    ) -> Result<Worktree, ApiError> {
        let started = self.now();
        if let Some(name) = &request.name {
            name::check(name)?;
        }
        let existing = Registry::open_existing(&self.settings.home)?;
        let source = Source::open(&self.git, existing.as_ref(), &request.source.0)?;
        if let Some(registry) = &existing {
            self.reclaim(registry, &source, request)?;
        }
        let task = match &source {
            Source::Checkout(checkout) => {
                Task::Commit(checkout, resolve(&self.git, checkout, request)?)
            }
            Source::Plain(directory) => {
                directory.require_possible(request)?;
                Task::Copy(directory)
            }
        };
        let id = WorktreeId::random()?;
        let name = request.name.clone().unwrap_or_else(|| id.to_string());
        let configuration =
            Configuration::load(existing.as_ref(), self.settings.config.as_deref(), &source)?;
        let stores = Store { home: &self.settings.home, chosen: configuration.store.as_deref() };
        let place = place::choose(stores, &source, request, &name)?;
        let registry = existing.map_or_else(|| self.registry(), Ok)?;
        let row = new_row(request, (&source, &task), (id, name), place, started)?;
        let mut making =
            Making::begin(&self.git, &registry, row, lease.map(|lease| (lease, self.moment())))?;
        let rules = Rules { request, backends: configuration.backends.as_deref() };
        let made = match &task {
            Task::Commit(checkout, start) => {
                let limits = configuration.sealed;
                let order =
                    Order { rules, source: checkout, start, opened: &source, stores, limits };
                self.make(&order, &mut making)
            }
            Task::Copy(directory) => self.make_plain(rules, directory, &mut making),
        };
        let filled = made.map_err(|error| explain(error, making.wrapper()))?;
        let owner = request.owner.map(|TreeOwner { uid, gid }| Owner { uid, gid });
        let hooks = self.set_up(&registry, making.row(), &configuration, owner)?;
        if hooks.iter().any(|report| report.outcome == HookOutcome::Done) {
            let row = making.row();
            let state = kept_dir(&registry, row);
            hook::made::record(&row.path, &state, &filled.provisioned)?;
        }
        let row = making.finish()?;
        if let Source::Checkout(checkout) = &source {
            checkout.remember(&self.git, self.now());
        }
        let mut worktree = describe(&row);
        worktree.lease = lease.map(lease::describe);
        worktree.stats = Some(filled.stats);
        worktree.carried = filled.carried;
        worktree.included = filled.included;
        worktree.skipped = filled.skipped;
        worktree.hooks = hooks;
        worktree.elapsed_ms = Some(milliseconds_between(started, self.now()));
        Ok(worktree)
    }

    fn make(&self, order: &Order<'_>, making: &mut Making<'_>) -> Result<Filled, ApiError> {
        let request = order.rules.request;
        let owner = owner(request, making)?;
        let (admin, mut filled) = match request.carry {
            Carry::Clean => self.make_clean(order, making)?,
            Carry::Dirty | Carry::All => self.make_carried(order, making)?,
        };
        // What it took to seal a tree once is not the new tree's.
        if making.row().sealed.is_none() {
            require_shared(request, &filled)?;
        }
        self.cancelled()?;
        let bytes = manifest::encode(&filled.provisioned);
        fs_sys::write_new(&admin.path.join(manifest::FILE_NAME), &bytes, Mode(0o600))?;
        tracing::debug!("the manifest is written");
        self.publish(order, &admin, making)?;
        tracing::debug!("published");
        if let Some(owner) = owner {
            hand_over_checkout(order.source, &admin, owner, (&mut filled, making))?;
        }
        Ok(filled)
    }

    pub(crate) fn cancelled(&self) -> Result<(), ApiError> {
        if self.cancel.is_cancelled() {
            return Err(copy_engine::Error::Cancelled.into());
        }
        Ok(())
    }
}

/// Whom the tree is for, if the request says so; an error if it cannot be given to them.
fn owner(request: &CreateRequest, making: &Making<'_>) -> Result<Option<Owner>, ApiError> {
    let owner = request.owner.map(|TreeOwner { uid, gid }| Owner { uid, gid });
    if let Some(owner) = owner {
        owner::require_possible(making, owner)?;
    }
    Ok(owner)
}

/// Gives a tree of a repository away, once git and fwt have done all they do in it.
fn hand_over_checkout(
    source: &Checkout,
    admin: &Admin,
    owner: Owner,
    (filled, making): (&mut Filled, &mut Making<'_>),
) -> Result<(), ApiError> {
    let tree = making.row().path.clone();
    let linked = making.row().admin_dir.clone();
    // A standalone tree's repository has moved into it.
    let admin =
        linked.as_ref().map_or_else(|| Admin { path: tree.join(".git") }, |_| admin.clone());
    owner::hand_over((&tree, Some((&admin, source.repository.format))), owner, filled)?;
    let manifest = admin.path.join(manifest::FILE_NAME);
    let bytes = manifest::encode(&filled.provisioned);
    fs_sys::replace_file(&manifest, "fwt.manifest.new".as_ref(), &bytes, Mode(0o600))?;
    // The index was replaced just now.
    owner::give_below(&admin.path, owner)
}

/// An error if bytes were copied against the request's wish.
fn require_shared(request: &CreateRequest, filled: &Filled) -> Result<(), ApiError> {
    if request.cow != CowPolicy::Require || filled.stats.bytes_copied == 0 {
        return Ok(());
    }
    let text = "some files of the source cannot be shared with the new tree";
    Err(ApiError::new(Code::BackendUnavailable, text)
        .with_hint("without --cow require these files are copied"))
}

/// git does not say why it could not write a file. If there is no room now, there was none then.
fn explain(error: ApiError, wrapper: &Path) -> ApiError {
    /// git writes that much at a time, and the kernel may refuse it long before the last block is used.
    const ROOM_BYTES: usize = 8 << 20;
    if error.code != Code::GitFailed {
        return error;
    }
    // It goes with the private directory that it is in.
    match fs_sys::write_new(&wrapper.join("room"), &vec![1; ROOM_BYTES], Mode(0o600)) {
        Err(full) if full.kind == ErrorKind::NoSpace => {
            let ApiError { code, hints, .. } = full.into();
            ApiError { code, hints, message: format!("no room is left: {}", error.message) }
        }
        _ => error,
    }
}

fn new_row(
    request: &CreateRequest,
    (source, task): (&Source, &Task<'_>),
    (id, name): (WorktreeId, String),
    place: Place,
    now: Time,
) -> Result<Row, ApiError> {
    let beside = format!(".fwt-{id}");
    let making_path = place.path.parent().map(|parent| parent.join(&beside));
    let (mode, base) = match task {
        Task::Commit(_, Start { base: Base { rev, commit, from }, .. }) => {
            let (rev, commit, from) = (rev.clone(), commit.clone(), from.clone());
            (row_mode(request.mode), Some(pool_db::Base { rev, commit, from }))
        }
        // Nothing else is needed for it to work.
        Task::Copy(_) => (pool_db::Mode::Standalone, None),
    };
    Ok(Row {
        id,
        nonce: Nonce::random()?,
        name,
        state: State::Making,
        epoch: 0,
        repository: pool_db::Repository {
            common_dir: source.common_dir().to_owned(),
            identity: source.identity(),
        },
        source: source.root().to_owned(),
        path: place.path,
        making_path,
        admin_dir: None,
        trash_path: None,
        placement: place.placement,
        mode,
        backend: String::new(),
        passed_over: Vec::new(),
        carry: carry_name(request.carry).to_owned(),
        base,
        branch: None,
        maker: this_process(),
        created_at: now.seconds,
        last_used_at: now.seconds,
        rebuilt_at: None,
        directory: None,
        sealed: None,
        extra: std::collections::BTreeMap::default(),
    })
}

/// Which filters run for the request's choice.
pub(crate) fn filters(lfs: Lfs) -> Filters {
    match lfs {
        Lfs::Reuse => Filters::All,
        Lfs::Pointer => Filters::NoLfs,
    }
}

fn row_mode(mode: WireMode) -> pool_db::Mode {
    match mode {
        WireMode::Linked => pool_db::Mode::Linked,
        WireMode::Standalone => pool_db::Mode::Standalone,
    }
}

/// The stable name of a carry, in rows and markers.
pub(crate) fn carry_name(carry: Carry) -> &'static str {
    match carry {
        Carry::Clean => "clean",
        Carry::Dirty => "dirty",
        Carry::All => "all",
    }
}

fn milliseconds_between(start: Time, end: Time) -> u64 {
    let milliseconds =
        |time: Time| i128::from(time.seconds) * 1000 + i128::from(time.nanos / 1_000_000);
    u64::try_from(milliseconds(end) - milliseconds(start)).unwrap_or(0)
}
