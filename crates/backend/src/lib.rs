//! The ways to make an active tree, behind one contract.
//!
//! A backend says whether it can work at a place by doing it there on scratch files ([`Backend::probe`]),
//! and then makes a tree, all or nothing ([`Backend::prepare`]). Only a `No` from a probe lets the chain
//! go on to the next; a `prepare` that fails after a yes is an error.
//!
//! Two make a tree over a sealed one ([`over_sealed`]): `overlay` mounts a writable layer, `btrfs`
//! snapshots a subvolume. The others ([`all`]) write a tree's files.
//!
//! It must never write into a source or a sealed tree, leave a scratch file behind, decide what may be cloned (the
//! manifest and its gate say that), or fall back to another backend by itself.

mod active;
mod btrfs;
mod capture;
mod contract;
mod copy;
mod error;
mod overlay;
mod paths;
mod probe;
mod reason;
mod reflink;
mod undo;
mod unfinished;

pub use active::{Active, Changes, Sealed, Stack};
pub use btrfs::Btrfs;
pub use contract::{Backend, Content, GIT, Kind, Parent, Prepared, Site, Support};
pub use copy::Copy;
pub use error::Error;
pub use overlay::{Difference, Overlay};
pub use probe::{clear_dead_scratch, clear_scratch};
pub use reason::Reason;
pub use reflink::Reflink;
pub use unfinished::Unfinished;

/// The backends that make a tree from a source as it is, in the order of the chain.
pub fn all() -> [&'static dyn Backend; 2] {
    [&Reflink, &Copy]
}

/// The backends that make a tree over a sealed one, in the order of the chain, of which they are the
/// first.
pub fn over_sealed() -> [&'static dyn Backend; 2] {
    [&Overlay, &Btrfs]
}
