//! `fwt`: private worktrees for coding agents, at the command line.
//!
//! Arguments, environment, clock, terminal and signals enter here and nowhere else. What a person
//! asks for becomes a `Request`, what the service answers becomes text or JSON; there is no other
//! logic. Nothing is read or set up before the arguments are understood, so that `--version` and
//! `--help` cost nothing.

mod age;
mod answer;
mod arguments;
mod checkpoint_arguments;
mod checkpoint_request;
mod checkpoint_text;
mod clock;
mod directory;
mod environment;
mod escape;
mod exit;
#[cfg(feature = "faults")]
mod faults;
mod health;
mod help;
mod home;
mod interrupt;
mod lease_arguments;
mod logging;
mod printer;
mod progress;
mod run;
mod schema;
mod table;
mod talk;
mod terminal;
mod translate;
mod truncate;
mod usage;
mod usage_table;
mod worktree_fields;
mod worktree_table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    match arguments::parse(&words) {
        Ok(arguments) => run::run(arguments),
        Err(error) => usage::report(&error, usage::format_wanted(&words)),
    }
}
