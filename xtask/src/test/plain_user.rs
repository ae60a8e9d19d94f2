//! The suite run again by root as a user who may do nothing special.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Options;
use super::build::{Built, TestExecutable};
use super::outcome::{Outcome, Verdict};
use super::runner::on_which;
use super::stage::{self, Stage};
use crate::filesystems::Available;
use crate::talk::say;
use crate::workspace::Workspace;

/// A user id that no distribution gives out; it needs no entry in the user database.
pub(crate) const PLAIN_USER_ID: u32 = 61_234;

/// The packages whose behaviour depends on who runs them.
const PACKAGES: &[&str] = &[
    "fs-sys",
    "walk",
    "copy-engine",
    "git-cli",
    "backend",
    "pool-db",
    "checkpoint",
    "fast-worktree",
    "fwt",
    "fwt-tests",
];

/// Beyond this a test hangs: whole suites of one executable take a few minutes at most.
const EXECUTABLE_TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
const POLL_PAUSE: Duration = Duration::from_millis(50);

/// What of the environment reaches the plain user: whatever names a place of root stays behind.
const PASSED_VARIABLES: &[&str] = &["PATH", "LANG", "CI", "TERM"];
const PASSED_PREFIXES: &[&str] = &["FWT_", "RUST_", "PROPTEST_", "LC_"];

/// Runs each test executable as the plain user, from copies that this user can reach.
pub(crate) fn run(
    workspace: &Workspace,
    options: &Options,
    built: &Built,
    available: &[Available],
) -> anyhow::Result<Outcome> {
    let name = format!("as user {PLAIN_USER_ID}");
    if let Some(option) = options.runner_arguments.iter().find(|word| word.starts_with('-')) {
        let why = format!("the test executables do not know nextest's {option}");
        return Ok(Outcome { run: name, verdict: Verdict::Skipped(why) });
    }
    say(&format!("== tests {name}"));
    let tests = relevant_tests(workspace, built);
    let stage = stage::prepare(workspace, &tests, PLAIN_USER_ID)?;
    let mut failed = Vec::new();
    for test in &tests {
        let label = label(test);
        say(&format!("-- {label}"));
        let mut command = command(&stage, test, available)?;
        command.args(&options.runner_arguments);
        if let Err(error) = run_within_limit(&mut command) {
            say(&format!("{label}: {error:#}"));
            failed.push(label);
        }
    }
    let verdict = if failed.is_empty() {
        Verdict::Passed(format!("{} executables, {}", tests.len(), on_which(available)))
    } else {
        Verdict::Failed(failed.join(", "))
    };
    Ok(Outcome { run: name, verdict })
}

fn relevant_tests(workspace: &Workspace, built: &Built) -> Vec<TestExecutable> {
    let directories = workspace
        .packages()
        .iter()
        .filter(|package| PACKAGES.contains(&package.name.as_str()))
        .filter_map(|package| package.manifest_path.parent())
        .collect::<Vec<_>>();
    built
        .tests
        .iter()
        .filter(|test| directories.iter().any(|directory| *directory == test.package_directory))
        .cloned()
        .collect()
}

/// Such as `fwt cli`: the package by its directory, then the target.
fn label(test: &TestExecutable) -> String {
    let package = test.package_directory.file_name().unwrap_or_default();
    format!("{} {}", Path::new(package).display(), test.target)
}

fn command(
    stage: &Stage,
    test: &TestExecutable,
    available: &[Available],
) -> anyhow::Result<Command> {
    let package_directory = stage.package_directory(test)?;
    let mut command = Command::new(stage.executable(test));
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed)));
    command.envs(available.iter().map(|filesystem| (filesystem.variable, &filesystem.path)));
    command.envs(stage.variables());
    command.env("CARGO_MANIFEST_DIR", &package_directory);
    command.current_dir(package_directory);
    // The standard library drops the supplementary groups too when root sets a user.
    command.uid(PLAIN_USER_ID).gid(PLAIN_USER_ID);
    Ok(command)
}

fn is_passed(name: &str) -> bool {
    PASSED_VARIABLES.contains(&name)
        || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn run_within_limit(command: &mut Command) -> anyhow::Result<()> {
    let mut child = command.stdin(Stdio::null()).spawn().context("cannot be run")?;
    let status = wait_within_limit(&mut child)?;
    anyhow::ensure!(status.success(), "failed ({status})");
    Ok(())
}

fn wait_within_limit(child: &mut Child) -> anyhow::Result<ExitStatus> {
    let deadline = Instant::now() + EXECUTABLE_TIME_LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("still running after {} s", EXECUTABLE_TIME_LIMIT.as_secs());
        }
        thread::sleep(POLL_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::is_passed;

    #[test]
    fn places_of_root_stay_behind() {
        for name in ["HOME", "TMPDIR", "XDG_DATA_HOME", "CARGO_HOME", "GIT_DIR"] {
            assert!(!is_passed(name), "{name}");
        }
    }

    #[test]
    fn what_tests_look_at_is_passed() {
        for name in ["PATH", "CI", "FWT_TEST_EXT4", "RUST_BACKTRACE"] {
            assert!(is_passed(name), "{name}");
        }
    }
}
