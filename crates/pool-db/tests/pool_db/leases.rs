//! Leases: they end by the clock that nobody sets, and only who presents one changes it.

use fs_sys::process::this_process;
use pool_db::{Error, Lease, LeaseId, Moment, Registry, State, Worktree};

use crate::common::{NOW, registry, worktree};

const TTL: i64 = 3600;

fn moment(wall: i64, boot: i64) -> Moment {
    Moment { wall: NOW + wall, boot: 1000 + boot, boot_id: "first".to_owned() }
}

fn lease() -> Lease {
    Lease {
        id: LeaseId::random().unwrap(),
        holder: "a\"gent'".to_owned(),
        process: Some(this_process()),
        acquired_at: NOW,
        touched_at: NOW,
        ttl_seconds: TTL,
        expires_at: NOW + TTL,
        released_at: None,
    }
}

/// A worktree that is held by a lease since `moment(0, 0)`.
fn held(registry: &Registry) -> (Worktree, Lease) {
    let (row, lease) = (worktree("held"), lease());
    registry.insert_leased(&row, &lease, &moment(0, 0)).unwrap();
    registry.transition(row.id, State::Making, State::Held, 0).unwrap();
    (row, lease)
}

#[test]
fn a_lease_comes_back_as_it_went_in() {
    let (home, registry) = registry();
    let (row, lease) = held(&registry);
    let other = worktree("other");
    registry.insert(&other).unwrap();
    let reopened = Registry::open(home.path()).unwrap();
    assert_eq!(reopened.lease(row.id).unwrap(), Some(lease.clone()));
    assert_eq!(reopened.lease(other.id).unwrap(), None);
    let current = reopened.current_leases(&moment(1, 1)).unwrap();
    assert_eq!(current.into_iter().collect::<Vec<_>>(), [(row.id, lease)]);
}

#[test]
fn the_wall_clock_counts_only_after_a_reboot() {
    let (_home, registry) = registry();
    let (row, _) = held(&registry);
    let is_current = |now: &Moment| registry.current_lease(row.id, now).unwrap().is_some();
    assert!(is_current(&moment(0, TTL - 1)));
    assert!(!is_current(&moment(0, TTL)));
    // Somebody sets the clock, in either direction.
    assert!(is_current(&moment(10 * TTL, TTL - 1)));
    assert!(!is_current(&moment(-10 * TTL, TTL)));
    let after_reboot = |wall| Moment { boot_id: "second".to_owned(), ..moment(wall, -900) };
    assert!(is_current(&after_reboot(TTL - 1)));
    assert!(!is_current(&after_reboot(TTL)));
    let unknown = |wall| Moment { boot_id: String::new(), ..moment(wall, 0) };
    assert!(is_current(&unknown(TTL - 1)));
    assert!(!is_current(&unknown(TTL)));
}

#[test]
fn a_touch_prolongs_and_needs_the_lease() {
    let (_home, registry) = registry();
    let (row, lease) = held(&registry);
    let touched = registry.touch(row.id, lease.id, &moment(TTL / 2, TTL / 2)).unwrap();
    assert_eq!((touched.touched_at, touched.expires_at), (NOW + TTL / 2, NOW + TTL / 2 + TTL));
    assert_eq!(registry.get(row.id).unwrap().unwrap().last_used_at, NOW + TTL / 2);
    assert!(registry.current_lease(row.id, &moment(0, TTL + 1)).unwrap().is_some());
    let stale = registry.touch(row.id, LeaseId::random().unwrap(), &moment(1, 1));
    assert!(matches!(stale.unwrap_err(), Error::StaleLease { id } if id == row.id));
    assert_eq!(registry.lease(row.id).unwrap(), Some(touched));
    let other = worktree("other");
    let none = registry.touch(other.id, lease.id, &moment(1, 1)).unwrap_err();
    assert!(matches!(none, Error::NoSuchWorktree { .. }), "{none:?}");
    registry.insert(&Worktree { state: State::Held, ..other.clone() }).unwrap();
    let none = registry.touch(other.id, lease.id, &moment(1, 1)).unwrap_err();
    assert!(matches!(none, Error::StaleLease { .. }), "{none:?}");
}

#[test]
fn one_that_has_expired_is_renewed_as_long_as_nobody_missed_it() {
    let (_home, registry) = registry();
    let (row, lease) = held(&registry);
    let late = moment(5 * TTL, 5 * TTL);
    assert!(registry.current_lease(row.id, &late).unwrap().is_none());
    registry.touch(row.id, lease.id, &late).unwrap();
    assert!(registry.current_lease(row.id, &late).unwrap().is_some());
}

#[test]
fn what_is_leased_is_not_condemned_and_a_touch_takes_it_back() {
    let (_home, registry) = registry();
    let (row, lease) = held(&registry);
    let by = this_process();
    let leased = registry.condemn(row.id, 1, &by, &moment(1, 1)).unwrap_err();
    assert!(matches!(leased, Error::Leased { .. }), "{leased:?}");
    let late = moment(TTL, TTL);
    let epoch = registry.condemn(row.id, 1, &by, &late).unwrap();
    registry.touch(row.id, lease.id, &late).unwrap();
    assert_eq!(registry.get(row.id).unwrap().unwrap().state, State::Held);
    let moved = registry.transition(row.id, State::Condemned, State::Removing, epoch).unwrap_err();
    assert!(matches!(moved, Error::Moved { found: State::Held, .. }), "{moved:?}");
}

#[test]
fn a_touch_that_comes_too_late_says_so() {
    let (_home, registry) = registry();
    let (row, lease) = held(&registry);
    let late = moment(TTL, TTL);
    let epoch = registry.condemn(row.id, 1, &this_process(), &late).unwrap();
    registry.transition(row.id, State::Condemned, State::Removing, epoch).unwrap();
    let moved = registry.touch(row.id, lease.id, &late).unwrap_err();
    assert!(matches!(moved, Error::Moved { found: State::Removing, .. }), "{moved:?}");
}

#[test]
fn a_lease_is_given_back_once_and_for_all() {
    let (_home, registry) = registry();
    let (row, lease) = held(&registry);
    let wrong = registry.release(row.id, LeaseId::random().unwrap(), NOW).unwrap_err();
    assert!(matches!(wrong, Error::StaleLease { .. }), "{wrong:?}");
    registry.release(row.id, lease.id, NOW + 5).unwrap();
    registry.release(row.id, lease.id, NOW + 9).unwrap();
    assert_eq!(registry.lease(row.id).unwrap().unwrap().released_at, Some(NOW + 5));
    let stale = registry.touch(row.id, lease.id, &moment(1, 1)).unwrap_err();
    assert!(matches!(stale, Error::StaleLease { .. }), "{stale:?}");
    registry.condemn(row.id, 1, &this_process(), &moment(1, 1)).unwrap();
}
