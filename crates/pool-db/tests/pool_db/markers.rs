//! Markers: they hold what rows hold, tolerate what is later, and refuse what is damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use pool_db::marker::{self, Error};
use serde_json::{Value, json};

use crate::common::{odd_worktree, worktree};

#[test]
fn a_marker_comes_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    for (number, written) in [worktree("plain"), odd_worktree()].into_iter().enumerate() {
        let path = dir.path().join(number.to_string());
        marker::create(&path, &written).unwrap();
        assert_eq!(marker::read(&path).unwrap(), written);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }
}

#[test]
fn creating_never_overwrites_and_replacing_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(marker::FILE_NAME);
    let (first, second) = (worktree("first"), worktree("second"));
    marker::create(&path, &first).unwrap();
    let refused = marker::create(&path, &second).unwrap_err();
    assert!(
        matches!(&refused, Error::Files(error) if error.kind == fs_sys::ErrorKind::Exists),
        "{refused:?}"
    );
    assert_eq!(marker::read(&path).unwrap(), first);
    marker::replace(&path, &second).unwrap();
    assert_eq!(marker::read(&path).unwrap(), second);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_a_marker_says_is_readable_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(marker::FILE_NAME);
    let written = odd_worktree();
    marker::create(&path, &written).unwrap();
    let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["id"], written.id.as_str());
    assert_eq!(json["state"], "making");
    assert_eq!(json["source"], json!({"bytes": "L3P/Cg=="}));
    assert_eq!(json["trash_path"], "/t/\u{1F980}");
    assert_eq!(json["maker"]["pid"], u32::MAX);
    assert_eq!(json["repository"]["identity"]["birth"], Value::Null);
    assert_eq!(json["later"], json!({"a": [1, null]}));
    assert_eq!(json.get("rebuilt_at"), None);
}

/// A marker's JSON after `change`, read back.
fn read_changed(change: impl FnOnce(&mut Value)) -> Result<pool_db::Worktree, Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(marker::FILE_NAME);
    marker::create(&path, &worktree("name")).unwrap();
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut json);
    fs::write(&path, json.to_string()).unwrap();
    marker::read(&path)
}

#[test]
fn unknown_fields_are_kept_and_missing_options_are_none() {
    let read = read_changed(|json| {
        json["colour"] = json!("blue");
        for optional in ["passed_over", "base", "branch"] {
            json.as_object_mut().unwrap().remove(optional).unwrap();
        }
    })
    .unwrap();
    assert_eq!(read.extra["colour"], "blue");
    assert_eq!((read.base, read.branch, read.passed_over.len()), (None, None, 0));
}

#[test]
fn a_newer_marker_is_refused_by_its_version_alone() {
    let error = read_changed(|json| *json = json!({"version": 2, "id": {}})).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 2, .. }), "{error:?}");
}

#[test]
fn what_is_no_marker_is_damaged() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 7] = [
        ("no version", |json| drop(json.as_object_mut().unwrap().remove("version"))),
        ("no nonce", |json| drop(json.as_object_mut().unwrap().remove("nonce"))),
        ("an id that leads elsewhere", |json| json["id"] = json!("../../../../x")),
        ("an unknown state", |json| json["state"] = json!("asleep")),
        ("a relative path", |json| json["path"] = json!("trees/x")),
        ("no base64", |json| json["path"] = json!({"bytes": "?"})),
        ("another document", |json| *json = json!([])),
    ];
    for (what, change) in changes {
        let error = read_changed(change).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{what}: {error:?}");
    }
}

#[test]
fn an_empty_a_huge_and_a_linked_marker_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(marker::FILE_NAME);
    fs::write(&path, "").unwrap();
    assert!(matches!(marker::read(&path).unwrap_err(), Error::Damaged { .. }));

    fs::write(&path, vec![b' '; 300_000]).unwrap();
    assert!(matches!(marker::read(&path).unwrap_err(), Error::TooLarge { size: 300_000, .. }));

    fs::remove_file(&path).unwrap();
    let target = dir.path().join("target");
    marker::create(&target, &worktree("name")).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    assert!(matches!(marker::read(&path).unwrap_err(), Error::Files(_)));
}
