//! One run of the suite as whoever runs us, by nextest or else by cargo itself.

use std::process::Command;

use super::build::{Built, binary_variables};
use super::outcome::{Outcome, Verdict};
use super::{Options, Profile};
use crate::command::{cargo, require_success};
use crate::filesystems::Available;
use crate::machine::find_program;
use crate::talk::say;
use crate::workspace::Workspace;

/// Runs the whole suite; the runner's own words go to the terminal.
pub(crate) fn run(
    workspace: &Workspace,
    options: &Options,
    name: &str,
    available: &[Available],
) -> Outcome {
    say(&format!("== tests {name}"));
    let mut command = runner(workspace, options);
    command.envs(binary_variables(workspace));
    command.envs(available.iter().map(|filesystem| (filesystem.variable, &filesystem.path)));
    let verdict = match require_success(&mut command) {
        Ok(()) => Verdict::Passed(on_which(available)),
        Err(error) => Verdict::Failed(format!("{error:#}")),
    };
    Outcome { run: name.to_owned(), verdict }
}

/// Runs the tests of faults, unless some others were chosen.
pub(crate) fn run_faults(
    options: &Options,
    built: &Built,
    available: &[Available],
) -> anyhow::Result<()> {
    if !options.runner_arguments.is_empty() {
        return Ok(());
    }
    for test in &built.faults {
        let mut command = Command::new(&test.path);
        command.current_dir(&test.package_directory);
        command.envs(available.iter().map(|filesystem| (filesystem.variable, &filesystem.path)));
        require_success(&mut command)?;
    }
    Ok(())
}

/// Names the filesystems, for the line that says what passed.
pub(crate) fn on_which(available: &[Available]) -> String {
    let names = available
        .iter()
        .filter_map(|filesystem| filesystem.path.file_name())
        .map(|name| name.to_string_lossy())
        .collect::<Vec<_>>();
    if names.is_empty() {
        return "on no filesystem made for them".to_owned();
    }
    format!("on {}", names.join(", "))
}

fn runner(workspace: &Workspace, options: &Options) -> Command {
    let mut command = cargo(workspace);
    if find_program("cargo-nextest").is_some() {
        command.args(["nextest", "run"]);
        // Together with it, a choice of packages would be of no effect.
        if !options.runner_arguments.iter().any(|word| chooses_packages(word)) {
            command.arg("--workspace");
        }
        command.arg("--profile").arg(match options.profile {
            Profile::Default => "default",
            Profile::Ci => "ci",
        });
    } else {
        say("cargo-nextest is not installed: running plain cargo test");
        command.args(["test", "--workspace", "--no-fail-fast", "--"]);
    }
    command.args(&options.runner_arguments);
    command
}

fn chooses_packages(word: &str) -> bool {
    word.starts_with("-p") || word.starts_with("--package")
}
