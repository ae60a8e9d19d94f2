//! Builds what the tests run: their own executables, and `fwt` in two forms.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use cargo_metadata::{Artifact, Message};

use crate::command::{cargo, require_success};
use crate::workspace::Workspace;

/// What was built.
#[derive(Debug)]
pub(crate) struct Built {
    /// Every test executable of the workspace.
    pub(crate) tests: Vec<TestExecutable>,
    /// Those that let each call of the kernel fail, which takes a form of the crates of its own.
    pub(crate) faults: Vec<TestExecutable>,
}

/// One test executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestExecutable {
    /// The directory of its package's `Cargo.toml`.
    pub(crate) package_directory: PathBuf,
    /// The target's name, such as `cli`.
    pub(crate) target: String,
    /// The executable itself.
    pub(crate) path: PathBuf,
}

/// The environment that tells tests where the binaries are.
pub(crate) fn binary_variables(workspace: &Workspace) -> [(&'static str, PathBuf); 2] {
    [("FWT_BIN", workspace.binary()), ("FWT_FAULTS_BIN", workspace.faults_binary())]
}

/// Builds everything, so that no run needs to write to the target directory.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<Built> {
    require_success(cargo(workspace).args(["build", "--package", "fwt"]))?;
    require_success(
        cargo(workspace)
            .args(["build", "--package", "fwt", "--features", "faults", "--target-dir"])
            .arg(workspace.faults_target_directory()),
    )?;
    let tests = build_tests(cargo(workspace).args([
        "test",
        "--no-run",
        "--workspace",
        "--message-format=json-render-diagnostics",
    ]))?;
    let faults = build_tests(
        cargo(workspace)
            .args(["test", "--no-run", "--package", "fs-sys", "--package", "backend"])
            .args(["--features", "fs-sys/faults,backend/faults", "--test", "faults"])
            .args(["--message-format=json-render-diagnostics", "--target-dir"])
            .arg(workspace.faults_target_directory()),
    )?;
    Ok(Built { tests, faults })
}

fn build_tests(command: &mut Command) -> anyhow::Result<Vec<TestExecutable>> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no stdout")?;
    let mut tests = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message? {
            tests.extend(test_executable(artifact));
        }
    }
    if !child.wait()?.success() {
        bail!("the tests do not build");
    }
    Ok(tests)
}

fn test_executable(artifact: Artifact) -> Option<TestExecutable> {
    let path = artifact.executable.filter(|_| artifact.profile.test)?;
    Some(TestExecutable {
        package_directory: artifact.manifest_path.parent()?.into(),
        target: artifact.target.name,
        path: path.into(),
    })
}
