//! Rows: what goes in comes out, names and paths are unique, and each move is a compare-and-set.

use std::path::Path;

use pool_db::{Error, Registry, RepositoryIdentity, State, Worktree};

use crate::common::{NOW, REPOSITORY, odd_worktree, registry, worktree};

/// Inserts a worktree that is in `state`.
fn insert_in(registry: &Registry, state: State) -> Worktree {
    let worktree = Worktree { state, ..worktree(state.as_str()) };
    registry.insert(&worktree).unwrap();
    worktree
}

#[test]
fn a_row_comes_back_as_it_went_in() {
    let (home, registry) = registry();
    let rows = [worktree("plain"), odd_worktree()];
    for row in &rows {
        registry.insert(row).unwrap();
    }
    let reopened = Registry::open(home.path()).unwrap();
    for row in &rows {
        assert_eq!(registry.get(row.id).unwrap().as_ref(), Some(row));
        assert_eq!(reopened.get(row.id).unwrap().as_ref(), Some(row));
        let identity = row.repository.identity;
        assert_eq!(reopened.find_by_name(&identity, &row.name).unwrap().as_ref(), Some(row));
        assert_eq!(reopened.find_by_path_containing(&row.path).unwrap().as_ref(), Some(row));
    }
}

#[test]
fn every_move_of_the_table_is_made_and_no_other() {
    let allowed = [
        (State::Making, State::Held),
        (State::Making, State::Ready),
        (State::Making, State::Removing),
        (State::Ready, State::Held),
        (State::Ready, State::Removing),
        (State::Held, State::Condemned),
        (State::Condemned, State::Held),
        (State::Condemned, State::Removing),
    ];
    for &from in State::ALL {
        for &to in State::ALL {
            let (_home, registry) = registry();
            let row = insert_in(&registry, from);
            let moved = registry.transition(row.id, from, to, 0);
            let after = registry.get(row.id).unwrap().unwrap();
            if allowed.contains(&(from, to)) {
                assert_eq!(moved.unwrap(), 1, "{from} to {to}");
                assert_eq!((after.state, after.epoch), (to, 1));
            } else {
                let error = moved.unwrap_err();
                assert!(matches!(error, Error::NotAllowed { .. }), "{from} to {to}: {error:?}");
                assert_eq!(after, row);
            }
        }
    }
}

#[test]
fn who_comes_second_is_told_where_the_worktree_is() {
    let (_home, registry) = registry();
    let row = insert_in(&registry, State::Ready);
    registry.transition(row.id, State::Ready, State::Held, 0).unwrap();

    let second = registry.transition(row.id, State::Ready, State::Held, 0).unwrap_err();
    assert!(matches!(second, Error::Moved { found: State::Held, epoch: 1, .. }), "{second:?}");

    // The same state in a later epoch is not the state that was judged.
    registry.transition(row.id, State::Held, State::Condemned, 1).unwrap();
    registry.transition(row.id, State::Condemned, State::Held, 2).unwrap();
    let stale = registry.transition(row.id, State::Held, State::Condemned, 1).unwrap_err();
    assert!(matches!(stale, Error::Moved { found: State::Held, epoch: 3, .. }), "{stale:?}");

    let unknown = worktree("unknown").id;
    let absent = registry.transition(unknown, State::Ready, State::Held, 0).unwrap_err();
    assert!(matches!(absent, Error::NoSuchWorktree { id } if id == unknown), "{absent:?}");
}

#[test]
fn a_name_is_taken_in_its_repository_only() {
    let (_home, registry) = registry();
    let first = worktree("same");
    registry.insert(&first).unwrap();

    let mut second = Worktree { path: "/elsewhere".into(), ..worktree("same") };
    let error = registry.insert(&second).unwrap_err();
    let Error::NameTaken(holder) = error else { panic!("{error:?}") };
    assert_eq!((holder.id, holder.path), (first.id, first.path.clone()));
    assert_eq!((holder.name.as_str(), holder.state), ("same", State::Making));

    second.repository.identity.uid += 1;
    registry.insert(&second).unwrap();
    assert_eq!(registry.find_by_name_anywhere("same").unwrap().len(), 2);
    assert_eq!(registry.list(&REPOSITORY).unwrap(), [first]);
    assert_eq!(registry.list(&second.repository.identity).unwrap(), [second]);
}

#[test]
fn a_path_is_taken_in_every_repository() {
    let (_home, registry) = registry();
    let first = worktree("first");
    registry.insert(&first).unwrap();
    let mut second = Worktree { path: first.path.clone(), ..worktree("second") };
    second.repository.identity = RepositoryIdentity { ino: 1, birth: None, uid: 0 };
    let error = registry.insert(&second).unwrap_err();
    assert!(matches!(&error, Error::PathTaken(holder) if holder.id == first.id), "{error:?}");

    second.path = "/free".into();
    registry.insert(&second).unwrap();
    let error = registry.update(&Worktree { path: first.path, ..second.clone() }).unwrap_err();
    assert!(matches!(&error, Error::PathTaken(holder) if holder.id == first.id), "{error:?}");
    assert_eq!(registry.get(second.id).unwrap(), Some(second));
}

#[test]
fn what_is_being_removed_has_lost_its_name_and_path_and_keeps_its_row() {
    let (_home, registry) = registry();
    let old = worktree("same");
    registry.insert(&old).unwrap();
    let epoch = registry.transition(old.id, State::Making, State::Removing, 0).unwrap();
    assert_eq!(registry.find_by_name(&REPOSITORY, "same").unwrap(), None);
    assert_eq!(registry.find_by_path_containing(&old.path).unwrap(), None);

    let new = worktree("same");
    registry.insert(&new).unwrap();
    assert_eq!(registry.find_by_name(&REPOSITORY, "same").unwrap(), Some(new.clone()));
    assert_eq!(registry.find_by_path_containing(&old.path).unwrap(), Some(new.clone()));
    assert_eq!(registry.list_all().unwrap().len(), 2);

    // Its row can still be written, and goes without touching its successor's.
    let trashed = Worktree {
        state: State::Removing,
        epoch,
        trash_path: Some("/trash/1".into()),
        ..old.clone()
    };
    registry.update(&trashed).unwrap();
    assert_eq!(registry.get(old.id).unwrap(), Some(trashed));
    registry.delete(old.id, epoch).unwrap();
    assert_eq!(registry.list_all().unwrap(), [new]);
}

#[test]
fn only_a_row_in_removal_is_deleted() {
    for &state in State::ALL {
        let (_home, registry) = registry();
        let row = insert_in(&registry, state);
        let stale = registry.delete(row.id, 1).unwrap_err();
        assert!(matches!(stale, Error::Moved { epoch: 0, .. }), "{stale:?}");
        let deleted = registry.delete(row.id, 0);
        assert_eq!(deleted.is_ok(), state == State::Removing, "{state}");
        assert_eq!(registry.get(row.id).unwrap().is_none(), state == State::Removing, "{state}");
    }
}

#[test]
fn an_update_writes_what_became_known_and_leaves_what_only_moves_change() {
    let (_home, registry) = registry();
    let row = worktree("name");
    registry.insert(&row).unwrap();
    registry.touch_used(row.id, NOW + 5).unwrap();
    let known = Worktree { id: row.id, nonce: row.nonce, ..odd_worktree() };
    registry.update(&known).unwrap();

    let mut expected = Worktree { name: row.name, last_used_at: NOW + 5, ..known.clone() };
    expected.repository.identity = REPOSITORY;
    expected.created_at = NOW;
    assert_eq!(registry.get(row.id).unwrap(), Some(expected));

    for stale in [
        Worktree { epoch: 1, ..known.clone() },
        Worktree { state: State::Held, ..known.clone() },
        Worktree { nonce: worktree("x").nonce, ..known },
    ] {
        let error = registry.update(&stale).unwrap_err();
        assert!(matches!(error, Error::Moved { .. }), "{error:?}");
    }
}

#[test]
fn a_use_never_goes_back_in_time_and_rescues_the_condemned() {
    let (_home, registry) = registry();
    let row = insert_in(&registry, State::Held);
    assert_eq!(registry.touch_used(row.id, NOW + 9).unwrap(), State::Held);
    assert_eq!(registry.touch_used(row.id, NOW + 3).unwrap(), State::Held);
    let used = registry.get(row.id).unwrap().unwrap();
    assert_eq!((used.last_used_at, used.epoch), (NOW + 9, 0));

    let epoch = registry.transition(row.id, State::Held, State::Condemned, 0).unwrap();
    assert_eq!(registry.touch_used(row.id, NOW + 10).unwrap(), State::Held);
    let late = registry.transition(row.id, State::Condemned, State::Removing, epoch).unwrap_err();
    assert!(matches!(late, Error::Moved { found: State::Held, epoch: 2, .. }), "{late:?}");

    let epoch = registry.transition(row.id, State::Held, State::Condemned, 2).unwrap();
    registry.transition(row.id, State::Condemned, State::Removing, epoch).unwrap();
    let dead = registry.touch_used(row.id, NOW + 11).unwrap_err();
    assert!(matches!(dead, Error::Moved { found: State::Removing, .. }), "{dead:?}");
}

#[test]
fn a_path_belongs_to_the_innermost_worktree_around_it() {
    let (_home, registry) = registry();
    let outer = Worktree { path: "/t/a".into(), ..worktree("outer") };
    let inner = Worktree { path: "/t/a/b/c".into(), ..worktree("inner") };
    registry.insert(&outer).unwrap();
    registry.insert(&inner).unwrap();
    for (path, expected) in [
        ("/t/a", Some("outer")),
        ("/t/a/b", Some("outer")),
        ("/t/a/b/cc", Some("outer")),
        ("/t/a/b/c", Some("inner")),
        ("/t/a/b/c/d/e", Some("inner")),
        ("/t/ab", None),
        ("/t", None),
        ("/", None),
    ] {
        let found = registry.find_by_path_containing(Path::new(path)).unwrap();
        assert_eq!(found.as_ref().map(|row| row.name.as_str()), expected, "{path}");
    }
}

#[test]
fn lists_are_sorted_by_age() {
    let (_home, registry) = registry();
    for (name, age) in [("young", 0), ("old", 100), ("middle", 50)] {
        registry.insert(&Worktree { created_at: NOW - age, ..worktree(name) }).unwrap();
    }
    let names = |rows: Vec<Worktree>| rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names(registry.list(&REPOSITORY).unwrap()), ["old", "middle", "young"]);
    assert_eq!(names(registry.list_all().unwrap()), ["old", "middle", "young"]);
}
