//! Every call of the kernel fails once, or is the last of its process: what was half made is gone, and what is removed can be removed again.
#![cfg(feature = "faults")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use backend::{Active, Backend, Btrfs, Error, Overlay, Parent, Sealed, Site};
use copy_engine::{Cancel, Progress};
use fs_sys::faults::{Fault, arm, calls, disarm};

#[path = "support/filesystems.rs"]
#[expect(dead_code, reason = "two file systems are enough here")]
mod filesystems;

use filesystems::{directory_on, is_root};

const EIO: i32 = 5;

/// Faults are the whole process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn names_in(room: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(room).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

fn mounted_in(room: &Path) -> usize {
    fs_sys::mounts().unwrap().iter().filter(|mounted| mounted.point.starts_with(room)).count()
}

/// Runs `act` with the first call failing, then the second, up to the one that is not made any more;
/// `check` follows each.
fn at_every_call<T>(act: impl Fn() -> Result<T, Error>, check: impl Fn(Result<T, Error>)) -> u64 {
    for nth in 1.. {
        arm(nth, Fault::Fail(EIO), None);
        let done = act();
        let made = calls();
        disarm();
        check(done);
        if made < nth {
            return made;
        }
    }
    unreachable!("the loop has no end of its own")
}

fn every_call_fails_once(backend: &dyn Backend, room: &Path, sealed: &Sealed) {
    let (progress, cancel) = (Progress::default(), Cancel::default());
    let private = room.join("private");
    let parent = Parent::Sealed { sealed, private: &private };
    let (dest, image) = (room.join("tree"), room.join("image"));
    let before = names_in(room);
    let probe = || {
        backend.probe(&Site { dest: room, sample: None });
        Ok(())
    };
    // A probe cannot say that its own removal failed; what it leaves is in the caller's scratch directory.
    at_every_call(probe, |_| {
        backend::clear_scratch(room).unwrap();
        assert_eq!((names_in(room), mounted_in(room)), (before.clone(), 0));
    });
    let prepare = || backend.prepare(&parent, &dest, &progress, &cancel).map(|made| made.active);
    let count = at_every_call(prepare, |made| {
        if let Ok(active) = made {
            backend.remove(&active).unwrap();
        }
        assert_eq!((names_in(room), mounted_in(room)), (before.clone(), 0));
    });
    assert!(count >= 3, "{count}");
    let active = prepare().unwrap();
    fs::write(active.path.join("new"), "new").unwrap();
    fs::remove_file(active.path.join("gone")).unwrap();
    let with_tree = names_in(room);
    let commit = || backend.commit(&active, &image, &progress, &cancel);
    at_every_call(commit, |made| {
        if made.is_err() {
            assert_eq!(names_in(room), with_tree, "commit left something");
        }
        backend.discard(&image).unwrap();
        assert_eq!(names_in(room), with_tree);
        assert!(active.path.join("new").exists());
    });
    at_every_call(
        || backend.attach(&active),
        |_| {
            backend.attach(&active).unwrap();
            assert_eq!(fs::read(active.path.join("new")).unwrap(), b"new");
        },
    );
    at_every_call(
        || backend.remove(&active),
        |_| {
            backend.remove(&active).unwrap();
            assert_eq!((names_in(room), mounted_in(room)), (before.clone(), 0));
            prepare().unwrap();
        },
    );
    backend.remove(&Active::planned(backend.kind(), &parent, &dest)).unwrap();
}

#[test]
fn nothing_stays_behind() {
    if !is_root("mounts") {
        return;
    }
    let _alone = alone();
    for variable in ["FWT_TEST_EXT4", "FWT_TEST_BTRFS", "FWT_TEST_TMPFS"] {
        let Some(room) = directory_on(variable) else { continue };
        let layer = room.path().join("layer");
        fs::create_dir(&layer).unwrap();
        fs::write(layer.join("gone"), "").unwrap();
        every_call_fails_once(&Overlay, room.path(), &Sealed { layers: vec![layer] });
    }
    let Some(room) = directory_on("FWT_TEST_BTRFS") else { return };
    let layer = room.path().join("layer");
    fs_sys::create_subvolume(&layer).unwrap();
    fs::write(layer.join("gone"), "").unwrap();
    every_call_fails_once(&Btrfs, room.path(), &Sealed { layers: vec![layer] });
}

const NTH: &str = "FWT_TEST_NTH";
const ROOM: &str = "FWT_TEST_ROOM";

/// Makes a tree and seals it in a process that ends at its `nth` call.
fn die_at(nth: u64, backend: &dyn Backend, room: &Path) {
    let sealed = Sealed { layers: vec![room.join("layer")] };
    let (progress, cancel) = (Progress::default(), Cancel::default());
    arm(nth, Fault::Abort, None);
    backend.probe(&Site { dest: room, sample: None });
    let parent = Parent::Sealed { sealed: &sealed, private: &room.join("private") };
    let made = backend.prepare(&parent, &room.join("tree"), &progress, &cancel).unwrap();
    backend.commit(&made.active, &room.join("image"), &progress, &cancel).unwrap();
    backend.remove(&made.active).unwrap();
}

fn a_kill_at_any_call_is_cleaned_up(name: &str, backend: &dyn Backend, variable: &str) {
    if let (Some(nth), Some(room)) = (std::env::var_os(NTH), std::env::var_os(ROOM)) {
        die_at(nth.to_str().unwrap().parse().unwrap(), backend, Path::new(&room));
        return;
    }
    if !is_root("mounts") {
        return;
    }
    let _alone = alone();
    let Some(room) = directory_on(variable) else { return };
    let (room, layer) = (room.path(), room.path().join("layer"));
    if backend.kind() == backend::Kind::Btrfs {
        fs_sys::create_subvolume(&layer).unwrap();
    } else {
        fs::create_dir(&layer).unwrap();
    }
    let sealed = Sealed { layers: vec![layer.clone()] };
    let parent = Parent::Sealed { sealed: &sealed, private: &room.join("private") };
    let planned = Active::planned(backend.kind(), &parent, &room.join("tree"));
    for nth in 1.. {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(NTH, nth.to_string())
            .env(ROOM, room)
            .output()
            .unwrap();
        backend::clear_scratch(room).unwrap();
        backend.remove(&planned).unwrap();
        backend.discard(&room.join("image")).unwrap();
        assert_eq!((names_in(room), mounted_in(room)), (vec![layer.clone()], 0), "after {nth}");
        if output.status.success() {
            assert!(nth > 10, "{nth}");
            return;
        }
    }
}

#[test]
fn a_killed_overlay_is_cleaned_up() {
    let name = "a_killed_overlay_is_cleaned_up";
    a_kill_at_any_call_is_cleaned_up(name, &Overlay, "FWT_TEST_EXT4");
}

#[test]
fn a_killed_snapshot_is_cleaned_up() {
    let name = "a_killed_snapshot_is_cleaned_up";
    a_kill_at_any_call_is_cleaned_up(name, &Btrfs, "FWT_TEST_BTRFS");
}
