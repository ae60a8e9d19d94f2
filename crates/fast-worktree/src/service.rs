//! The service: requests in, responses out.

use std::path::PathBuf;
use std::sync::Arc;

use copy_engine::{Cancel, Progress};
use fs_sys::Time;
use git_cli::{Environment, Git};
use pool_db::{Moment, Registry};

use crate::api::{Api, ApiError, CollectCheckpointsRequest, Request, Response};

/// The directory in the home for what git said of repositories.
const GIT_MEMORY: &str = "git";

/// What comes in from outside: this crate reads neither the environment nor the clock.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where state is kept (`FWT_HOME`); absolute.
    pub home: PathBuf,
    /// What git sees of the environment.
    pub environment: Environment,
    /// The user's configuration file, which need not exist.
    pub config: Option<PathBuf>,
    /// Hears what hooks say on their standard output and error.
    pub hear: fn(&[u8]),
    /// The wall clock.
    pub clock: fn() -> Time,
    /// Seconds since boot, time asleep included; `None` where the platform does not say.
    pub since_boot: fn() -> Option<i64>,
}

/// Does what requests ask, in process.
#[derive(Debug)]
pub struct Service {
    pub(crate) settings: Settings,
    pub(crate) git: Git,
    pub(crate) progress: Arc<Progress>,
    pub(crate) cancel: Arc<Cancel>,
}

impl Service {
    /// A service over the state in `settings.home`, which need not exist yet.
    pub fn new(settings: Settings) -> Self {
        let git =
            Git::new(settings.environment.clone()).remembering(settings.home.join(GIT_MEMORY));
        Self { settings, git, progress: Arc::default(), cancel: Arc::default() }
    }

    /// How far the request in work is.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Stops the request in work, which then cleans up and fails with `interrupted`.
    pub fn cancel(&self) -> Arc<Cancel> {
        Arc::clone(&self.cancel)
    }

    pub(crate) fn now(&self) -> Time {
        (self.settings.clock)()
    }

    /// The present by both clocks.
    pub(crate) fn moment(&self) -> Moment {
        let wall = self.now().seconds;
        let boot = (self.settings.since_boot)().zip(fs_sys::process::boot_id());
        let (boot, boot_id) = boot.unwrap_or_default();
        Moment { wall, boot, boot_id }
    }

    pub(crate) fn registry(&self) -> Result<Registry, ApiError> {
        Ok(Registry::open(&self.settings.home)?)
    }
}

impl Api for Service {
    fn call(&self, request: Request) -> Result<Response, ApiError> {
        match request {
            Request::CreateWorktree(request) => {
                self.create(&request).map(|made| Response::Worktree(Box::new(made)))
            }
            Request::AcquireWorktree(request) => {
                self.acquire(&request).map(|made| Response::Worktree(Box::new(made)))
            }
            Request::TouchWorktree(request) => self.touch(&request).map(Response::Touched),
            Request::ReleaseWorktree(request) => self.release(&request).map(Response::Released),
            Request::ListWorktrees(request) => self.list(&request).map(Response::List),
            Request::ShowWorktree(request) => {
                self.show(&request).map(|found| Response::Worktree(Box::new(found)))
            }
            Request::RemoveWorktree(request) => self.remove(&request).map(Response::Removed),
            Request::Doctor(request) => self.doctor(&request).map(Response::Doctor),
            Request::Seal(request) => self.seal_ahead(&request).map(Response::Sealed),
            Request::DiskUsage(request) => self.usage(&request).map(Response::DiskUsage),
            Request::Attach(request) => self.attach(&request).map(Response::Attached),
            Request::Trust(request) => self.trust(&request).map(Response::Trusted),
            Request::BeginCheckpoint(request) => {
                self.begin_checkpoint(&request).map(|point| Response::Checkpoint(Box::new(point)))
            }
            Request::RecordWrites(request) => {
                self.record_writes(&request).map(|point| Response::Checkpoint(Box::new(point)))
            }
            Request::EndCheckpoint(request) => {
                self.end_checkpoint(&request).map(|point| Response::Checkpoint(Box::new(point)))
            }
            Request::ListCheckpoints(request) => {
                self.list_checkpoints(&request).map(Response::Checkpoints)
            }
            Request::ShowCheckpoint(request) => self
                .show_checkpoint(&request)
                .map(|shown| Response::CheckpointDetail(Box::new(shown))),
            Request::DiffCheckpoints(request) => {
                self.diff_checkpoints(&request).map(Response::CheckpointDiff)
            }
            Request::CollectCheckpoints(CollectCheckpointsRequest {}) => {
                self.collect_checkpoints().map(Response::CheckpointsCollected)
            }
        }
    }
}
