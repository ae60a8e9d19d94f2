//! Databases that are missing, newer, damaged or lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use pool_db::{Conflict, Error, REBUILT_LEASE_SECONDS, Registry, Restored, State, Worktree};
use rusqlite::Connection;

use crate::common::{NOW, odd_worktree, registry, worktree};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn home_and_database_are_private_and_made_only_by_open() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("a/home");
    assert!(Registry::open_existing(&home).unwrap().is_none());
    assert_eq!(names(dir.path()), [""; 0]);

    let registry = Registry::open(&home).unwrap();
    registry.insert(&worktree("name")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&home), 0o700);
    for name in names(&home) {
        assert_eq!(mode(&home.join(&name)), 0o600, "{name}");
    }
    let reader = Registry::open_existing(&home).unwrap().unwrap();
    assert_eq!(reader.list_all().unwrap().len(), 1);
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_is() {
    let (home, registry) = registry();
    registry.insert(&worktree("name")).unwrap();
    let path = registry.path().to_owned();
    drop(registry);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    let refusals = [
        Registry::open(home.path()).unwrap_err(),
        Registry::open_existing(home.path()).unwrap_err(),
        pool_db::rebuild(home.path(), &[], NOW).unwrap_err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Error::Newer { found: 99, known: 3, .. }), "{refusal:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_database_is_named_kept_and_rebuilt() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("fwt.db");
    let garbage = b"this is no database".repeat(500);
    let markers = [worktree("plain"), odd_worktree()];
    for number in 1..=2 {
        // With its log it would still be whole.
        for suffix in ["fwt.db-wal", "fwt.db-shm"] {
            drop(fs::remove_file(home.path().join(suffix)));
        }
        fs::write(&path, &garbage).unwrap();
        for error in [
            Registry::open(home.path()).unwrap_err(),
            Registry::open_existing(home.path()).unwrap_err(),
        ] {
            assert!(matches!(&error, Error::Corrupt { path: named, .. } if *named == path));
            assert!(error.hint().unwrap().contains("rebuilt"));
        }
        assert_eq!(fs::read(&path).unwrap(), garbage);

        let (registry, restored) = pool_db::rebuild(home.path(), &markers, NOW).unwrap();
        let kept = home.path().join(format!("fwt.db.damaged-{number}"));
        assert_eq!(fs::read(&kept).unwrap(), garbage);
        let inserted = markers.iter().map(|marker| marker.id).collect();
        let expected = Restored { damaged: Some(kept), inserted, ..Restored::default() };
        assert_eq!(restored, expected);
        assert_eq!(registry.list_all().unwrap().len(), 2);
    }
}

#[test]
fn damage_deep_inside_is_found_by_a_rebuild() {
    let (home, registry) = registry();
    let markers: Vec<_> = (0..200).map(|number| worktree(&number.to_string())).collect();
    for marker in &markers {
        registry.insert(marker).unwrap();
    }
    let path = registry.path().to_owned();
    drop(registry);
    // Into the file, where the damage is to be.
    let connection = Connection::open(&path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xA5);
    fs::write(&path, &bytes).unwrap();

    let registry = Registry::open(home.path()).unwrap();
    let error = registry.list_all().unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    drop(registry);

    let (registry, restored) = pool_db::rebuild(home.path(), &markers, NOW).unwrap();
    assert_eq!(fs::read(restored.damaged.unwrap()).unwrap(), bytes);
    assert_eq!(restored.inserted.len(), markers.len());
    assert_eq!(registry.list_all().unwrap().len(), markers.len());
}

#[test]
fn a_value_that_nobody_here_wrote_is_damage() {
    let (home, registry) = registry();
    let row = worktree("name");
    registry.insert(&row).unwrap();
    let raw = Connection::open(registry.path()).unwrap();
    raw.execute("UPDATE worktrees SET state = 'asleep'", []).unwrap();
    let error = registry.get(row.id).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    drop((registry, raw));
    let restored = pool_db::rebuild(home.path(), std::slice::from_ref(&row), NOW).unwrap().1;
    assert!(restored.damaged.is_some());
    assert_eq!(restored.inserted, [row.id]);
}

#[test]
fn a_rebuilt_row_is_its_marker_held_and_leased_for_a_week() {
    let home = tempfile::tempdir().unwrap();
    for marker in [worktree("plain"), odd_worktree()] {
        let (registry, _) =
            pool_db::rebuild(home.path(), std::slice::from_ref(&marker), NOW).unwrap();
        let row = registry.get(marker.id).unwrap().unwrap();
        assert_eq!(row.leased_by_unknown_until(), Some(NOW + REBUILT_LEASE_SECONDS));
        let expected = Worktree { state: State::Held, epoch: 1, rebuilt_at: Some(NOW), ..marker };
        assert_eq!(row, expected);
    }
}

#[test]
fn a_rebuild_of_a_sound_database_adds_only_what_is_missing() {
    let (home, registry) = registry();
    let present = worktree("present");
    registry.insert(&present).unwrap();
    registry.transition(present.id, State::Making, State::Ready, 0).unwrap();
    let row = registry.get(present.id).unwrap().unwrap();

    let missing = worktree("missing");
    let same_name = Worktree { path: "/other".into(), ..worktree("present") };
    let same_path = Worktree { path: present.path.clone(), ..worktree("other") };
    let forged = Worktree { nonce: missing.nonce, ..present.clone() };
    let twin = Worktree { path: "/twin".into(), ..worktree("missing") };
    let markers = [&present, &missing, &same_name, &same_path, &forged, &twin].map(Clone::clone);

    let (registry, restored) = pool_db::rebuild(home.path(), &markers, NOW).unwrap();
    assert_eq!(restored.damaged, None);
    assert_eq!(restored.inserted, [missing.id]);
    assert_eq!(restored.present, [present.id]);
    let conflicts: Vec<_> =
        restored.conflicts.iter().map(|Conflict { id, holder }| (*id, holder.id)).collect();
    let expected = [
        (same_name.id, present.id),
        (same_path.id, present.id),
        (forged.id, present.id),
        (twin.id, missing.id),
    ];
    assert_eq!(conflicts, expected);
    assert_eq!(registry.get(present.id).unwrap(), Some(row));
    assert_eq!(registry.list_all().unwrap().len(), 2);
}
