//! One worktree: the content of its row and of its marker.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fs_sys::process::ProcessId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{Nonce, WorktreeId};
use crate::names::stable_names;
use crate::repository::{Repository, RepositoryIdentity};
use crate::state::State;

/// How long a rebuilt worktree counts as leased: leases were only in the lost database, and seven
/// days are enough for whoever holds the tree to touch it again.
pub const REBUILT_LEASE_SECONDS: i64 = 7 * 24 * 60 * 60;

/// All that a row holds but leases, and all that a marker holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its id.
    pub id: WorktreeId,
    /// The second secret: only what has our row *and* a marker with this is ever removed.
    pub nonce: Nonce,
    /// Its name, unique among the worktrees of its repository that are not being removed.
    pub name: String,
    /// Its state. A marker's is that of when it was written.
    pub state: State,
    /// How many moves it has made.
    pub epoch: u32,
    /// The repository it belongs to.
    pub repository: Repository,
    /// The checkout it was made from.
    #[serde(with = "crate::paths")]
    pub source: PathBuf,
    /// Where it is, or will be once made.
    #[serde(with = "crate::paths")]
    pub path: PathBuf,
    /// The temporary directory it is built in.
    #[serde(with = "crate::paths::option", default, skip_serializing_if = "Option::is_none")]
    pub making_path: Option<PathBuf>,
    /// Git's admin directory; none for a standalone tree or a plain directory.
    #[serde(with = "crate::paths::option", default, skip_serializing_if = "Option::is_none")]
    pub admin_dir: Option<PathBuf>,
    /// Where its files wait for their removal.
    #[serde(with = "crate::paths::option", default, skip_serializing_if = "Option::is_none")]
    pub trash_path: Option<PathBuf>,
    /// Who chose the path.
    pub placement: Placement,
    /// How it hangs together with its repository.
    pub mode: Mode,
    /// The backend that made it.
    pub backend: String,
    /// The backends before it in the chain, and why each was passed over.
    #[serde(default)]
    pub passed_over: Vec<PassedOver>,
    /// What it started with.
    pub carry: String,
    /// The commit it started at; none for a copy of a plain directory.
    #[serde(default)]
    pub base: Option<Base>,
    /// The branch it was made on; none if detached.
    #[serde(default)]
    pub branch: Option<String>,
    /// The process that makes it or removes it.
    #[serde(with = "ProcessIdForm")]
    pub maker: ProcessId,
    /// When it was made, in seconds since 1970.
    pub created_at: i64,
    /// When it was last used, in seconds since 1970.
    pub last_used_at: i64,
    /// When its row was made again from its marker, in seconds since 1970. Only rows have it.
    #[serde(skip)]
    pub rebuilt_at: Option<i64>,
    /// What tells the tree's directory apart; only for a copy of a plain directory, in which nothing
    /// else says whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<RepositoryIdentity>,
    /// The directory of the sealed tree that it stands on, which must stay as long as it does.
    #[serde(with = "crate::paths::option", default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<PathBuf>,
    /// What a later program put into the marker; kept as it is.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

stable_names! {
    /// Who chose a worktree's path.
    pub enum Placement {
        /// fwt: it is in a store.
        Store = "store",
        /// The user: its trash is a sibling, not in a store.
        At = "at",
    }
}

stable_names! {
    /// How a worktree hangs together with its repository.
    pub enum Mode {
        /// A linked worktree: objects and refs are shared.
        Linked = "linked",
        /// It has a `.git` of its own, or is a copy of a plain directory.
        Standalone = "standalone",
    }
}

/// A backend that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    /// Which.
    pub backend: String,
    /// The stable name of why.
    pub reason: String,
    /// The rest of why, for people.
    pub detail: String,
}

/// What a worktree started at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The revision that was asked for.
    pub rev: String,
    /// The commit it was.
    pub commit: String,
    /// Where the revision was found.
    pub from: String,
}

impl Worktree {
    /// Whether it is a copy of a plain directory, without a repository.
    pub fn is_plain(&self) -> bool {
        self.base.is_none()
    }

    /// Until when a rebuilt worktree counts as leased by nobody knows whom.
    pub fn leased_by_unknown_until(&self) -> Option<i64> {
        self.rebuilt_at.map(|at| at.saturating_add(REBUILT_LEASE_SECONDS))
    }
}

/// The serialized form of a [`ProcessId`], which has none of its own.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ProcessId")]
pub(crate) struct ProcessIdForm {
    pid: u32,
    start_ticks: u64,
    boot_id: String,
    pid_namespace: u64,
}
