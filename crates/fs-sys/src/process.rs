//! Who a process is, for rows that outlive it: a pid alone is reused.

use crate::os;

/// A process, told apart from any later one with the same pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// Its pid in its own pid namespace.
    pub pid: u32,
    /// When it started: clock ticks since boot (`/proc/PID/stat`, field 22).
    pub start_ticks: u64,
    /// The boot it lives in (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
    /// Inode of its pid namespace; a pid of another namespace means nothing here.
    pub pid_namespace: u64,
}

/// Whether a recorded process still lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The same process is there.
    Alive,
    /// It is gone: no such pid, another start time, or another boot.
    Dead,
    /// It cannot be told from here: another pid namespace, or a platform that does not say.
    Unknown,
}

/// The process that calls.
pub fn this_process() -> ProcessId {
    os::this_process()
}

/// The process with this pid in our pid namespace; `None` if there is none, or the platform does not say
/// when it started.
pub fn find(pid: u32) -> Option<ProcessId> {
    os::find_process(pid)
}

/// Which boot this is; `None` where the platform does not say.
pub fn boot_id() -> Option<String> {
    os::boot_id()
}

/// Whether `process` still lives.
pub fn liveness(process: &ProcessId) -> Liveness {
    os::liveness(process)
}

/// The effective user.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The effective group.
pub fn effective_group() -> u32 {
    rustix::process::getegid().as_raw()
}

/// How a group of processes is made to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// SIGTERM: it may clean up.
    Asked,
    /// SIGKILL.
    Forced,
}

/// Ends the process group that `leader` began. One that is gone is no error.
pub fn end_group(leader: u32, ending: Ending) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match ending {
        Ending::Asked => Signal::TERM,
        Ending::Forced => Signal::KILL,
    };
    let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) else { return };
    if let Err(error) = kill_process_group(group, signal) {
        tracing::debug!(%error, leader, "the process group is gone");
    }
}
