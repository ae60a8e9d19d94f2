//! Runs a program and says what it used.

use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde::Serialize;
use wait4::Wait4 as _;

/// What one run used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// From before the program was started until it was waited for.
    pub(crate) wall_s: f64,
    /// Processor time, the program's own and the kernel's for it, with that of its children.
    pub(crate) processor_s: f64,
    /// The largest resident set of the program or one of its children. A child starts as a copy
    /// of us, so that what we hold, a few MB, is the least that can be seen.
    pub(crate) memory_bytes: u64,
}

/// A sample, and what the program printed.
#[derive(Debug)]
pub(crate) struct Measured {
    /// What it used.
    pub(crate) sample: Sample,
    /// Its standard output.
    pub(crate) output: Vec<u8>,
}

/// Runs it to its end; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<Measured> {
    // Without its arguments: a copy has one for each entry of a repository.
    let text = Path::new(command.get_program()).file_name().unwrap_or_default().display();
    let text = text.to_string();
    // A file cannot fill up and block the program, as a second pipe could.
    let mut complaints = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints.try_clone()?);
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot run `{text}`"))?;
    let mut output = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        stdout.read_to_end(&mut output)?;
    }
    let used = child.wait4().with_context(|| format!("cannot wait for `{text}`"))?;
    let wall_s = start.elapsed().as_secs_f64();
    if !used.status.success() {
        let mut complaint = String::new();
        complaints.rewind()?;
        complaints.read_to_string(&mut complaint)?;
        // The first line: cp has one for each file.
        let first = complaint.lines().next().unwrap_or_default();
        bail!("`{text}` failed ({}): {first}", used.status);
    }
    let processor_s = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    let memory_bytes = used.rusage.maxrss;
    Ok(Measured { sample: Sample { wall_s, processor_s, memory_bytes }, output })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::run;

    #[test]
    fn what_a_program_prints_and_holds_is_seen() {
        let measured = run(Command::new("sh").args(["-c", "echo out; echo err >&2"])).unwrap();
        assert_eq!(measured.output, b"out\n");
        assert!(measured.sample.memory_bytes > 100_000, "{:?}", measured.sample);
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let error = run(Command::new("sh").args(["-c", "echo why >&2; echo more >&2; exit 3"]))
            .unwrap_err();
        assert!(error.to_string().ends_with("why"), "{error}");
    }
}
