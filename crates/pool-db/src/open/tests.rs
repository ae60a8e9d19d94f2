//! The journal by file system, and databases that cannot be written.

use tempfile::TempDir;

use super::*;

fn made() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    Registry::open(home.path()).unwrap();
    let path = home.path().join(FILE_NAME);
    (home, path)
}

/// As SQLite does when somebody else's program is the last to close a database.
fn move_log_into(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[test]
fn the_log_outlives_its_connections_and_is_read_by_the_next() {
    let (home, path) = made();
    assert!(has_log(&path).unwrap());
    let registry = Registry::open_existing(home.path()).unwrap().unwrap();
    assert_eq!(registry.version().unwrap(), schema::KNOWN);
}

/// What [`connect`] gets on a read-only mount, where SQLite falls back by itself.
fn connect_read_only(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

#[test]
fn the_journal_follows_the_file_system() {
    for (file_system, expected) in [
        (FileSystem::Ext, Journal::Wal),
        (FileSystem::Tmpfs, Journal::Wal),
        (FileSystem::Overlay, Journal::Wal),
        (FileSystem::Network, Journal::Rollback),
        (FileSystem::Fuse, Journal::Rollback),
    ] {
        assert_eq!(Journal::for_file_system(file_system), expected, "{file_system:?}");
    }
}

#[test]
fn a_database_changes_its_journal_when_its_home_moves_to_another_file_system() {
    let (_home, path) = made();
    let connection = connect(&path).unwrap();
    for (journal, name, synchronous) in [(Journal::Rollback, "delete", 2), (Journal::Wal, "wal", 1)]
    {
        assert_eq!(journal.set(&connection).unwrap(), journal);
        journal.set_synchronous(&connection).unwrap();
        let mode: String =
            connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        let level: u32 =
            connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!((mode.as_str(), level), (name, synchronous));
    }
}

#[test]
fn an_unwritable_database_is_read_and_refuses_writes() {
    let (_home, path) = made();
    let registry = read_only(connect_read_only(&path), path.clone()).unwrap();
    assert_eq!(registry.list_all().unwrap(), []);
    let id = crate::WorktreeId::random().unwrap();
    let refused = registry.touch_used(id, 0).unwrap_err();
    assert!(matches!(&refused, Error::ReadOnly { path: named } if *named == path), "{refused:?}");
}

#[test]
fn an_immutable_database_is_read_whatever_bytes_are_in_its_path() {
    use std::ffi::OsStr;

    let home = tempfile::tempdir().unwrap();
    let odd = home.path().join(OsStr::from_bytes(b"a?b=c#d%20e \xff"));
    Registry::open(&odd).unwrap();
    move_log_into(&odd.join(FILE_NAME));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = immutable_uri(&odd.join(FILE_NAME));
    let connection = Connection::open_with_flags(uri, flags).unwrap();
    assert_eq!(schema::version(&connection).unwrap(), schema::KNOWN);
}

#[test]
fn an_unwritable_old_database_is_refused_and_an_empty_one_is_empty() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(FILE_NAME);
    ensure_file(&path).unwrap();
    assert!(read_only(connect_read_only(&path), path).is_ok());
    assert!(Registry::open_existing(home.path()).unwrap().is_none());
}

/// SQLite's busy timeout does not cover it, so another's transaction must be waited for here.
#[test]
fn the_journal_change_waits_for_a_reader() {
    for (before, after) in [(Journal::Rollback, Journal::Wal), (Journal::Wal, Journal::Rollback)] {
        let (_home, path) = made();
        let reader = connect(&path).unwrap();
        assert_eq!(before.set(&reader).unwrap(), before);
        reader.execute_batch("BEGIN; SELECT * FROM worktrees").unwrap();
        std::thread::scope(|scope| {
            let changed = scope.spawn(|| after.set(&connect(&path).unwrap()).unwrap());
            std::thread::sleep(JOURNAL_WAIT * 5);
            assert!(!changed.is_finished(), "{after:?}");
            reader.execute_batch("COMMIT").unwrap();
            drop(reader);
            assert_eq!(changed.join().unwrap(), after);
        });
    }
}
