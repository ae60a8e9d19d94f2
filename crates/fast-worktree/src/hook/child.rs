//! One command of the user's, from start to end.

use std::ffi::OsStr;
use std::io::{PipeReader, Read as _, pipe};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use copy_engine::Cancel;
use fs_sys::Owner;
use fs_sys::process::{Ending, end_group};
use pool_db::Worktree as Row;

use crate::api::{ApiError, Code};
use crate::config::Command;

/// How often a running command is looked at.
const POLL: Duration = Duration::from_millis(5);

/// How long a command that is to stop may take for it.
const GRACE: Duration = Duration::from_secs(2);

/// How long its output is waited for after its end: something it left running may hold the pipe.
const DRAIN: Duration = Duration::from_millis(200);

/// As much of its output is kept for a message.
const LAST_BYTES: usize = 2000;

/// What is to run, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    /// `setup` or `cleanup`.
    pub(super) name: &'static str,
    pub(super) command: &'a Command,
    /// Whose tree it runs in.
    pub(super) row: &'a Row,
    /// Whom it runs as, if not as the caller.
    pub(super) owner: Option<Owner>,
}

/// How it ended.
#[derive(Debug)]
pub(super) enum Ended {
    Well,
    Badly { status: String, last_words: String },
    Cancelled,
}

/// Runs it in the tree, in a process group of its own, and gives all it says to `hear`.
pub(super) fn run<'v>(
    order: &Order<'_>,
    variables: impl Iterator<Item = (&'v OsStr, &'v OsStr)>,
    hear: fn(&[u8]),
    cancel: &Cancel,
) -> Result<Ended, ApiError> {
    let cannot = |error: std::io::Error| {
        let (name, command) = (order.name, order.command);
        ApiError::new(Code::HookFailed, format!("the {name} hook cannot start: {error}"))
            .with_hint(format!("the hook is: {command}"))
    };
    let (reader, writer) = pipe().map_err(cannot)?;
    let mut process = process(order.command);
    process.env_clear().envs(variables);
    process.env("FWT_HOOK", order.name).env("FWT_ID", order.row.id.as_str());
    process.env("FWT_NAME", &order.row.name).env("FWT_SOURCE", &order.row.source);
    process.env("FWT_PATH", &order.row.path).current_dir(&order.row.path);
    process.stdin(Stdio::null()).process_group(0);
    process.stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
    if let Some(Owner { uid, gid }) = order.owner {
        process.uid(uid).gid(gid);
    }
    let child = process.spawn().map_err(cannot)?;
    // Its copies of the pipe's end would keep the pipe open.
    drop(process);
    let listener = Listener::start(reader, hear);
    let status = wait(child, cancel).map_err(cannot)?;
    let last_words = listener.end();
    Ok(match status {
        None => Ended::Cancelled,
        Some(status) if status.success() => Ended::Well,
        Some(status) => Ended::Badly { status: status.to_string(), last_words },
    })
}

#[expect(clippy::disallowed_methods, reason = "the one place that starts the user's commands")]
fn process(command: &Command) -> Process {
    match command {
        Command::Line(line) => {
            let mut shell = Process::new("sh");
            shell.arg("-c").arg(line);
            shell
        }
        Command::Words(words) => {
            let mut process = Process::new(words.first().map_or("", String::as_str));
            process.args(words.get(1..).unwrap_or_default());
            process
        }
    }
}

/// Waits for its end; `None` if it was stopped because the caller wants to stop.
fn wait(mut child: Child, cancel: &Cancel) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if cancel.is_cancelled() {
            stop(&mut child)?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

/// Asks it and what it started to end, and after a while makes them.
fn stop(child: &mut Child) -> std::io::Result<()> {
    end_group(child.id(), Ending::Asked);
    let mut waited = Duration::ZERO;
    while child.try_wait()?.is_none() && waited < GRACE {
        thread::sleep(POLL);
        waited += POLL;
    }
    end_group(child.id(), Ending::Forced);
    child.wait().map(drop)
}

/// Takes in what a command says.
struct Listener {
    thread: thread::JoinHandle<()>,
    last: Arc<Mutex<Vec<u8>>>,
}

impl Listener {
    fn start(mut reader: PipeReader, hear: fn(&[u8])) -> Self {
        let last = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&last);
        let thread = thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut block) {
                hear(&block[..count]);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&block[..count]);
                let excess = kept.len().saturating_sub(LAST_BYTES);
                kept.drain(..excess);
            }
        });
        Self { thread, last }
    }

    /// The last of what was said, on one line.
    fn end(self) -> String {
        let mut waited = Duration::ZERO;
        while !self.thread.is_finished() && waited < DRAIN {
            thread::sleep(POLL);
            waited += POLL;
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&last);
        text.split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" / ")
    }
}
