//! `cargo xtask ci`: everything that must hold, in the order of how soon it fails.

use std::time::Instant;

use anyhow::Context as _;

use crate::command::{cargo, require_success};
use crate::install::Installation;
use crate::machine::find_program;
use crate::talk::say;
use crate::test::{self, Profile};
use crate::workspace::Workspace;
use crate::{layers, macos, tidy};

/// Runs every step, and stops at the first that fails.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    for (name, step) in STEPS {
        say(&format!("== {name}"));
        let start = Instant::now();
        let outcome = step(workspace);
        let seconds = start.elapsed().as_secs_f32();
        let word = if outcome.is_ok() { "done" } else { "FAILED" };
        say(&format!("== {name}: {word} after {seconds:.1} s\n"));
        outcome.with_context(|| format!("step `{name}` failed; the later ones were not run"))?;
    }
    say("== all steps passed");
    Ok(())
}

type Step = fn(&Workspace) -> anyhow::Result<()>;

const STEPS: &[(&str, Step)] = &[
    ("format", |workspace| require_success(cargo(workspace).args(["xfmt", "--check"]))),
    ("clippy", clippy),
    ("tidy", tidy::run),
    ("layers", layers::run),
    ("macos-check", macos::check),
    ("test", run_tests),
    ("doctests", |workspace| {
        require_success(cargo(workspace).args(["test", "--doc", "--workspace"]))
    }),
    ("documentation", documentation),
    ("dependencies", dependencies),
];

fn clippy(workspace: &Workspace) -> anyhow::Result<()> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    require_success(cargo(workspace).args(arguments))
}

fn run_tests(workspace: &Workspace) -> anyhow::Result<()> {
    let options = test::Options {
        installation: Installation::Allowed,
        profile: Profile::Ci,
        runner_arguments: Vec::new(),
    };
    test::run(workspace, &options)
}

fn documentation(workspace: &Workspace) -> anyhow::Result<()> {
    let mut command = cargo(workspace);
    command.args(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings");
    require_success(&mut command)
}

fn dependencies(workspace: &Workspace) -> anyhow::Result<()> {
    if find_program("cargo-deny").is_none() {
        say("skipped: cargo-deny is not installed");
        return Ok(());
    }
    require_success(cargo(workspace).args(["deny", "check", "bans", "licenses", "sources"]))
}
