//! A parallel walk by descriptor that knows the project's `.gitignore` files.
//!
//! One directory is one task, so that no two workers are ever busy in the same one, unless it is so
//! large that its files are shared out. The pool that runs the tasks serves every other parallel
//! pass over directories too ([`run_tasks`]).
//!
//! It must never follow a link, cross a mount, open anything but directories and `.gitignore` files,
//! or honour an ignore rule that is not in the tree itself: what only a global exclude hides is a file like any other.

mod ignored;
mod patterns;
mod pool;
mod visit;

pub use ignored::{Ignore, RULES_FILE};
pub use patterns::Patterns;
pub use pool::{MAX_WORKERS, Queue, run_tasks, worker_count};
pub use visit::{CHUNK_FILES, Descend, Directory, Entry, Visitor, walk};
