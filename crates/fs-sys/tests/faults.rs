//! Fault injection, in processes of their own: the plan is of the whole process.
#![cfg(feature = "faults")]
#![expect(clippy::disallowed_methods, reason = "tests build their trees and start themselves anew")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use fs_sys::faults::{Fault, arm, calls, disarm};
use fs_sys::{ErrorKind, Mode};

/// In the environment of the child: where it works.
const DIRECTORY: &str = "FS_SYS_TEST_DIRECTORY";
/// In the environment of the child: the call to end at.
const NTH: &str = "FS_SYS_TEST_NTH";

/// Held by each test that makes calls: the plan of one would meet the calls of the other.
static PLAN: Mutex<()> = Mutex::new(());

fn replace(directory: &Path) -> fs_sys::Result<()> {
    fs_sys::replace_file(&directory.join("file"), "beside".as_ref(), b"new", Mode(0o600))
}

/// Not a test of its own: what the child of the next one does.
#[test]
fn child() {
    let (Some(directory), Some(nth)) = (std::env::var_os(DIRECTORY), std::env::var_os(NTH)) else {
        return;
    };
    arm(nth.to_str().unwrap().parse().unwrap(), Fault::Abort, None);
    replace(Path::new(&directory)).unwrap();
}

#[test]
fn an_abort_at_any_call_leaves_the_old_file_or_the_new_one() {
    let _alone = PLAN.lock().unwrap();
    let mut ends = 0;
    for nth in 1.. {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "old").unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child"])
            .env(DIRECTORY, root.path())
            .env(NTH, nth.to_string())
            .output()
            .unwrap()
            .status;
        let found = fs::read(root.path().join("file")).unwrap();
        if status.success() {
            assert_eq!(found, b"new");
            break;
        }
        ends += 1;
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(6), "aborted");
        assert_eq!(found, b"old", "call {nth}");
        // What it left is no hindrance.
        replace(root.path()).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
    assert!(ends >= 5, "open, remove, create, write, sync, rename: only {ends} seen");
}

#[test]
fn a_failure_at_any_call_is_an_error_of_its_kind_and_leaves_nothing() {
    const ENOSPC: i32 = 28;
    let _alone = PLAN.lock().unwrap();
    for op in ["create", "write", "sync", "rename"] {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "old").unwrap();
        arm(1, Fault::Fail(ENOSPC), Some(op));
        let error = replace(root.path()).unwrap_err();
        assert_eq!((error.kind, error.op, calls()), (ErrorKind::NoSpace, op, 1));
        disarm();
        let names: Vec<_> =
            fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"], "{op}");
        assert_eq!(fs::read(root.path().join("file")).unwrap(), b"old");
        replace(root.path()).unwrap();
    }
    let root = tempfile::tempdir().unwrap();
    // The third call of that name: the first finds no parent, the second makes it.
    arm(3, Fault::Fail(ENOSPC), Some("make the directory"));
    fs_sys::make_dirs(&root.path().join("a/b"), Mode(0o755)).unwrap_err();
    disarm();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    arm(1, Fault::Fail(ENOSPC), Some("write"));
    fs_sys::write_new(&root.path().join("f"), b"bytes", Mode(0o600)).unwrap_err();
    disarm();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}
