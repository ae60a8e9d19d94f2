//! What can be asked.

use backend::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checkpoint::{
    BeginCheckpointRequest, CollectCheckpointsRequest, DiffCheckpointsRequest,
    EndCheckpointRequest, ListCheckpointsRequest, RecordWritesRequest, ShowCheckpointRequest,
};
use super::lease::{AcquireRequest, ReleaseRequest, TouchRequest};
use super::{DiskUsageRequest, SealRequest, WirePath};

/// What can be asked, named by its verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Make a worktree.
    CreateWorktree(CreateRequest),
    /// Make a worktree and hold it.
    AcquireWorktree(AcquireRequest),
    /// Go on holding a worktree.
    TouchWorktree(TouchRequest),
    /// Hold a worktree no more.
    ReleaseWorktree(ReleaseRequest),
    /// Name the worktrees.
    ListWorktrees(ListRequest),
    /// Describe one.
    ShowWorktree(ShowRequest),
    /// Remove one.
    RemoveWorktree(RemoveRequest),
    /// Say what works here, and what is out of order.
    Doctor(DoctorRequest),
    /// Mount what should be mounted and is not.
    Attach(AttachRequest),
    /// Seal commits ahead of any worktree.
    Seal(SealRequest),
    /// Say what the stores hold.
    DiskUsage(DiskUsageRequest),
    /// Trust a source's configuration file, or no more.
    Trust(TrustRequest),
    /// Record the beginning of a prompt.
    BeginCheckpoint(BeginCheckpointRequest),
    /// Note which paths a prompt writes to.
    RecordWrites(RecordWritesRequest),
    /// Record the end of a prompt.
    EndCheckpoint(EndCheckpointRequest),
    /// Name the checkpoints of a tree.
    ListCheckpoints(ListCheckpointsRequest),
    /// Describe one.
    ShowCheckpoint(ShowCheckpointRequest),
    /// Compare the states before two prompts.
    DiffCheckpoints(DiffCheckpointsRequest),
    /// Give up what is over budget, and remove what no checkpoint needs.
    CollectCheckpoints(CollectCheckpointsRequest),
}

/// Mount what should be mounted and is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachRequest {
    /// Which worktree: its id, its name, or a path inside it; all without one.
    #[serde(default)]
    pub worktree: Option<String>,
    /// Where names and relative paths count from; absolute.
    pub directory: WirePath,
}

/// Trust a source's configuration file, or no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustRequest {
    /// A directory in the source; absolute.
    pub directory: WirePath,
    /// Whether trust is given or taken back.
    #[serde(default)]
    pub trust: Trust,
}

/// Whether a source's configuration file may name commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The file as it is now may.
    #[default]
    Grant,
    /// No file of this source may.
    Revoke,
}

/// To whom a tree is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreeOwner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Say what works here, and what is out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoctorRequest {
    /// Where worktrees would be made from; absolute.
    pub directory: WirePath,
    /// What becomes of what is out of order.
    #[serde(default)]
    pub repair: Repair,
}

/// What becomes of what is out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// It is named.
    #[default]
    Nothing,
    /// What is fwt's own is put in order, without touching work.
    Debris,
}

/// Make a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRequest {
    /// A directory in the source; absolute.
    pub source: WirePath,
    /// Its name; without one it is named by its id.
    #[serde(default)]
    pub name: Option<String>,
    /// Where to put it; without one it goes into the store.
    #[serde(default)]
    pub at: Option<WirePath>,
    /// The revision to start at; HEAD of the source without one.
    #[serde(default)]
    pub rev: Option<String>,
    /// A branch to create at that revision; detached without one.
    #[serde(default)]
    pub branch: Option<String>,
    /// What else to bring along.
    #[serde(default)]
    pub carry: Carry,
    /// Whether `.worktreeinclude` counts.
    #[serde(default)]
    pub include: Include,
    /// How it hangs together with the repository.
    #[serde(default)]
    pub mode: Mode,
    /// The only backends to use, in the order of the chain whatever theirs is; all if empty.
    #[serde(default)]
    pub backends: Vec<Kind>,
    /// Whether bytes may be copied.
    #[serde(default)]
    pub cow: CowPolicy,
    /// What becomes of files under the `lfs` filter.
    #[serde(default)]
    pub lfs: Lfs,
    /// Whether the remotes are asked first.
    #[serde(default)]
    pub fetch: Fetch,
    /// Whom the tree belongs to; the caller without one.
    #[serde(default)]
    pub owner: Option<TreeOwner>,
}

/// What becomes of files under the `lfs` filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lfs {
    /// Content that the source has is used again; the filter brings the rest.
    #[default]
    Reuse,
    /// They stay pointers; the filter does not run.
    Pointer,
}

/// Whether the remotes are asked for new commits before the revision is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// Only what is here counts.
    #[default]
    Never,
    /// All remotes are fetched from first; if that fails, so does the request.
    First,
}

/// What a worktree starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carry {
    /// A commit.
    #[default]
    Clean,
    /// HEAD as the source has it now: modified, staged, deleted and untracked files too.
    Dirty,
    /// The same with ignored files.
    All,
}

/// Whether the ignored files that `.worktreeinclude` selects come along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Include {
    /// They do.
    #[default]
    Selected,
    /// They do not.
    Nothing,
}

/// How a worktree hangs together with its repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A git linked worktree: objects and refs are shared.
    #[default]
    Linked,
    /// A repository of its own, with a copy of all objects, branches and tags.
    Standalone,
}

/// Whether a tree may cost bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CowPolicy {
    /// Share where it can be done, else copy.
    #[default]
    Auto,
    /// Share, or fail.
    Require,
    /// Copy.
    Never,
}

/// Name the worktrees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {
    /// Only those of the repository of this directory; all without one.
    #[serde(default)]
    pub source: Option<WirePath>,
}

/// Describe a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowRequest {
    /// Its id, its name, or a path inside it.
    pub worktree: String,
    /// Where names and relative paths count from; absolute.
    pub directory: WirePath,
}

/// Remove a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveRequest {
    /// Its id, its name, or a path inside it.
    pub worktree: String,
    /// Where names and relative paths count from; absolute.
    pub directory: WirePath,
    /// Whether unsaved work may be destroyed.
    #[serde(default)]
    pub unsaved: Unsaved,
}

/// What becomes of unsaved work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unsaved {
    /// It keeps the tree.
    #[default]
    Keep,
    /// It is destroyed with the tree.
    Discard,
}
