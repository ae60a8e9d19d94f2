//! Many connections at once: each name, each claim and each first open has one winner.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pool_db::{Error, Registry, State, Worktree};

use crate::common::{NOW, registry, worktree};

#[test]
fn of_many_first_opens_at_once_all_succeed_and_each_name_is_won_once() {
    const CONNECTIONS: usize = 32;
    const NAMES: usize = 8;
    let home = tempfile::tempdir().unwrap();
    let (start, won) = (Barrier::new(CONNECTIONS), AtomicUsize::new(0));
    let claim_all = || {
        start.wait();
        let registry = Registry::open(home.path()).unwrap();
        for number in 0..NAMES {
            match registry.insert(&worktree(&number.to_string())) {
                Ok(()) => drop(won.fetch_add(1, Ordering::Relaxed)),
                Err(error) => assert!(matches!(error, Error::NameTaken(_)), "{error:?}"),
            }
        }
    };
    thread::scope(|scope| (0..CONNECTIONS).for_each(|_| drop(scope.spawn(claim_all))));
    assert_eq!(won.load(Ordering::Relaxed), NAMES);
    assert_eq!(Registry::open(home.path()).unwrap().list_all().unwrap().len(), NAMES);
}

#[test]
fn of_eight_claims_of_one_ready_tree_one_wins() {
    let (home, registry) = registry();
    for round in 0..20 {
        let row = Worktree { state: State::Ready, ..worktree(&round.to_string()) };
        registry.insert(&row).unwrap();
        let (start, won) = (Barrier::new(8), AtomicUsize::new(0));
        let claim = || {
            let registry = Registry::open(home.path()).unwrap();
            start.wait();
            match registry.transition(row.id, State::Ready, State::Held, 0) {
                Ok(_) => drop(won.fetch_add(1, Ordering::Relaxed)),
                Err(error) => {
                    let is_late =
                        matches!(error, Error::Moved { found: State::Held, epoch: 1, .. });
                    assert!(is_late, "{error:?}");
                }
            }
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(claim))));
        assert_eq!(won.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn writers_readers_and_a_rebuild_do_not_disturb_each_other() {
    const WRITERS: usize = 8;
    const ROWS: usize = 25;
    let (home, registry) = registry();
    let markers: Vec<_> = (0..WRITERS * ROWS).map(|n| worktree(&n.to_string())).collect();
    thread::scope(|scope| {
        for rows in markers.chunks(ROWS) {
            let home = home.path();
            scope.spawn(move || {
                let registry = Registry::open(home).unwrap();
                for row in rows {
                    match registry.insert(row) {
                        Ok(()) => drop(registry.touch_used(row.id, NOW + 1).unwrap()),
                        // The rebuild put it there before.
                        Err(Error::NameTaken(holder)) => assert_eq!(holder.id, row.id),
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
        let restored = pool_db::rebuild(home.path(), &markers, NOW).unwrap().1;
        assert_eq!(restored.damaged, None);
        assert_eq!(restored.conflicts, []);
        assert_eq!(restored.inserted.len() + restored.present.len(), markers.len());
        let mut seen = 0;
        while seen < markers.len() {
            let rows = registry.list_all().unwrap();
            assert!(rows.len() >= seen, "a committed row vanished");
            seen = rows.len();
        }
    });
    assert_eq!(registry.list_all().unwrap().len(), markers.len());
}

#[test]
fn of_eight_rebuilds_of_one_damaged_registry_one_moves_it_aside() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("fwt.db"), "no database".repeat(100)).unwrap();
    let markers: Vec<_> = (0..8).map(|number| worktree(&number.to_string())).collect();
    let (start, moved) = (Barrier::new(8), AtomicUsize::new(0));
    let rebuild = || {
        start.wait();
        let (registry, restored) = pool_db::rebuild(home.path(), &markers, NOW).unwrap();
        moved.fetch_add(restored.damaged.iter().count(), Ordering::Relaxed);
        assert_eq!(registry.list_all().unwrap().len(), markers.len());
    };
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(rebuild))));
    assert_eq!(moved.load(Ordering::Relaxed), 1);
    assert_eq!(Registry::open(home.path()).unwrap().list_all().unwrap().len(), markers.len());
}
