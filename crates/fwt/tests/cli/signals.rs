//! Signals in the middle of the work.

use crate::sandbox::Sandbox;

/// A git that first sends its parent a signal, each time: later ones must not kill the clean-up.
fn check(signal: &str, exit: i32) {
    let sandbox = Sandbox::new();
    let path =
        sandbox.path_with_git(&format!("kill -{signal} $PPID\nsleep 0.1\nexec \"$GIT\" \"$@\""));
    let mut fwt = sandbox.fwt(&["create", "fix", "--json", "--at", "../trees/fix"]);
    let output = fwt.env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(exit), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["error"]["code"], "interrupted");
    assert_eq!(sandbox.json(&["list", "--all"])["worktrees"], serde_json::json!([]));
    assert!(!fs_sys::exists(&sandbox.path("trees")).unwrap());
    assert_eq!(sandbox.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn an_interrupted_create_leaves_nothing() {
    check("INT", 130);
    check("TERM", 143);
    // As under nohup, which children inherit.
    if !is_ignored(1) {
        check("HUP", 129);
    }
}

/// Whether this process ignores a signal, as far as `/proc` says so.
fn is_ignored(signal: u32) -> bool {
    let status = fs_sys::read_file("/proc/self/status".as_ref()).unwrap_or_default();
    let status = String::from_utf8_lossy(&status).into_owned();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    if !fs_sys::exists("/proc/self/status".as_ref()).unwrap() {
        // Nothing else says without unsafe code what is ignored.
        return;
    }
    let sandbox = Sandbox::new();
    let path = sandbox.path_with_git("kill -HUP $PPID\nexec \"$GIT\" \"$@\"");
    let script = format!("trap '' HUP; PATH='{}' exec \"$0\" create fix -q", path.display());
    let output = sandbox.shell(&script);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
