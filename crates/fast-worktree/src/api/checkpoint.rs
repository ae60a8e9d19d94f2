//! Checkpoints on the wire: what can be asked of them, and what is answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WireBytes, WirePath};

/// Record the beginning of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginCheckpointRequest {
    /// A directory in the tree; absolute.
    pub directory: WirePath,
    /// The session; the usual one has no name.
    #[serde(default)]
    pub session: String,
    /// The prompt's number in it.
    pub prompt: u64,
    /// What the prompt is about.
    #[serde(default)]
    pub summary: Option<String>,
    /// The prompt that this session was started by.
    #[serde(default)]
    pub parent: Option<PromptRef>,
    /// How long files are read, in milliseconds; what is not read by then is not covered yet. 5,000
    /// without one.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

/// A prompt of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRef {
    /// The session; the usual one has no name.
    pub session: String,
    /// The prompt's number in it.
    pub prompt: u64,
}

/// Note which paths the open prompt of a session writes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordWritesRequest {
    /// A directory in the tree; absolute.
    pub directory: WirePath,
    /// The session; the usual one has no name.
    #[serde(default)]
    pub session: String,
    /// The paths; absolute.
    pub paths: Vec<WirePath>,
}

/// Record the end of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndCheckpointRequest {
    /// A directory in the tree; absolute.
    pub directory: WirePath,
    /// The session; the usual one has no name.
    #[serde(default)]
    pub session: String,
    /// The prompt's number in it.
    pub prompt: u64,
    /// How it ended.
    #[serde(default)]
    pub outcome: PromptOutcome,
}

/// Name the checkpoints of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCheckpointsRequest {
    /// A directory in the tree; absolute.
    pub directory: WirePath,
    /// Only those of this session; all without one.
    #[serde(default)]
    pub session: Option<String>,
}

/// Describe a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowCheckpointRequest {
    /// A directory in the tree; absolute.
    pub directory: WirePath,
    /// The session; the usual one has no name.
    #[serde(default)]
    pub session: String,
    /// The prompt's number in it.
    pub prompt: u64,
}

/// Compare the states before two prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffCheckpointsRequest {
    /// A directory in the tree; absolute.
    pub directory: WirePath,
    /// The session; the usual one has no name.
    #[serde(default)]
    pub session: String,
    /// The prompt whose state is the old one.
    pub from: u64,
    /// The prompt whose state is the new one; what was recorded last without one.
    #[serde(default)]
    pub to: Option<u64>,
    /// How much is told of each file.
    #[serde(default)]
    pub detail: DiffDetail,
}

/// Give up what is over budget, and remove what no checkpoint needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectCheckpointsRequest {}

/// How much is told of a file that differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiffDetail {
    /// Its name.
    #[default]
    Names,
    /// How many lines, too.
    Stat,
    /// The lines, too.
    Patch,
}

/// How a prompt ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptOutcome {
    /// As it should.
    #[default]
    Completed,
    /// It did not get through.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// In a way that a newer fwt knows.
    Other,
}

/// A checkpoint: the state before a prompt, and what changed until its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// The prompt's number.
    pub prompt: u64,
    /// Its session; the usual one has no name.
    pub session: String,
    /// What the prompt is about.
    pub summary: Option<String>,
    /// The prompt that its session was started by.
    pub parent: Option<PromptRef>,
    /// How the prompt ended; `null` as long as nobody said so.
    pub outcome: Option<PromptOutcome>,
    /// What the checkpoint is good for.
    pub state: CheckpointState,
    /// When the prompt began, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339; `null` as long as it has not.
    pub ended_at: Option<String>,
    /// How many paths changed in it.
    pub files: u64,
    /// What is not kept; of very many, the first.
    pub uncovered: Vec<Uncovered>,
    /// How many there are.
    pub uncovered_total: u64,
    /// How long it took to record, in milliseconds; `null` once it is only listed.
    pub elapsed_ms: Option<u64>,
}

/// What a checkpoint is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointState {
    /// Its prompt is at work.
    Open,
    /// All of it is recorded.
    Complete,
    /// The tree could not be looked at, at one of its ends.
    Failed,
    /// What it needs was given up to keep within the budget, or is damaged.
    Expired,
}

/// Something that a checkpoint does not keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uncovered {
    /// Where, below the root of the tree.
    pub path: WirePath,
    /// Why.
    pub reason: UncoveredReason,
}

/// Why a checkpoint does not keep something, by stable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UncoveredReason {
    /// The project's rules hide it, and `.worktreeinclude` does not ask for it.
    Ignored,
    /// It is larger than 128 MiB.
    TooLarge,
    /// A FIFO, socket or device.
    Special,
    /// A repository of its own.
    NestedRepository,
    /// Another file system is mounted there.
    Mount,
    /// It may not be read.
    Unreadable,
    /// It did not hold still while it was read.
    KeepsChanging,
    /// There was no time to read it yet. A later checkpoint does.
    Deadline,
    /// A reason of a newer fwt.
    Other,
}

/// The checkpoints of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListCheckpointsResponse {
    /// One by one, the oldest first.
    pub checkpoints: Vec<Checkpoint>,
}

/// A checkpoint and what changed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShowCheckpointResponse {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The root of the tree.
    pub root: WirePath,
    /// Paths below it that the agent said it writes to.
    pub recorded: Vec<WirePath>,
    /// What changed, by path.
    pub changes: Vec<ChangedPath>,
}

/// A path that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedPath {
    /// Where, below the root of the tree.
    pub path: WirePath,
    /// What became of it.
    pub change: PathChange,
    /// What it was; `null` if nothing was there.
    pub before: Option<PathState>,
    /// What it is; `null` if nothing is there.
    pub after: Option<PathState>,
}

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathChange {
    /// Nothing was there.
    Added,
    /// Its bytes, or a link's target, are others.
    Modified,
    /// Nothing is there.
    Deleted,
    /// It is of another kind.
    KindChanged,
    /// Only its permissions are others.
    ModeChanged,
    /// Only its time is another.
    Touched,
}

/// What a path is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathState {
    /// What kind of thing.
    pub kind: PathKind,
    /// Permission bits in octal.
    pub mode: String,
    /// Bytes.
    pub size: u64,
    /// The blake3 of its bytes, or of a link's target; `null` of a directory, and where it is not
    /// kept.
    pub content: Option<String>,
}

/// What kind of thing a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Something that is not kept.
    NotKept,
}

/// What is different between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffCheckpointsResponse {
    /// The prompt whose state is the old one.
    pub from: u64,
    /// The prompt whose state is the new one; `null` for what was recorded last.
    pub to: Option<u64>,
    /// What differs, by path.
    pub files: Vec<FileDifference>,
    /// Whether lines were left out because there are too many.
    pub truncated: bool,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDifference {
    /// Where, below the root of the tree.
    pub path: WirePath,
    /// What became of it.
    pub change: PathChange,
    /// Lines that are new; `null` where they were not asked for, or there are none to tell of.
    pub added: Option<u64>,
    /// Lines that are gone.
    pub deleted: Option<u64>,
    /// Why nothing is told of its lines, though they were asked for.
    pub without_lines: Option<WithoutLines>,
    /// Its part of the patch, if that was asked for.
    pub patch: Option<WireBytes>,
}

/// Why nothing is told of a file's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutLines {
    /// It holds a zero byte.
    Binary,
    /// It is over 1 MiB.
    TooLarge,
    /// What was in it is not kept.
    NotKept,
    /// It is a directory or a link, was one, or its bytes are the same.
    NotText,
    /// What came before it is as much as anybody reads.
    CutOff,
}

/// What was given up and removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectCheckpointsResponse {
    /// Checkpoints that are no longer kept.
    pub expired: u64,
    /// Bytes that were freed.
    pub bytes_removed: u64,
    /// Files of the store that go with a later collection, if nothing comes to need them.
    pub condemned: u64,
    /// Stores in which nothing could be removed, because somebody was writing.
    pub deferred: Vec<WirePath>,
}
