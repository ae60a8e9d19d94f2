//! What an exit code means: one table, for the help, the schema and the code itself.

use std::process::ExitCode;

use fast_worktree::api::{ApiError, Code, Response};

use crate::interrupt::Signal;

/// Done, or nothing to do.
pub(crate) const DONE: u8 = 0;
/// Failed, or done in part.
pub(crate) const FAILED: u8 = 1;
/// Wrong use.
pub(crate) const WRONG_USE: u8 = 2;

/// Every exit code and its meaning.
pub(crate) const TABLE: [(u8, &str); 10] = [
    (DONE, "done, or nothing to do; also when nobody reads the answer (closed pipe)"),
    (FAILED, "failed, or done in part; the message says what and where"),
    (WRONG_USE, "wrong use: bad flag, bad name, destination inside the source"),
    (3, "no such source, repository, worktree, checkpoint or revision"),
    (4, "refused to protect something: unsaved work, destination or branch exists, locked"),
    (5, "not possible here: backend, kind of repository, another owner, permissions, read-only"),
    (6, "out of space, descriptors or quota"),
    (129, "interrupted by SIGHUP, after cleaning up"),
    (130, "interrupted by SIGINT, after cleaning up"),
    (143, "interrupted by SIGTERM, after cleaning up"),
];

/// The exit code for an answer: that what was asked for many was done for some only is no success.
pub(crate) fn code_of(response: &Response) -> ExitCode {
    let is_whole = match response {
        Response::Attached(attached) => attached.worktrees.iter().all(|one| one.error.is_none()),
        Response::Worktree(_)
        | Response::DiskUsage(_)
        | Response::Sealed(_)
        | Response::List(_)
        | Response::Removed(_)
        | Response::Doctor(_)
        | Response::Checkpoint(_)
        | Response::Checkpoints(_)
        | Response::CheckpointDetail(_)
        | Response::CheckpointDiff(_)
        | Response::CheckpointsCollected(_)
        | Response::Touched(_)
        | Response::Released(_)
        | Response::Trusted(_) => true,
    };
    ExitCode::from(if is_whole { DONE } else { FAILED })
}

/// The exit code for a failure. An interruption is told by the signal that caused it, as a shell
/// would tell it.
pub(crate) fn code_for(error: &ApiError, signal: Option<Signal>) -> ExitCode {
    let code = match signal {
        Some(signal) if error.code == Code::Interrupted => signal.exit_code(),
        _ => error.code.exit_code(),
    };
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_line_in_the_table() {
        for code in Code::ALL {
            let exit = code.exit_code();
            assert!(TABLE.iter().any(|(known, _)| *known == exit), "{}: {exit}", code.name());
        }
    }

    #[test]
    fn every_signal_has_a_line_in_the_table() {
        for signal in Signal::ALL {
            let exit = signal.exit_code();
            assert!(TABLE.iter().any(|(known, _)| *known == exit), "{signal:?}: {exit}");
        }
    }

    #[test]
    fn only_an_interruption_is_told_by_its_signal() {
        let check = |code, signal, expected| {
            let exit = code_for(&ApiError::new(code, ""), signal);
            assert_eq!(format!("{exit:?}"), format!("{:?}", ExitCode::from(expected)));
        };
        check(Code::Interrupted, Some(Signal::Terminate), 143);
        check(Code::Interrupted, Some(Signal::HangUp), 129);
        check(Code::Interrupted, None, 130);
        check(Code::NoSpace, Some(Signal::Interrupt), 6);
    }
}
