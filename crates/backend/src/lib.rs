//! The ways to make an active tree, behind one contract.
//!
//! A backend says whether it can work at a place by doing it there on scratch files ([`Backend::probe`]),
//! and then makes a tree, all or nothing ([`Backend::prepare`]). Only a `No` from a probe lets the chain
//! go on to the next; a `prepare` that fails after a yes is an error.
//!
//! It must never write into a source, leave a scratch file behind, decide what may be cloned (the
//! manifest and its gate say that), or fall back to another backend by itself.

mod contract;
mod copy;
mod probe;
mod reason;
mod reflink;

pub use contract::{Active, Backend, Content, Error, Kind, Parent, Prepared, Site, Support};
pub use copy::Copy;
pub use reason::Reason;
pub use reflink::Reflink;

/// Every backend of this build, in the order of the chain.
pub fn all() -> [&'static dyn Backend; 2] {
    [&Reflink, &Copy]
}
