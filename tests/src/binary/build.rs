//! Where the program is: where a variable says, else where it is built.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program. `FWT_BIN` names it; without that it is built.
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| named("FWT_BIN").unwrap_or_else(|| build(Form::Plain))).clone()
}

/// The program that can be told to fail (`FWT_FAULTS`). `FWT_FAULTS_BIN` names it; without that it is
/// built.
pub fn faults_binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| named("FWT_FAULTS_BIN").unwrap_or_else(|| build(Form::Faults))).clone()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Faults,
}

fn named(variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os(variable).filter(|value| !value.is_empty())?);
    assert!(path.is_file(), "{variable}={}: there is no such file", path.display());
    Some(path)
}

/// Builds it into the target directory that this test is in. nextest starts a process for each test:
/// the first of a run builds, the others find its note.
fn build(form: Form) -> PathBuf {
    let target = target_directory();
    let (target, name) = match form {
        Form::Plain => (target, "plain"),
        Form::Faults => (target.join("faults"), "faults"),
    };
    let notes = target.join("tmp");
    fs::create_dir_all(&notes).expect("the target directory is ours");
    let lock = File::create(notes.join(format!("fwt-{name}.lock"))).expect("so is what is in it");
    lock.lock().expect("a lock is waited for");
    let note = notes.join(format!("fwt-{name}.built"));
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_default();
    if run.is_empty() || fs::read_to_string(&note).unwrap_or_default() != run {
        cargo_build(form, &target);
        fs::write(&note, run).expect("the target directory is ours");
    }
    target.join("debug/fwt")
}

fn cargo_build(form: Form, target: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "fwt", "--target-dir"]).arg(target);
    if form == Form::Faults {
        command.args(["--features", "faults"]);
    }
    let status = command.status().expect("cargo runs");
    assert!(status.success(), "fwt does not build; FWT_BIN names one that is built already");
}

/// The executable of a test is at `<target>/<profile>/deps/<name>`.
fn target_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    let deps = test.ancestors().find(|path| path.file_name() == Some(OsStr::new("deps")));
    let target = deps.and_then(Path::parent).and_then(Path::parent);
    target.expect("FWT_BIN is not set, and this test is in no target directory").to_owned()
}
