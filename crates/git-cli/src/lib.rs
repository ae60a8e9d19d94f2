//! git: one spawn site with a scrubbed environment, an intent a method, and git's file formats.
//!
//! Everything that changes a repository goes through the `git` program here. What is read and written
//! without it is little and fixed: the index (parsed, and its stat blocks patched in a copy) and the
//! small files of a linked worktree's admin directory.
//!
//! It must never run a hook, a file system monitor or a credential prompt on its own account, take an
//! optional lock, fetch, write a shared configuration file, or decide anything by git's messages:
//! those go to the person, exit codes and `-z` output to the program.

mod admin;
mod attributes;
mod changes;
mod checkout;
mod config;
mod discover;
mod error;
mod files;
pub mod index;
mod memory;
pub mod object;
mod refs;
mod repository;
mod run;
mod standalone;

pub use admin::{ADMIN_PARENT, Admin, AdminFiles, LOCK_FILE, git_file_target};
pub use attributes::{AttributeValue, Attributes, AttributesIn};
pub use changes::{Changes, Staged};
pub use checkout::{Filters, WorktreeAdd};
pub use config::Config;
pub use error::{Error, Result, Shortage};
pub use memory::{Opened, Said};
pub use repository::{Head, Located, Repository, Revision, locate};
pub use run::{Context, Environment, Git};
pub use standalone::alternates;
