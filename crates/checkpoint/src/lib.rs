//! Recorded states of a tree: what each prompt changed, whoever wrote it, and every byte of it.
//!
//! A boundary (the begin or end of a prompt) compares the tree with its last known state, by stat
//! alone where stat can tell, and keeps what changed: contents in the [`store`], the last known state
//! in the manifest, the boundary in the turn log.
//!
//! It must never write into the tree or its repository, follow a link out of the tree, read the clock
//! or the environment, or publish a boundary whose contents are not on the disk.

mod capture;
mod changes;
mod codec;
mod compare;
mod diff;
mod error;
mod keep;
mod log;
mod manifest;
mod read;
mod scan;
mod state;
pub mod store;
mod tree;
mod turn;

pub use capture::{Capture, Late};
pub use changes::{Change, Changes};
pub use diff::{Detail, Difference, FileDiff, Lines, NoLines, diff};
pub use error::{Error, Result};
pub use keep::{Budget, needed_by};
pub use scan::{Scope, Why};
pub use state::State;
pub use tree::{Begin, Boundary, LockedTree, Tree};
pub use turn::{Outcome, Parent, Point, PointState, TurnKey, Uncovered};
