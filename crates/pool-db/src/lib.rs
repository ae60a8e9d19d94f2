//! The registry: every worktree of one `FWT_HOME`, its state, and the marker that proves it is ours.
//!
//! A row is written before a tree's first file and deleted after its last, so that a crash at any
//! point leaves something that can be recognised and finished. Each move between states is one
//! compare-and-set in a transaction that does nothing slow. What a row holds is also in a marker
//! file beside the tree ([`marker`]), so that a lost database can be made again.
//!
//! This crate never removes a tree, never deletes a damaged database, and never reads the clock.
//!
//! A [`Registry`] is one connection: it can move to another thread, and is not shared by two.
//! Opening a second one costs less than a millisecond.

mod error;
mod id;
mod lease;
pub mod marker;
mod names;
mod open;
mod paths;
mod query;
mod rebuild;
mod registry;
mod repository;
mod row;
mod schema;
mod state;
mod trust;
mod worktree;

pub use error::{Error, Holder, Result};
pub use id::{Base32, InvalidId, LeaseId, Nonce, WorktreeId};
pub use lease::{Lease, Moment};
pub use rebuild::{Conflict, Restored, rebuild};
pub use registry::Registry;
pub use repository::{Birth, InvalidIdentity, Repository, RepositoryIdentity};
pub use state::State;
pub use worktree::{Base, Mode, PassedOver, Placement, REBUILT_LEASE_SECONDS, Worktree};
