//! Leases on the wire: who holds a worktree, until when, and what proves it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WirePath;
use super::request::CreateRequest;

/// Make a worktree and hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireRequest {
    /// The worktree.
    pub worktree: CreateRequest,
    /// How it is held.
    pub lease: LeaseTerms,
}

/// How a worktree is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseTerms {
    /// Who holds it, in words for people.
    pub holder: String,
    /// How long it is held after the last touch, in seconds.
    pub ttl_seconds: u32,
    /// The process it is held for; none without one.
    #[serde(default)]
    pub pid: Option<u32>,
}

/// Go on holding a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TouchRequest {
    /// Which worktree: its id, its name, or a path inside it.
    pub worktree: String,
    /// Where names and relative paths count from; absolute.
    pub directory: WirePath,
    /// The id of the lease.
    pub lease: String,
}

/// Hold a worktree no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// Which worktree: its id, its name, or a path inside it.
    pub worktree: String,
    /// Where names and relative paths count from; absolute.
    pub directory: WirePath,
    /// The id of the lease.
    pub lease: String,
}

/// Who holds a worktree, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseInfo {
    /// What touch and release must present.
    pub id: String,
    /// Who, in the holder's words.
    pub holder: String,
    /// Until when, RFC 3339.
    pub expires_at: String,
}

/// A lease that was prolonged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TouchResponse {
    /// The worktree's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The lease.
    pub lease: LeaseInfo,
}

/// A worktree whose lease was given back; it stays until it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseResponse {
    /// The worktree's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: WirePath,
}
