//! Where output goes, and what becomes of it where it cannot go.

use std::io::pipe;

use crate::sandbox::Sandbox;

#[test]
fn quiet_leaves_data_and_errors() {
    let sandbox = Sandbox::new();
    let made = sandbox.see(&["create", "fix", "-q", "--at", "../fix"]);
    assert_eq!(made, "stdout:\n/ROOT/fix\nexit: 0");
    let failed = sandbox.see(&["-q", "create", "fix"]);
    assert!(failed.contains("stderr:\nerror: ") && failed.ends_with("exit: 4"), "{failed}");
}

#[test]
fn json_is_one_document_whatever_happens() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&["--json", "show", "nothing"]), @r#"
        stdout:
        {"error":{"code":"no-such-worktree","message":"no worktree goes by \"nothing\"","hints":["fwt list --all names them"]}}
        exit: 3
        "#);
    assert_eq!(sandbox.json(&["list"]), serde_json::json!({ "worktrees": [] }));
}

#[test]
fn the_log_goes_to_standard_error() {
    let sandbox = Sandbox::new();
    let output = sandbox.fwt(&["-vv", "create", "-C", ".", "--json"]).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("DEBUG"), "{log}");
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
}

#[test]
fn a_filter_that_cannot_be_read_stops_nothing() {
    let sandbox = Sandbox::new();
    let mut fwt = sandbox.fwt(&["list"]);
    insta::assert_snapshot!(sandbox.show(&fwt.env("FWT_LOG", "a[b").output().unwrap()), @r"
        stderr:
        note: FWT_LOG is not a filter, nothing is logged: invalid filter directive
        no worktrees
        exit: 0
        ");
}

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    let sandbox = Sandbox::new();
    for arguments in [&["create", "fix", "-q"][..], &["list"], &["--help"], &["schema"]] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = sandbox.fwt(arguments).stdout(writer).output().unwrap();
        assert_eq!(sandbox.show(&output), "exit: 0", "{arguments:?}");
    }
    assert_eq!(sandbox.json(&["show", "fix"])["name"], "fix");
}

#[test]
fn streams_that_are_closed_are_no_failure() {
    let sandbox = Sandbox::new();
    let output = sandbox.shell("exec \"$0\" create fix >&- 2>&- <&-");
    assert_eq!(sandbox.show(&output), "exit: 0");
    assert_eq!(sandbox.json(&["show", "fix"])["name"], "fix");
}

#[test]
fn an_answer_that_cannot_be_written_is_said_elsewhere() {
    let sandbox = Sandbox::new();
    // Where there is no such device, the redirection itself fails.
    let output = sandbox.shell("exec \"$0\" create fix -q --at ../fix >/dev/full");
    let said = sandbox.show(&output);
    assert!(!output.status.success(), "{said}");
    if fs_sys::exists(&sandbox.path("fix")).unwrap() {
        assert!(said.contains("hint: the worktree fix is at /ROOT/fix\n"), "{said}");
    }
}
