//! Whether a recorded process lives.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests start processes and read /proc themselves")]
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fs_sys::process::{Liveness, ProcessId, liveness, this_process};

/// What fwt would have recorded of a child.
fn recorded(child: &Child) -> ProcessId {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let start_ticks = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    ProcessId { pid: child.id(), start_ticks: start_ticks.parse().unwrap(), ..this_process() }
}

#[test]
fn a_process_is_dead_from_its_end_on() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let id = recorded(&child);
    assert_eq!(liveness(&id), Liveness::Alive);
    drop(child.stdin.take());
    // Nobody has asked for its exit status yet: it is a zombie, and holds nothing any more.
    for _ in 0..1000 {
        if liveness(&id) == Liveness::Dead {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(liveness(&id), Liveness::Dead);
    assert!(fs::exists(format!("/proc/{}", id.pid)).unwrap(), "still a zombie");
    child.wait().unwrap();
    assert_eq!(liveness(&id), Liveness::Dead);
}

#[test]
fn another_users_process_is_not_dead() {
    let first = ProcessId { pid: 1, start_ticks: 0, ..this_process() };
    let stat = fs::read_to_string("/proc/1/stat").unwrap();
    let ticks = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    let id = ProcessId { start_ticks: ticks.parse().unwrap(), ..first };
    assert_eq!(liveness(&id), Liveness::Alive);
}
