//! The registry from outside: rows, markers, damage, many threads and many processes.

#![expect(clippy::print_stdout, reason = "how children report, and measurements")]
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(
    clippy::disallowed_methods,
    reason = "the oracle is std, and child processes are killed on purpose"
)]

mod common;
mod damage;
mod leases;
mod markers;
mod processes;
mod read_only;
mod rows;
mod threads;
