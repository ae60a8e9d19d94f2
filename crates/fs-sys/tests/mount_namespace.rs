//! Whether the mounts of this process are its own.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "a test starts itself again")]

use fs_sys::{MountNamespace, mount_namespace};

#[test]
fn a_process_that_unshared_its_mounts_is_told_so() {
    let ours = mount_namespace();
    assert_ne!(ours, MountNamespace::Unknown, "both tables may be read");
    if fs_sys::process::effective_user() != 0 {
        return;
    }
    if std::env::var_os("FWT_TEST_UNSHARED").is_some() {
        assert_eq!(ours, MountNamespace::Private);
        return;
    }
    let name = "a_process_that_unshared_its_mounts_is_told_so";
    let output = std::process::Command::new("unshare")
        .arg("--mount")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env("FWT_TEST_UNSHARED", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
