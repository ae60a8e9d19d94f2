//! What only shows from inside: sync levels, lock waits, a full database.

use std::time::Duration;

use super::*;

fn registry() -> (tempfile::TempDir, Registry) {
    let home = tempfile::tempdir().unwrap();
    let registry = Registry::open(home.path()).unwrap();
    (home, registry)
}

fn synchronous(registry: &Registry) -> u32 {
    registry.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
}

#[test]
fn what_precedes_destruction_is_synced_in_full_and_only_that() {
    const NORMAL: u32 = 1;
    const FULL: u32 = 2;
    let (_home, registry) = registry();
    assert_eq!(synchronous(&registry), NORMAL);
    registry
        .with_full_sync(|| {
            assert_eq!(synchronous(&registry), FULL);
            Ok(())
        })
        .unwrap();
    assert_eq!(synchronous(&registry), NORMAL);
}

#[test]
fn a_lock_that_is_held_too_long_is_busy_and_readers_go_on() {
    let (home, registry) = registry();
    let other = Registry::open(home.path()).unwrap();
    other.connection.busy_timeout(Duration::from_millis(1)).unwrap();
    registry
        .immediately(|| {
            let error = other.touch_used(WorktreeId::random()?, 0).unwrap_err();
            assert!(matches!(error, Error::Busy { .. }), "{error:?}");
            assert_eq!(other.list_all()?, []);
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_insert_that_does_not_fit_is_full_and_leaves_what_is_there() {
    let (_home, registry) = registry();
    registry.connection.pragma_update(None, "max_page_count", 1).unwrap();
    let filled = registry.immediately(|| {
        registry
            .connection
            .execute_batch("CREATE TABLE filler AS SELECT zeroblob(100000)")
            .at(&registry.path)
    });
    assert!(matches!(filled.unwrap_err(), Error::Full { .. }));
    assert_eq!(registry.list_all().unwrap(), []);
}
