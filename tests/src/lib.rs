//! What the tests over the built binary share: the binary, places to work in, repositories, and the
//! oracle they are compared with.
//!
//! A test takes a [`Sandbox`] on a [`Filesystem`], makes a [`Repository`] in it, runs [`Fwt`], and
//! compares [`Snapshot`]s.

pub mod binary;
pub mod environment;
pub mod filesystem;
pub mod repository;
pub mod sandbox;
pub mod snapshot;

pub use binary::{Answer, Fwt, binary, faults_binary};
pub use filesystem::{Filesystem, Missing};
pub use repository::Repository;
pub use sandbox::Sandbox;
pub use snapshot::{Node, Snapshot};
