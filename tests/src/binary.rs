//! The program under test, and what it answers.

mod build;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub use self::build::{binary, faults_binary};
use crate::environment;

/// `fwt` in an environment of its own.
#[derive(Clone, Debug)]
pub struct Fwt {
    program: PathBuf,
    home: PathBuf,
    state: PathBuf,
}

impl Fwt {
    /// A program with `HOME` and `FWT_HOME`.
    pub fn new(program: PathBuf, home: PathBuf, state: PathBuf) -> Self {
        Self { program, home, state }
    }

    /// The same with another `FWT_HOME`.
    #[must_use]
    pub fn with_state(mut self, state: PathBuf) -> Self {
        self.state = state;
        self
    }

    /// A command to be run in `directory`, for what the other methods do not do.
    pub fn command(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Command {
        let mut command = environment::command(&self.program, &self.home);
        command.env("FWT_HOME", &self.state).current_dir(directory).args(arguments);
        command
    }

    /// Runs it in `directory` with `--json`.
    pub fn run(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Answer {
        Answer::of(self.command(directory, arguments).arg("--json"))
    }

    /// Runs it through a shell that first does `prelude`, such as `umask 077`.
    pub fn run_after(&self, prelude: &str, directory: &Path, arguments: &[&str]) -> Answer {
        let mut command = environment::command("sh", &self.home);
        command.env("FWT_HOME", &self.state).current_dir(directory);
        command.arg("-c").arg(format!("{prelude}; exec \"$0\" \"$@\"")).arg(&self.program);
        Answer::of(command.args(arguments).arg("--json"))
    }

    /// Makes a worktree, which must succeed.
    pub fn create(&self, directory: &Path, arguments: &[&str]) -> Made {
        let mut words = vec!["create"];
        words.extend(arguments);
        Made { json: self.run(directory, words).success() }
    }

    /// All worktrees of this state directory.
    pub fn list_all(&self, directory: &Path) -> Vec<Value> {
        let answer = self.run(directory, ["list", "--all"]).success();
        answer["worktrees"].as_array().unwrap_or_else(|| panic!("no list: {answer}")).clone()
    }
}

/// What one run answered.
#[derive(Debug)]
pub struct Answer {
    /// What was run, for messages.
    pub command: String,
    /// Exit code; `None` if it died of a signal.
    pub code: Option<i32>,
    /// Its data.
    pub stdout: Vec<u8>,
    /// Its talk.
    pub stderr: Vec<u8>,
}

impl Answer {
    /// Runs a command to its end; one that hangs fails the test.
    pub fn of(command: &mut Command) -> Self {
        let output = environment::output_in_time(command);
        Self::from_output(format!("{command:?}"), output)
    }

    /// Takes over the output of a command.
    pub fn from_output(command: String, output: Output) -> Self {
        let Output { status, stdout, stderr } = output;
        Self { command, code: status.code(), stdout, stderr }
    }

    /// The one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error} in\n{self}"))
    }

    /// The document of a run that must have succeeded.
    #[track_caller]
    pub fn success(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self}");
        self.json()
    }

    /// The error of a run that must have failed with this exit code and error code.
    #[track_caller]
    pub fn failure(&self, exit: i32, code: &str) -> Value {
        assert_eq!(self.code, Some(exit), "{self}");
        let mut document = self.json();
        assert_eq!(document["error"]["code"], code, "{self}");
        document["error"].take()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let [stdout, stderr] = [&self.stdout, &self.stderr].map(|it| String::from_utf8_lossy(it));
        let Self { command, .. } = self;
        write!(formatter, "{command}\nended with {code}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

/// A worktree that was made.
#[derive(Debug)]
pub struct Made {
    /// The whole response.
    pub json: Value,
}

impl Made {
    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.text("path").into()
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// A number of its `stats`.
    pub fn stat(&self, name: &str) -> u64 {
        self.json["stats"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.json))
    }

    /// Who was passed over, and why.
    pub fn passed_over(&self) -> Vec<(&str, &str)> {
        let passed = self.json["passed_over"].as_array().expect("it is a list");
        let field = |value: &'_ Value, name| value[name].as_str().expect("it is text").len();
        passed
            .iter()
            .map(|one| {
                assert!(field(one, "detail") > 0, "{one}");
                let text = |name| one[name].as_str().expect("it is text");
                (text("backend"), text("reason"))
            })
            .collect()
    }

    fn text(&self, name: &str) -> &str {
        self.json[name].as_str().unwrap_or_else(|| panic!("no {name}: {}", self.json))
    }
}
