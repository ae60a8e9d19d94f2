//! A home on a read-only mount, as inside a sandbox. Where no mount namespace can be made this is said,
//! and nothing is checked.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use pool_db::{Error, Registry};

use crate::common::{NOW, registry, worktree};

const HOME: &str = "POOL_DB_TEST_READ_ONLY_HOME";

/// Runs [`child`] where `home` is read-only.
#[expect(clippy::print_stderr, reason = "a skipped test says what it lacks")]
fn check(home: &Path, expected: &str) {
    let namespace = ["--mount", "--map-root-user", "true"];
    if !Command::new("unshare").args(namespace).output().is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: no mount namespace can be made here");
        return;
    }
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && exec \"$2\" \
                  --exact read_only::child --nocapture";
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(home)
        .arg(env::current_exe().unwrap())
        .env(HOME, home)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains(&format!("found {expected}\n")), "{said}");
}

#[test]
fn child() {
    let Some(home) = env::var_os(HOME) else { return };
    let home = Path::new(&home);
    let error = Registry::open(home).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    match Registry::open_existing(home) {
        Ok(None) => println!("found nothing"),
        Ok(Some(registry)) => {
            let rows = registry.list_all().unwrap();
            println!("found {}", rows.len());
            let error = registry.insert(&worktree("x")).unwrap_err();
            assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
        }
        Err(error) => {
            assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
            println!("found a log without its memory");
        }
    }
    let error = pool_db::rebuild(home, &[], NOW).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
}

#[test]
fn an_empty_home_holds_nothing() {
    check(tempfile::tempdir().unwrap().path(), "nothing");
}

#[test]
fn a_database_that_nobody_has_open_is_read() {
    let (home, registry) = registry();
    registry.insert(&worktree("name")).unwrap();
    drop(registry);
    check(home.path(), "1");
}

#[test]
fn a_database_that_somebody_outside_has_open_is_read_with_its_log() {
    let (home, registry) = registry();
    registry.insert(&worktree("name")).unwrap();
    assert_ne!(fs::metadata(home.path().join("fwt.db-wal")).unwrap().len(), 0);
    check(home.path(), "1");
}

#[test]
fn a_log_that_cannot_be_read_is_not_passed_over() {
    let (home, registry) = registry();
    registry.insert(&worktree("name")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    for name in ["fwt.db", "fwt.db-wal"] {
        fs::copy(home.path().join(name), copy.path().join(name)).unwrap();
    }
    check(copy.path(), "a log without its memory");
}
