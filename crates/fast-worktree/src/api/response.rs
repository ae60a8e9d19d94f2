//! What is answered: what really happened.

use backend::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checkpoint::{
    Checkpoint, CollectCheckpointsResponse, DiffCheckpointsResponse, ListCheckpointsResponse,
    ShowCheckpointResponse,
};
use super::lease::{LeaseInfo, ReleaseResponse, TouchResponse};
use super::{ApiError, Carry, DiskUsageResponse, Mode, SealResponse, WirePath};

/// An answer: the bare object of its verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Response {
    /// The worktree that was made or asked about.
    Worktree(Box<Worktree>),
    /// What the stores hold.
    DiskUsage(DiskUsageResponse),
    /// What is sealed now.
    Sealed(SealResponse),
    /// The worktrees.
    List(ListResponse),
    /// What was removed.
    Removed(RemoveResponse),
    /// What works and what is out of order.
    Doctor(DoctorResponse),
    /// What is mounted now.
    Attached(AttachResponse),
    /// What is trusted now.
    Trusted(TrustResponse),
    /// The lease, prolonged.
    Touched(TouchResponse),
    /// The worktree whose lease was given back.
    Released(ReleaseResponse),
    /// The checkpoint that was recorded.
    Checkpoint(Box<Checkpoint>),
    /// The checkpoints.
    Checkpoints(ListCheckpointsResponse),
    /// A checkpoint and what changed in it.
    CheckpointDetail(Box<ShowCheckpointResponse>),
    /// What is different between two.
    CheckpointDiff(DiffCheckpointsResponse),
    /// What was given up and removed.
    CheckpointsCollected(CollectCheckpointsResponse),
}

/// A worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    /// Its id, never reused.
    pub id: String,
    /// Its name, unique in its repository.
    pub name: String,
    /// Where it is.
    pub path: WirePath,
    /// The checkout it was made from.
    pub source: WirePath,
    /// How it hangs together with its repository.
    pub mode: Mode,
    /// What it is in now; a new one is held.
    pub state: State,
    /// Who made it.
    pub backend: Kind,
    /// Who was passed over, in order.
    pub passed_over: Vec<PassedOver>,
    /// The commit it started at.
    pub base: Base,
    /// The commit it is at; `null` where that cannot be told.
    pub head: Option<String>,
    /// The branch it is on; `null` if detached.
    pub branch: Option<String>,
    /// What it started with.
    pub carry: Carry,
    /// How much of that there was.
    pub carried: Carried,
    /// Ignored files that were brought along.
    pub included: Vec<WirePath>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What ran in it while it was made, or was not allowed to.
    pub hooks: Vec<HookReport>,
    /// What it took to make; `null` once it is only listed.
    pub stats: Option<Stats>,
    /// How long it took to make, in milliseconds; `null` once it is only listed.
    pub elapsed_ms: Option<u64>,
    /// Who holds it.
    pub lease: Option<LeaseInfo>,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// When it was last used, RFC 3339.
    pub last_used_at: String,
}

/// Where a worktree is in its life, as far as it can be seen now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is being made.
    Making,
    /// It waits in the ready pool.
    Ready,
    /// It is handed out.
    Held,
    /// It is about to be removed.
    Condemned,
    /// It is being removed.
    Removing,
    /// Its directory is not there: moved, unmounted, or removed without fwt.
    Missing,
}

/// A backend that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassedOver {
    /// Which.
    pub backend: String,
    /// Why, by its stable name.
    pub reason: String,
    /// Why, in words.
    pub detail: String,
}

/// The commit a worktree started at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// The revision that was asked for.
    pub rev: String,
    /// The commit it was.
    pub commit: String,
    /// Where the revision was found: `head`, `local-ref`, `remote-tracking-ref`, `fetched`,
    /// `commit`; `directory` for a copy of a plain directory, which has no commit.
    pub from: String,
}

/// What was carried over besides the commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// Tracked files with changes.
    pub modified: u64,
    /// Untracked files.
    pub untracked: u64,
    /// Tracked files that are gone.
    pub deleted: u64,
    /// Ignored files.
    pub ignored: u64,
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// What.
    pub path: WirePath,
    /// Why, by its stable name.
    pub reason: String,
}

/// What it took to make a worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Files and links in it.
    pub files: u64,
    /// Of these, those that git wrote from its objects.
    pub files_from_git: u64,
    /// Bytes shared with the source.
    pub bytes_cloned: u64,
    /// Bytes copied from the source.
    pub bytes_copied: u64,
    /// Bytes that git wrote.
    pub bytes_from_git: u64,
}

/// The worktrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListResponse {
    /// One by one, the oldest first.
    pub worktrees: Vec<Worktree>,
}

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoveResponse {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it was.
    pub path: WirePath,
    /// The branch that it was on, which stays.
    pub branch: Option<String>,
    /// What ran in it before its end.
    pub hooks: Vec<HookReport>,
}

/// What became of a command of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookReport {
    /// Which.
    pub hook: HookName,
    /// How it ended.
    pub outcome: HookOutcome,
    /// Why it failed or did not run.
    pub detail: Option<String>,
}

/// Which command of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookName {
    /// In a new tree.
    Setup,
    /// Before a tree's end.
    Cleanup,
}

/// How a command of the user's ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookOutcome {
    /// With exit code 0.
    Done,
    /// Otherwise.
    Failed,
    /// It did not run: the file that names it is not trusted.
    NotTrusted,
}

/// What is mounted now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachResponse {
    /// The worktrees that were looked at.
    pub worktrees: Vec<Attached>,
}

/// A worktree that was to be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attached {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: WirePath,
    /// Whether it was there already.
    pub was_mounted: bool,
    /// Why it cannot be mounted; `null` if it is.
    pub error: Option<ApiError>,
}

/// What is trusted now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustResponse {
    /// The configuration file.
    pub path: WirePath,
    /// What will run in a new tree.
    pub setup: Option<String>,
    /// What will run before a tree's end.
    pub cleanup: Option<String>,
    /// Whether it may.
    pub is_trusted: bool,
}

/// What works here, and what is out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorResponse {
    /// Where state is kept.
    pub home: WirePath,
    /// The version of git, as it says it.
    pub git: String,
    /// Where worktrees of the directory's repository go; `null` outside of any.
    pub store: Option<WirePath>,
    /// Which backends work there; empty outside of any repository.
    pub backends: Vec<BackendHealth>,
    /// How many worktrees there are.
    pub worktrees: u64,
    /// What is out of order.
    pub debris: Vec<Debris>,
}

/// Whether a backend works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendHealth {
    /// Which.
    pub backend: Kind,
    /// Why not, by its stable name; `null` if it works.
    pub reason: Option<String>,
    /// Why not, in words.
    pub detail: Option<String>,
}

/// Something that is out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Debris {
    /// What it is.
    pub kind: DebrisKind,
    /// The worktree, where one is known.
    pub id: Option<String>,
    /// Where it is.
    pub path: WirePath,
    /// What is wrong, in words.
    pub detail: String,
    /// Whether it was put in order just now.
    pub is_repaired: bool,
}

/// Kinds of things that are out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DebrisKind {
    /// A tree whose maker died.
    HalfMade,
    /// A tree whose removal was cut short.
    HalfRemoved,
    /// A tree that is whole and not mounted.
    Detached,
    /// A row whose tree and registration are gone.
    Gone,
    /// A sealed tree whose maker died, or who was removing it.
    HalfSealed,
    /// A sealed tree that is kept for a worktree that is gone.
    StaleName,
    /// A sealed tree in which somebody has changed something since. What stands on it shows that too.
    Altered,
    /// A row whose tree is gone and whose registration is there.
    Missing,
    /// A tree of ours without a row.
    WithoutRow,
    /// Something in a store that is not ours. It is never touched.
    Foreign,
}
