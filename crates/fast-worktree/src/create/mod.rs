//! Making a worktree: plan, choose a backend, fill, stamp, publish.

mod carry;
mod fill;
mod gate;
mod include;
mod make;
mod making;
mod objects;
mod plan;
mod register;
mod rules;
mod start;
mod tracked;

use std::path::Path;

use fs_sys::process::this_process;
use fs_sys::{ErrorKind, Time};
use git_cli::Filters;
use pool_db::{Nonce, Registry, State, Worktree as Row, WorktreeId};

use self::fill::Filled;
pub(crate) use self::gate::stat_block;
use self::make::Order;
use self::making::Making;
pub(crate) use self::making::discard;
use self::start::Start;
use crate::api::{ApiError, Carry, Code, CowPolicy, CreateRequest, Lfs, Mode, Worktree};
use crate::place::{self, Place};
use crate::row::describe;
use crate::service::Service;
use crate::source::Source;
use crate::{manifest, name};

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
        let mut row = new_row(&source, &start, (id, name), place, started)?;
        carry_name(request.carry).clone_into(&mut row.carry);
        row.mode = row_mode(request.mode);
        let mut making = Making::begin(&self.git, &registry, row)?;
        let filled = self
            .make(request, &source, &start, &mut making)
            .map_err(|error| explain(error, making.wrapper()))?;
        let row = making.finish()?;
        let mut worktree = describe(&row);
        worktree.stats = Some(filled.stats);
        worktree.carried = filled.carried;
        worktree.included = filled.included;
        worktree.skipped = filled.skipped;
        worktree.elapsed_ms = Some(milliseconds_between(started, self.now()));
        Ok(worktree)
    }

    fn make(
        &self,
        request: &CreateRequest,
        source: &Source,
        start: &Start,
        making: &mut Making<'_>,
    ) -> Result<Filled, ApiError> {
        let order = Order { request, source, start };
        let (admin, filled) = match request.carry {
            Carry::Clean => self.make_clean(&order, making)?,
            Carry::Dirty | Carry::All => self.make_carried(&order, making)?,
        };
        if request.cow == CowPolicy::Require && filled.stats.bytes_copied > 0 {
            let text = "some files of the source cannot be shared with the new tree";
            return Err(ApiError::new(Code::BackendUnavailable, text)
                .with_hint("without --cow require these files are copied"));
        }
        self.cancelled()?;
        let bytes = manifest::encode(&filled.provisioned);
        fs_sys::write_new(&admin.path.join(manifest::FILE_NAME), &bytes, fs_sys::Mode(0o600))?;
        self.publish(&order, &admin, making)?;
        Ok(filled)
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
        carry: String::new(),
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

/// Which filters run for the request's choice.
pub(crate) fn filters(lfs: Lfs) -> Filters {
    match lfs {
        Lfs::Reuse => Filters::All,
        Lfs::Pointer => Filters::NoLfs,
    }
}

fn row_mode(mode: Mode) -> pool_db::Mode {
    match mode {
        Mode::Linked => pool_db::Mode::Linked,
        Mode::Standalone => pool_db::Mode::Standalone,
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
