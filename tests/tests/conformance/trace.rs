//! Which files a program opens, by `strace`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fwt_tests::Sandbox;
use fwt_tests::environment::succeed;

/// One successful call that opened a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    /// What was opened.
    pub(crate) path: PathBuf,
    /// The flags, as the trace has them.
    pub(crate) flags: String,
}

/// Runs a command, which must succeed, and says what it and its children opened.
pub(crate) fn opens(sandbox: &Sandbox, command: &Command) -> Vec<Open> {
    let log = sandbox.path("trace");
    let mut traced = sandbox.command("strace");
    traced.args(["-f", "-y", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2,creat", "-o"]);
    traced.arg(&log).arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        traced.env(name, value.unwrap_or_default());
    }
    traced.current_dir(command.get_current_dir().expect("it has a directory"));
    succeed(&mut traced);
    let text = fs::read_to_string(&log).expect("strace writes its log");
    fs::remove_file(&log).expect("the log is ours");
    text.lines().filter_map(parse).collect()
}

/// A line is `123 openat(5</dir>, "name", O_RDONLY|…) = 7</dir/name>`; with `-y` the path that was
/// really opened stands at the end.
fn parse(line: &str) -> Option<Open> {
    let (call, opened) = line.rsplit_once(" = ")?;
    let path = opened.split_once('<')?.1.strip_suffix('>')?;
    let flags = call.split([',', '{', '=', ')']).find(|part| part.trim().starts_with("O_"))?;
    Some(Open { path: Path::new(path).to_owned(), flags: flags.trim().to_owned() })
}
