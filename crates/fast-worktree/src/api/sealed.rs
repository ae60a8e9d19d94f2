//! What is asked and answered about sealed trees and what the stores hold.

use backend::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Lfs, PassedOver, WirePath};

/// Seal commits ahead of any worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SealRequest {
    /// A directory in the source; absolute.
    pub source: WirePath,
    /// The revisions to seal; HEAD of the source if there are none.
    #[serde(default)]
    pub revs: Vec<String>,
    /// The only backend whose trees are to stand on them.
    #[serde(default)]
    pub backend: Option<Kind>,
    /// What becomes of files under the `lfs` filter.
    #[serde(default)]
    pub lfs: Lfs,
}

/// What is sealed now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealResponse {
    /// The backend whose trees stand on it.
    pub backend: Kind,
    /// The backends before it, and why each was passed over.
    pub passed_over: Vec<PassedOver>,
    /// In the order of the request.
    pub sealed: Vec<SealedCommit>,
}

/// A commit that is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealedCommit {
    /// The revision that was asked for.
    pub rev: String,
    /// The commit it is.
    pub commit: String,
    /// The directory of the sealed tree.
    pub path: WirePath,
    /// How many layers make it up.
    pub layers: u64,
    /// Files and links in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether it was sealed before.
    pub was_sealed: bool,
}

/// Say what the stores hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskUsageRequest {
    /// A directory whose store is looked at too; absolute.
    pub directory: WirePath,
}

/// What the stores hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskUsageResponse {
    /// The stores that hold sealed trees.
    pub stores: Vec<StoreUsage>,
    /// The worktrees of this home.
    pub worktrees: Vec<WorktreeUsage>,
}

/// What one store holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreUsage {
    /// Where it is.
    pub path: WirePath,
    /// Its sealed trees, the longest unused first.
    pub sealed: Vec<SealedUsage>,
    /// Bytes of the files that are in them, each counted once.
    pub sealed_bytes: u64,
}

/// What a sealed tree takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealedUsage {
    /// Its directory.
    pub path: WirePath,
    /// How many layers make it up.
    pub layers: u64,
    /// Files and links in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files and links that were written for it, and are in no other.
    pub own_files: u64,
    /// Their bytes.
    pub own_bytes: u64,
    /// The ids of the worktrees that stand on it, whatever home they belong to.
    pub worktrees: Vec<String>,
    /// How many other sealed trees its files are a part of.
    pub sealed_over_it: u64,
    /// When a worktree was last put on it or taken from it, RFC 3339.
    pub last_used_at: String,
}

/// What a worktree takes of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeUsage {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: WirePath,
    /// The backend that made it.
    pub backend: Kind,
    /// Bytes on the disk that it shares with nothing; `null` where that cannot be told.
    pub own_bytes: Option<u64>,
}
