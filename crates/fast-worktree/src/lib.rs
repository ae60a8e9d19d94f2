//! Private worktrees for coding agents: the service behind every front end.
//!
//! A [`Request`](api::Request) goes in, a [`Response`](api::Response) comes out; front ends translate
//! and have no logic of their own. Here it is decided what may be cloned, what is stamped clean, which
//! backend makes a tree, and what may be removed.
//!
//! It must never modify a source, print, read the clock, the environment or the current directory
//! (they come in with [`Settings`]), stamp as clean what was not compared, or remove what fwt did not
//! make.

pub mod api;
mod attach;
mod backing;
mod chain;
mod checkpoint;
mod config;
mod create;
mod dispose;
mod doctor;
mod hook;
mod identity;
mod index_mark;
mod lease;
mod limits;
mod list;
mod manifest;
mod name;
mod place;
mod plain;
mod probed;
mod reclaim;
mod remove;
mod row;
mod seal;
mod service;
mod source;
mod stamp;
mod trust;
mod usage;

pub use backend::{Kind, Reason};

/// Every way to make a tree, in the order of the chain.
pub fn backends() -> impl Iterator<Item = Kind> {
    Kind::OVER_SEALED.into_iter().chain(Kind::ALL)
}

pub use copy_engine::{Cancel, Progress};
pub use git_cli::Environment;
pub use service::{Service, Settings};
