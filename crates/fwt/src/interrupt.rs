//! Signals that ask to stop: they cancel the request in work, which then cleans up after itself.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fast_worktree::Cancel;
use fast_worktree::api::{ApiError, Code};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// A signal that asks to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGHUP: the terminal is gone.
    HangUp,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::HangUp, Self::Interrupt, Self::Terminate];

    /// What a shell reports of a process that the signal ended.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    fn number(self) -> i32 {
        match self {
            Self::HangUp => SIGHUP,
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
        }
    }

    fn of(number: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| usize::try_from(signal.number()) == Ok(number))
    }
}

/// Signals are caught while this is watched, however often they come: a second Ctrl-C must not kill
/// the clean-up that the first began.
#[derive(Debug)]
pub(crate) struct Watch {
    latest: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Watch {
    /// From now on the signals do what they do by default: nothing is left to clean up, and a write
    /// to a reader that has stopped reading must be possible to end. Says which one came, if any.
    pub(crate) fn end(self) -> Option<Signal> {
        self.over.store(true, Ordering::SeqCst);
        Signal::of(self.latest.load(Ordering::SeqCst))
    }
}

/// Lets the signals cancel the request in work.
pub(crate) fn watch(cancel: Arc<Cancel>) -> io::Result<Watch> {
    let watch = Watch { latest: Arc::default(), over: Arc::default() };
    let ignored = load_ignored();
    let wanted = Signal::ALL.map(Signal::number).into_iter();
    let wanted: Vec<i32> = wanted.filter(|number| !ignored.has(*number)).collect();
    let mut signals = Signals::new(&wanted)?;
    for number in wanted {
        let value = usize::try_from(number).unwrap_or_default();
        flag::register_conditional_default(number, Arc::clone(&watch.over))?;
        flag::register_usize(number, Arc::clone(&watch.latest), value)?;
    }
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _signal in signals.forever() {
            cancel.cancel();
        }
    })?;
    Ok(watch)
}

/// A terminal's Ctrl-C goes to git as well, which may end, and be reported, before the request sees
/// that it was cancelled.
pub(crate) fn attribute(error: ApiError, signal: Option<Signal>) -> ApiError {
    if signal.is_some() && error.code == Code::GitFailed {
        let message = format!("interrupted: {}", error.message);
        return ApiError { code: Code::Interrupted, message, ..error };
    }
    error
}

/// A set of signals, as the kernel prints it: bit N−1 is signal N.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SignalSet(u64);

impl SignalSet {
    fn has(self, number: i32) -> bool {
        let bit = u32::try_from(number - 1).ok().and_then(|shift| 1_u64.checked_shl(shift));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }
}

/// What `nohup`, or a shell that starts something in the background, made us ignore stays ignored.
/// Where there is no such file, nothing counts as ignored.
fn load_ignored() -> SignalSet {
    match fs_sys::read_file(Path::new("/proc/self/status")) {
        Ok(status) => parse_ignored(&status).unwrap_or_default(),
        Err(error) => {
            tracing::debug!(%error, "ignored signals are not known");
            SignalSet::default()
        }
    }
}

fn parse_ignored(status: &[u8]) -> Option<SignalSet> {
    let line =
        status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"SigIgn:"))?;
    let digits = std::str::from_utf8(line).ok()?.trim();
    u64::from_str_radix(digits, 16).ok().map(SignalSet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_process_status() {
        let check = |status: &str, expected| {
            assert_eq!(parse_ignored(status.as_bytes()).map(|set| set.0), expected, "{status}");
        };
        check("Name:\tfwt\nSigBlk:\t00\nSigIgn:\t0000000000001003\nSigCgt:\t04\n", Some(0x1003));
        check("SigIgn:\tnone\n", None);
        check("Name:\tfwt\n", None);
        let set = SignalSet(0x1003);
        assert!(set.has(SIGHUP) && set.has(SIGINT) && !set.has(SIGTERM) && !set.has(0));
    }

    #[test]
    fn a_signal_is_known_by_its_number() {
        for signal in Signal::ALL {
            assert_eq!(Signal::of(usize::try_from(signal.number()).unwrap()), Some(signal));
        }
        assert_eq!(Signal::of(0), None);
    }

    #[test]
    fn git_that_fails_after_a_signal_was_interrupted() {
        let check = |code, signal, expected| {
            assert_eq!(attribute(ApiError::new(code, ""), signal).code, expected);
        };
        check(Code::GitFailed, Some(Signal::Interrupt), Code::Interrupted);
        check(Code::GitFailed, None, Code::GitFailed);
        check(Code::NoSpace, Some(Signal::Interrupt), Code::NoSpace);
    }
}
