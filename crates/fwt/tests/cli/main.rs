//! The built `fwt`, seen from outside: output and exit codes.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod checkpoint;
mod life;
mod sandbox;
mod signals;
mod streams;
mod wrong_use;
