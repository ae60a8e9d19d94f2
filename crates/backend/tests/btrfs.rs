//! Snapshot trees, as root and as a plain user.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use backend::{Active, Backend as _, Btrfs, Copy, Error, Parent, Reflink, Sealed, Site, Support};
use copy_engine::{Cancel, Progress};
use fs_sys::{Access, ErrorKind};

#[path = "support/filesystems.rs"]
#[expect(dead_code, reason = "one file system is enough here")]
mod filesystems;
#[path = "support/plain_user.rs"]
mod plain_user;
#[path = "support/snapshot.rs"]
mod snapshot;

use filesystems::directory_on;
use plain_user::as_plain_user;
use snapshot::snapshot;

fn fill(tree: &Path) {
    fs::create_dir_all(tree.join("d/e")).unwrap();
    for name in ["a,b", "c:d", "e\\f", "g\nh", &"n".repeat(255)] {
        fs::write(tree.join("d").join(name), name).unwrap();
    }
    fs::write(tree.join("run"), "run").unwrap();
    fs::set_permissions(tree.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(tree.join("run"), tree.join("d/e/linked")).unwrap();
    symlink("run", tree.join("link")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(tree.join("run"), "user.k", b"v", flags).unwrap();
}

fn sealed_in(room: &Path) -> Sealed {
    let layer = room.join("sealed");
    fs_sys::create_subvolume(&layer).unwrap();
    fill(&layer);
    let dir = fs_sys::open_dir(&layer).unwrap();
    fs_sys::set_subvolume_access(&dir, Access::ReadOnly).unwrap();
    Sealed { layers: vec![layer] }
}

fn prepare(sealed: &Sealed, dest: &Path) -> Result<Active, Error> {
    let parent = Parent::Sealed { sealed, private: Path::new("/nonexistent") };
    let prepared = Btrfs.prepare(&parent, dest, &Progress::default(), &Cancel::default());
    prepared.map(|prepared| prepared.active)
}

fn commit(active: &Active, dest: &Path) -> Result<Sealed, Error> {
    Btrfs.commit(active, dest, &Progress::default(), &Cancel::default())
}

fn names_in(room: &Path) -> Vec<String> {
    let names = fs::read_dir(room).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn life() {
    let Some(room) = directory_on("FWT_TEST_BTRFS") else { return };
    let room = room.path();
    let support = Btrfs.probe(&Site { dest: room, sample: None });
    assert_eq!(support, Support::Yes);
    assert_eq!(names_in(room), Vec::<String>::new());
    let sealed = sealed_in(room);
    let wanted = snapshot(&sealed.layers[0]);
    let active = prepare(&sealed, &room.join("tree")).unwrap();
    assert_eq!(snapshot(&active.path), wanted);
    let again = prepare(&sealed, &active.path).unwrap_err();
    assert!(matches!(again, Error::Fs(error) if error.kind == ErrorKind::Exists));
    fs::write(active.path.join("run"), "changed").unwrap();
    fs::rename(active.path.join("d"), active.path.join("renamed")).unwrap();
    fs::write(active.path.join(".git"), "gitdir: /of/this/tree").unwrap();
    assert_eq!(snapshot(&sealed.layers[0]), wanted);
    Btrfs.attach(&active).unwrap();
    assert_eq!(Btrfs.changed(&active).unwrap(), None);
    let mut worked = snapshot(&active.path);
    worked.remove(Path::new(".git"));
    let committed = commit(&active, &room.join("second")).unwrap();
    let dir = fs_sys::open_dir(&committed.layers[0]).unwrap();
    assert_eq!(fs_sys::subvolume_access(&dir).unwrap(), Access::ReadOnly);
    drop(dir);
    fs::write(active.path.join("run"), "later").unwrap();
    let child = prepare(&committed, &room.join("child")).unwrap();
    assert_eq!(snapshot(&child.path), worked);
    assert!(commit(&active, &room.join("second")).is_err());
    for active in [&child, &active, &child] {
        Btrfs.remove(active).unwrap();
    }
    assert_eq!(names_in(room), ["sealed", "second"]);
    for sealed in [sealed, committed] {
        Btrfs.discard(&sealed.layers[0]).unwrap();
        Btrfs.discard(&sealed.layers[0]).unwrap();
    }
}

#[test]
fn a_snapshot_lives_and_dies() {
    life();
}

#[test]
fn a_plain_users_snapshot_lives_and_dies() {
    as_plain_user("a_plain_users_snapshot_lives_and_dies", life);
}

fn nested() {
    let Some(room) = directory_on("FWT_TEST_BTRFS") else { return };
    let room = room.path();
    let sealed = sealed_in(room);
    let active = prepare(&sealed, &room.join("tree")).unwrap();
    fs_sys::create_subvolume(&active.path.join("d/inner")).unwrap();
    fs::write(active.path.join("d/inner/f"), "f").unwrap();
    // A repository of its own, which is content.
    fs::create_dir(active.path.join("d/inner/.git")).unwrap();
    fs_sys::create_subvolume(&active.path.join("d/inner/core")).unwrap();
    fs::write(active.path.join("d/inner/core/f"), "f").unwrap();
    let wanted = snapshot(&active.path);
    let committed = commit(&active, &room.join("second")).unwrap();
    let child = prepare(&committed, &room.join("child")).unwrap();
    assert_eq!(snapshot(&child.path), wanted);
    fs::write(child.path.join("d/inner/core/new"), "").unwrap();
    let inner = fs_sys::open_dir(&active.path.join("d/inner/core")).unwrap();
    fs_sys::set_subvolume_access(&inner, Access::ReadOnly).unwrap();
    for active in [&child, &active] {
        Btrfs.remove(active).unwrap();
    }
    for sealed in [sealed, committed] {
        Btrfs.discard(&sealed.layers[0]).unwrap();
        Btrfs.discard(&sealed.layers[0]).unwrap();
    }
    assert_eq!(names_in(room), Vec::<String>::new());
}

#[test]
fn nested_subvolumes_are_content() {
    nested();
}

#[test]
fn a_plain_users_nested_subvolumes_are_content() {
    as_plain_user("a_plain_users_nested_subvolumes_are_content", nested);
}

#[test]
fn elsewhere_the_probe_says_no_and_other_parents_are_wrong() {
    for variable in ["FWT_TEST_EXT4", "FWT_TEST_XFS", "FWT_TEST_TMPFS"] {
        let Some(room) = directory_on(variable) else { continue };
        let Support::No { reason, .. } = Btrfs.probe(&Site { dest: room.path(), sample: None })
        else {
            panic!("{variable} is no btrfs")
        };
        assert_eq!(reason.name(), "not-btrfs");
        assert_eq!(names_in(room.path()), Vec::<String>::new());
    }
    let stack = Sealed { layers: vec![PathBuf::from("/a"), PathBuf::from("/b")] };
    let wrong = prepare(&stack, Path::new("/no/such"));
    assert!(matches!(wrong, Err(Error::WrongParent(_))));
}

#[test]
fn a_tree_of_files_is_sealed_by_copying() {
    let Some(room) = directory_on("FWT_TEST_BTRFS") else { return };
    let tree = room.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fill(&tree);
    let wanted = snapshot(&tree);
    fs::write(tree.join(".git"), "gitdir: /of/this/tree").unwrap();
    let (progress, cancel) = (Progress::default(), Cancel::default());
    for backend in [&Reflink as &dyn backend::Backend, &Copy] {
        let active = Active { kind: backend.kind(), path: tree.clone(), overlay: None };
        let dest = room.path().join(backend.kind().name());
        let sealed = backend.commit(&active, &dest, &progress, &cancel).unwrap();
        assert_eq!(snapshot(&sealed.layers[0]), wanted);
        let again = backend.commit(&active, &dest, &progress, &cancel).unwrap_err();
        assert!(matches!(again, Error::Fs(error) if error.kind == ErrorKind::Exists));
        assert_eq!(snapshot(&dest), wanted);
        assert_eq!(backend.changed(&active).unwrap(), None);
    }
}
