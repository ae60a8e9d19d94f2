//! A test that root runs as a user who may do nothing special.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// A user id that no distribution gives out.
const PLAIN_USER_ID: u32 = 61_234;

/// Runs `act` as a plain user: root starts the test `name` of this binary again as one, from a copy
/// that this user can reach.
pub(crate) fn as_plain_user(name: &str, act: impl FnOnce()) {
    if fs_sys::process::effective_user() != 0 {
        return act();
    }
    let stage = tempfile::tempdir().unwrap();
    fs::set_permissions(stage.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = stage.path().join("test");
    // By another process: were it open for writing here, a child that is forked meanwhile would keep
    // it so, and it could not be run (ETXTBSY).
    let mut command = Command::new("cp");
    assert!(command.arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap().success());
    let output = Command::new(&copy)
        .args(["--exact", name, "--nocapture"])
        .current_dir("/")
        .uid(PLAIN_USER_ID)
        .gid(PLAIN_USER_ID)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "as uid {PLAIN_USER_ID}: {said}");
    let passed = String::from_utf8_lossy(&output.stdout);
    assert!(passed.contains("1 passed"), "the test {name} did not run: {passed}");
}
