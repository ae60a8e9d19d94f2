//! `cargo xtask test`: the one command that runs every test this machine can run.

mod build;
mod outcome;
mod plain_user;
mod runner;
mod stage;

use self::outcome::{Outcome, report};
use crate::exclusive;
use crate::filesystems::{self, Available, Room, VARIABLES};
use crate::install::{self, Installation};
use crate::machine::{self, User};
use crate::talk::say;
use crate::workspace::Workspace;

/// How to run the tests.
#[derive(Debug)]
pub(crate) struct Options {
    /// Whether missing programs may be installed.
    pub(crate) installation: Installation,
    /// How the runner behaves.
    pub(crate) profile: Profile,
    /// Names to filter by, or nextest's options.
    pub(crate) runner_arguments: Vec<String>,
}

/// The two ways in which nextest is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// For a person: stops at the first failure.
    Default,
    /// For a machine: runs all, and repeats each failure at the end.
    Ci,
}

/// Runs the suite; as root, on fresh filesystems and a second time as a plain user.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let user = machine::load_user()?;
    install::install_missing(options.installation, user);
    let built = build::build(workspace)?;
    // Two runs in one checkout would take each other's filesystems down.
    let exclusive = exclusive::wait(workspace, "test")?;
    let outcomes = match user {
        User::Root => vec![
            on_filesystems(workspace, |available| {
                let outcome = runner::run(workspace, options, "as root", available);
                Ok(outcome.also_require(runner::run_faults(options, &built, available)))
            })?,
            // Anew, because the first run may have filled one, or left what root alone can remove.
            on_filesystems(workspace, |available| {
                plain_user::run(workspace, options, &built, available)
            })?,
        ],
        User::Plain => {
            say_what_is_skipped();
            vec![runner::run(workspace, options, "as this user", &[])]
        }
    };
    drop(exclusive);
    report(&outcomes)
}

/// Runs something while the filesystems are mounted; they are removed however it ends.
fn on_filesystems(
    workspace: &Workspace,
    run: impl FnOnce(&[Available]) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    if !machine::is_linux() {
        return run(&[]);
    }
    let filesystems = filesystems::bring_up(workspace, None, Room::Tests)?;
    let outcome = run(filesystems.available())?;
    // What cannot be removed is in use by something that a test left: that is a failure too.
    Ok(outcome.also_require(filesystems.take_down()))
}

fn say_what_is_skipped() {
    if VARIABLES.iter().all(|variable| std::env::var_os(variable).is_none()) {
        say("not root, so no filesystems are made: trials on them will be reported as skipped");
    }
}
