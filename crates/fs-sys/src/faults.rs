//! Fault injection: fail, abort or be sent a signal at the Nth call, so that tests can stop a program
//! between any two.
//!
//! Without the feature `faults` nothing here costs anything: the hook is an empty inline function.

#[cfg(feature = "faults")]
pub(crate) use enabled::before_call;
#[cfg(feature = "faults")]
pub use enabled::{Fault, arm, calls, disarm};

/// The hook of a build without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as with the feature on")]
pub(crate) fn before_call(_op: &'static str) -> rustix::io::Result<()> {
    Ok(())
}

#[cfg(feature = "faults")]
mod enabled {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::io::Errno;

    /// What happens at the chosen call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// The call fails with this errno.
        Fail(i32),
        /// The process ends at once, as `kill -9` would end it: no destructor runs.
        Abort,
        /// A signal of this number comes to the process, as from `kill`; then the call is made.
        Signal(i32),
    }

    #[derive(Debug)]
    struct Plan {
        nth: u64,
        fault: Fault,
        /// Only calls of this name count; all when `None`.
        op: Option<String>,
    }

    static CALLS: AtomicU64 = AtomicU64::new(0);
    static PLAN: Mutex<Option<Plan>> = Mutex::new(None);

    /// Lets the `nth` call from now on (1 is the next) meet `fault`; only calls named `op` count,
    /// where it is given.
    pub fn arm(nth: u64, fault: Fault, op: Option<&str>) {
        let mut plan = PLAN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        CALLS.store(0, Ordering::SeqCst);
        *plan = Some(Plan { nth, fault, op: op.map(str::to_owned) });
    }

    /// Back to no faults.
    pub fn disarm() {
        *PLAN.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// How many calls there were since [`arm`].
    pub fn calls() -> u64 {
        CALLS.load(Ordering::SeqCst)
    }

    pub(crate) fn before_call(op: &'static str) -> rustix::io::Result<()> {
        let plan = PLAN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(plan) = plan.as_ref() else { return Ok(()) };
        if plan.op.as_deref().is_some_and(|wanted| wanted != op) {
            return Ok(());
        }
        if CALLS.fetch_add(1, Ordering::SeqCst) + 1 != plan.nth {
            return Ok(());
        }
        match plan.fault {
            Fault::Fail(errno) => Err(Errno::from_raw_os_error(errno)),
            Fault::Abort => std::process::abort(),
            Fault::Signal(number) => {
                use rustix::process::{Signal, getpid, kill_process};
                let signal = Signal::from_named_raw(number).ok_or(Errno::INVAL)?;
                kill_process(getpid(), signal)
            }
        }
    }
}
