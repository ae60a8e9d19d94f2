//! Runs a program and keeps what it answered, as evidence.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

/// Beyond this a program hangs.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How often it is looked whether a program has ended.
const POLL_PAUSE: Duration = Duration::from_millis(1);

/// What one run answered.
#[derive(Debug)]
pub(crate) struct Answer {
    command: String,
    status: ExitStatus,
    /// Its data.
    pub(crate) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs a command to its end; one that hangs is killed, and that is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<Answer> {
    let answer = run_for(command, TIME_LIMIT)?;
    ensure!(!answer.was_killed(), "it hangs, or was killed by somebody else: {answer}");
    Ok(answer)
}

/// Runs a command, and kills it after so long if it has not ended by then.
pub(crate) fn run_for(command: &mut Command, time: Duration) -> anyhow::Result<Answer> {
    let text = describe(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {text}"))?;
    let stdout = read_beside(child.stdout.take().context("it is a pipe")?);
    let stderr = read_beside(child.stderr.take().context("it is a pipe")?);
    let status = wait_for(&mut child, time)?;
    let [stdout, stderr] = [stdout, stderr].map(JoinHandle::join);
    let read = |joined: thread::Result<io::Result<Vec<u8>>>| {
        joined.unwrap_or_else(|_| Err(io::Error::other("the reader panicked")))
    };
    Ok(Answer { command: text, status, stdout: read(stdout)?, stderr: read(stderr)? })
}

/// Its words, and where it ran; the environment is the same for all.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = command.get_args().map(OsStr::to_string_lossy).collect::<Vec<_>>();
    let directory = command.get_current_dir().unwrap_or(Path::new("."));
    format!("{} {words:?} (in {})", program.display(), directory.display())
}

fn wait_for(child: &mut Child, time: Duration) -> io::Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() >= time {
            child.kill()?;
            return child.wait();
        }
        thread::sleep(POLL_PAUSE);
    }
}

fn read_beside(mut pipe: impl Read + Send + 'static) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    })
}

impl Answer {
    /// Whether it died of a signal.
    pub(crate) fn was_killed(&self) -> bool {
        self.status.code().is_none()
    }

    /// Whether it did what it was to do.
    pub(crate) fn is_success(&self) -> bool {
        self.status.success()
    }

    /// Itself, if it did what it was to do; else all there is to see is the error.
    pub(crate) fn require_success(self) -> anyhow::Result<Self> {
        ensure!(self.is_success(), "it failed: {self}");
        Ok(self)
    }

    /// The one JSON document.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.stdout).with_context(|| format!("no JSON: {self}"))
    }

    /// What it printed, without the newline at its end.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// The name of the error that fwt answered.
    pub(crate) fn error_code(&self) -> anyhow::Result<String> {
        match self.json()?["error"]["code"].as_str() {
            Some(code) => Ok(code.to_owned()),
            None => bail!("it answers no error: {self}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 3_000;
        let [stdout, stderr] = [&self.stdout, &self.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]));
        let Self { command, status, .. } = self;
        write!(formatter, "{command}\n  {status}\n  stdout: {stdout}\n  stderr: {stderr}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_killed_in_time_and_its_output_kept() {
        let mut command = Command::new("sh");
        let answer =
            run_for(command.args(["-c", "echo a; exec sleep 60"]), Duration::from_millis(300));
        let answer = answer.unwrap();
        assert!(answer.was_killed());
        assert_eq!(answer.text(), "a");
    }
}
