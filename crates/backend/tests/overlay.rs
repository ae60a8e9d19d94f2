//! Overlay trees on every file system: what they show, what changes, how they are sealed and found again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use backend::{Active, Backend as _, Error, Kind, Overlay, Parent, Sealed, Site, Support};
use copy_engine::{Cancel, Progress};
use fs_sys::{ErrorKind, Unmount, Unmounted};

#[path = "support/filesystems.rs"]
mod filesystems;
#[path = "support/plain_user.rs"]
mod plain_user;
#[path = "support/snapshot.rs"]
mod snapshot;

use filesystems::{ALL, Room, directory_on, is_root, on_each};
use plain_user::as_plain_user;
use snapshot::snapshot;

/// Trees in a directory; what is mounted there goes before the directory does.
struct Store<'a>(&'a Path);

impl Drop for Store<'_> {
    fn drop(&mut self) {
        for mounted in fs_sys::mounts().unwrap().iter().rev() {
            if mounted.point.starts_with(self.0) {
                fs_sys::unmount(&mounted.point, Unmount::Lazily).unwrap();
            }
        }
        // Bare mount points are immutable.
        let status = Command::new("chattr").args(["-R", "-f", "-i"]).arg(self.0).status();
        assert!(status.is_ok());
    }
}

/// Where these tests keep what a tree has besides its mount point.
fn private_of(dest: &Path) -> PathBuf {
    let mut private = dest.as_os_str().to_owned();
    private.push(".overlay");
    private.into()
}

fn prepare(sealed: &Sealed, dest: &Path) -> Result<Active, Error> {
    let private = private_of(dest);
    let parent = Parent::Sealed { sealed, private: &private };
    Overlay
        .prepare(&parent, dest, &Progress::default(), &Cancel::default())
        .map(|prepared| prepared.active)
}

fn commit(active: &Active, dest: &Path) -> Result<Sealed, Error> {
    Overlay.commit(active, dest, &Progress::default(), &Cancel::default())
}

fn odd_names() -> Vec<String> {
    let long = "n".repeat(255);
    ["a,b", "c:d", "e\\f", "g\nh", " ", &long].map(str::to_owned).to_vec()
}

/// A sealed layer with what trees have: modes, hard links, attributes, odd names, links.
fn fill(layer: &Path) {
    fs::create_dir_all(layer.join("d/e")).unwrap();
    for name in odd_names() {
        fs::write(layer.join("d").join(&name), &name).unwrap();
        fs::create_dir(layer.join(&name)).unwrap();
        fs::write(layer.join(&name).join("f"), "below").unwrap();
    }
    for name in ["run", "gone", "kept", "replaced"] {
        fs::write(layer.join(name), name).unwrap();
    }
    fs::set_permissions(layer.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(layer.join("d/e/deep"), "deep").unwrap();
    fs::write(layer.join("one"), "linked").unwrap();
    fs::hard_link(layer.join("one"), layer.join("d/two")).unwrap();
    fs::hard_link(layer.join("one"), layer.join("d/e/three")).unwrap();
    symlink("run", layer.join("link")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(layer.join("kept"), "user.k", b"v", flags).unwrap();
    rustix::fs::setxattr(layer.join("d"), "user.of-directory", b"v", flags).unwrap();
    fs::create_dir_all(layer.join("old/in")).unwrap();
    fs::write(layer.join("old/in/f"), "f").unwrap();
    fs::write(layer.join("old/g"), "g").unwrap();
    fs::create_dir(layer.join("emptied")).unwrap();
    fs::write(layer.join("emptied/was"), "was").unwrap();
    fs::set_permissions(layer.join("old"), fs::Permissions::from_mode(0o2750)).unwrap();
    fs::set_permissions(layer, fs::Permissions::from_mode(0o751)).unwrap();
}

/// Does to a tree what a user does.
fn work_in(tree: &Path) {
    fs::write(tree.join("d/two"), "changed by another name").unwrap();
    fs::remove_file(tree.join("gone")).unwrap();
    fs::rename(tree.join("old"), tree.join("renamed")).unwrap();
    fs::write(tree.join("renamed/in/new"), "new").unwrap();
    fs::remove_dir_all(tree.join("emptied")).unwrap();
    fs::create_dir(tree.join("emptied")).unwrap();
    fs::write(tree.join("emptied/is"), "is").unwrap();
    fs::remove_file(tree.join("replaced")).unwrap();
    fs::create_dir(tree.join("replaced")).unwrap();
    fs::write(tree.join("replaced/f"), "f").unwrap();
    fs::set_permissions(tree.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
    for name in odd_names() {
        fs::write(tree.join("d").join(&name), "other").unwrap();
        fs::rename(tree.join(&name).join("f"), tree.join(&name).join("moved")).unwrap();
    }
    fs::write(tree.join(".git"), "gitdir: /of/this/tree").unwrap();
}

fn sealed_in(room: &Path) -> Sealed {
    let layers: Vec<PathBuf> = ["top", "bottom"].map(|name| room.join(name)).to_vec();
    for layer in &layers {
        fs::create_dir(layer).unwrap();
    }
    fill(&layers[1]);
    fs::copy(layers[1].join("kept"), layers[0].join("extra")).unwrap();
    fs::set_permissions(&layers[0], fs::Permissions::from_mode(0o751)).unwrap();
    Sealed { layers }
}

fn without_git(root: &Path) -> std::collections::BTreeMap<PathBuf, snapshot::Node> {
    let mut nodes = snapshot(root);
    nodes.remove(Path::new(".git"));
    nodes
}

/// Attaches what was unmounted a moment ago. A mount namespace that somebody made meanwhile holds a copy.
fn attach(active: &Active) {
    for _ in 0..200 {
        match Overlay.attach(active) {
            Err(Error::InUse { .. }) => std::thread::sleep(std::time::Duration::from_millis(50)),
            other => return other.unwrap(),
        }
    }
    Overlay.attach(active).unwrap();
}

/// The inode and the time of its last change of everything in a layer.
fn change_times(layer: &Path) -> Vec<(PathBuf, u64, i64, i64)> {
    let paths = snapshot(layer).into_keys().chain([PathBuf::new()]);
    let times = paths.map(|path| {
        let found = fs::symlink_metadata(layer.join(&path)).unwrap();
        (path, found.ino(), found.ctime(), found.ctime_nsec())
    });
    times.collect()
}

#[test]
fn stat_data_of_sealed_files_is_the_same_in_every_tree() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |variable, room| {
        let _store = Store(room);
        let sealed = sealed_in(room);
        let trees =
            ["one-tree", "other-tree"].map(|name| prepare(&sealed, &room.join(name)).unwrap());
        let files = |tree: &Active| {
            let mut times = change_times(&tree.path);
            times.retain(|(path, ..)| !tree.path.join(path).is_dir());
            times
        };
        let first = files(&trees[0]);
        assert_eq!(files(&trees[1]), first, "{variable}");
        // Also after a file was opened for reading and the tree was attached again.
        fs::read(trees[0].path.join("kept")).unwrap();
        fs_sys::unmount(&trees[0].path, Unmount::Now).unwrap();
        attach(&trees[0]);
        assert_eq!(files(&trees[0]), first, "{variable}");
        // One layer is the case of a first tree: its files show the inodes that they have.
        let below: Vec<_> = change_times(&sealed.layers[1]);
        assert!(first.iter().all(|file| file.0 == Path::new("extra") || below.contains(file)));
        for tree in &trees {
            Overlay.remove(tree).unwrap();
        }
    });
}

#[test]
fn a_tree_shows_its_layers_and_never_writes_to_them() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |variable, room| {
        let _store = Store(room);
        let sealed = sealed_in(room);
        let before: Vec<_> = sealed.layers.iter().map(|layer| snapshot(layer)).collect();
        let changed_before: Vec<_> =
            sealed.layers.iter().map(|layer| change_times(layer)).collect();
        let tree = room.join("a,b:c\\d\ne");
        let active = prepare(&sealed, &tree).unwrap();
        assert_eq!(snapshot(&tree).len(), before[1].len() + 1);
        assert_eq!(fs::metadata(&tree).unwrap().mode() & 0o7777, 0o751);
        assert_eq!(
            fs::metadata(&tree).unwrap().mtime_nsec(),
            fs::metadata(&sealed.layers[0]).unwrap().mtime_nsec()
        );
        work_in(&tree);
        assert_eq!(fs::read(tree.join("one")).unwrap(), b"changed by another name");
        assert_eq!(fs::read(tree.join("d/e/three")).unwrap(), b"changed by another name");
        let worked = snapshot(&tree);
        Overlay.attach(&active).unwrap();
        let prepared_again = prepare(&sealed, &tree).unwrap_err();
        assert!(matches!(prepared_again, Error::Fs(error) if error.kind == ErrorKind::Exists));
        assert_eq!(fs_sys::unmount(&tree, Unmount::Now).unwrap(), Unmounted::Done);
        assert!(fs::write(tree.join("hidden"), "").is_err(), "{variable}: a bare point is written");
        attach(&active);
        assert_eq!(snapshot(&tree), worked);
        let after: Vec<_> = sealed.layers.iter().map(|layer| snapshot(layer)).collect();
        assert!(after == before, "a sealed layer changed");
        let open = fs::File::open(tree.join("kept")).unwrap();
        assert!(matches!(Overlay.remove(&active), Err(Error::InUse { .. })));
        assert_eq!(snapshot(&tree), worked);
        drop(open);
        commit(&active, &room.join("layer")).unwrap();
        Overlay.remove(&active).unwrap();
        Overlay.remove(&active).unwrap();
        Overlay.discard(&room.join("layer")).unwrap();
        // Not even an inode of a sealed layer: its change times are in the trees' indexes.
        let changed: Vec<_> = sealed.layers.iter().map(|layer| change_times(layer)).collect();
        assert!(changed == changed_before, "a sealed layer's inodes changed");
        assert_eq!(fs::read_dir(room).unwrap().count(), 2);
    });
}

#[test]
fn what_changed_is_told_from_the_upper_layer() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _store = Store(room);
        let sealed = sealed_in(room);
        let active = prepare(&sealed, &room.join("tree")).unwrap();
        assert_eq!(Overlay.changed(&active).unwrap(), Some(backend::Changes::default()));
        work_in(&active.path);
        let changes = Overlay.changed(&active).unwrap().unwrap();
        let mut present: Vec<PathBuf> = [
            "d",
            "d/two",
            "d/e/three",
            "one",
            "renamed",
            "renamed/in",
            "renamed/in/f",
            "renamed/in/new",
            "renamed/g",
            "emptied",
            "emptied/is",
            "replaced",
            "replaced/f",
            "run",
        ]
        .map(PathBuf::from)
        .to_vec();
        let mut absent: Vec<PathBuf> =
            ["gone", "old", "old/g", "old/in", "old/in/f", "emptied/was"]
                .map(PathBuf::from)
                .to_vec();
        for name in odd_names() {
            present.push(Path::new("d").join(&name));
            present.push(Path::new(&name).join("moved"));
            absent.push(Path::new(&name).join("f"));
            present.push(name.into());
        }
        present.sort();
        absent.sort();
        assert_eq!(changes.present, present);
        assert_eq!(changes.absent, absent);
    });
}

#[test]
fn a_sealed_tree_is_the_parent_as_it_was() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _store = Store(room);
        let sealed = sealed_in(room);
        let active = prepare(&sealed, &room.join("parent")).unwrap();
        work_in(&active.path);
        let wanted = without_git(&active.path);
        let committed = commit(&active, &room.join("layer")).unwrap();
        assert_eq!(committed.layers.len(), 3);
        assert!(!committed.layers[0].join(".git").exists());
        let child = prepare(&committed, &room.join("child")).unwrap();
        let found = snapshot(&child.path);
        assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        for (path, node) in &wanted {
            assert_eq!(&found[path], node, "{}", path.display());
        }
        let dir = fs_sys::open_dir(&committed.layers[0].join("renamed")).unwrap();
        for mark in [fs_sys::Mark::Origin, fs_sys::Mark::Impure] {
            assert_eq!(fs_sys::load_mark(&dir, mark, PathBuf::new).unwrap(), None);
        }
        // Neither sees what the other writes from now on.
        fs::write(active.path.join("kept"), "parent").unwrap();
        fs::write(child.path.join("renamed/in/new"), "child").unwrap();
        assert_eq!(fs::read(child.path.join("kept")).unwrap(), b"kept");
        assert_eq!(fs::read(active.path.join("renamed/in/new")).unwrap(), b"new");
        // A grandchild, over a layer with whiteouts, redirects and opaque directories.
        fs::rename(child.path.join("renamed"), child.path.join("d/again")).unwrap();
        fs::remove_file(child.path.join("emptied/is")).unwrap();
        let wanted = snapshot(&child.path);
        let second = commit(&child, &room.join("second")).unwrap();
        let grandchild = prepare(&second, &room.join("grandchild")).unwrap();
        assert_eq!(snapshot(&grandchild.path), wanted);
        for active in [grandchild, child, active] {
            Overlay.remove(&active).unwrap();
        }
    });
}

/// Replaces two files again and again.
fn churn(tree: &Path, is_done: &AtomicBool) {
    let mut number = 0_u32;
    while !is_done.load(Ordering::Relaxed) {
        number += 1;
        for name in ["kept", "run"] {
            fs::write(tree.join("new"), number.to_string().repeat(1000)).unwrap();
            fs::rename(tree.join("new"), tree.join(name)).unwrap();
        }
    }
}

#[test]
fn a_tree_that_is_written_to_is_sealed_whole_or_not_at_all() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _store = Store(room);
        let sealed = sealed_in(room);
        let active = prepare(&sealed, &room.join("tree")).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| churn(&active.path, &is_done));
            for number in 0..5 {
                let dest = room.join(format!("layer-{number}"));
                match commit(&active, &dest) {
                    Ok(_) => assert!(dest.exists()),
                    Err(Error::Copy(copy_engine::Error::KeepsChanging { path })) => {
                        assert!(path.starts_with(&active.path) || path.starts_with(room));
                        assert!(!dest.exists());
                    }
                    Err(other) => panic!("{other:?}"),
                }
                assert!(!room.join(format!("layer-{number}.part")).exists());
            }
            is_done.store(true, Ordering::Relaxed);
        });
        commit(&active, &room.join("calm")).unwrap();
        assert!(matches!(commit(&active, &room.join("calm")), Err(Error::Fs(_))));
        assert!(!room.join("calm.part").exists());
    });
}

#[test]
fn a_store_that_was_copied_is_attached() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _store = Store(room);
        let (first, copy) = (room.join("first"), room.join("copy"));
        fs::create_dir(&first).unwrap();
        let sealed = sealed_in(&first);
        let active = prepare(&sealed, &first.join("tree")).unwrap();
        work_in(&active.path);
        let wanted = snapshot(&active.path);
        fs_sys::unmount(&active.path, Unmount::Now).unwrap();
        assert!(Command::new("cp").arg("-a").args([&first, &copy]).status().unwrap().success());
        let layers = ["top", "bottom"].map(|name| copy.join(name)).to_vec();
        let parent = Sealed { layers };
        let private = private_of(&copy.join("tree"));
        let parent = Parent::Sealed { sealed: &parent, private: &private };
        let moved = Active::planned(Kind::Overlay, &parent, &copy.join("tree"));
        fs::remove_dir(copy.join("tree")).unwrap();
        Overlay.attach(&moved).unwrap();
        assert_eq!(snapshot(&moved.path), wanted);
        fs::write(moved.path.join("d/two"), "again").unwrap();
        assert_eq!(fs::read(moved.path.join("one")).unwrap(), b"again");
        attach(&active);
        assert_eq!(snapshot(&active.path), wanted);
        Overlay.remove(&moved).unwrap();
        Overlay.remove(&active).unwrap();
    });
}

#[test]
fn many_layers_carry_a_tree() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _store = Store(room);
        let make = |number| {
            let layer = room.join(format!("{number}"));
            fs::create_dir(&layer).unwrap();
            fs::write(layer.join(format!("of-{number}")), "").unwrap();
            layer
        };
        let sealed = Sealed { layers: (0..120).map(make).collect() };
        let active = prepare(&sealed, &room.join("tree")).unwrap();
        assert_eq!(fs::read_dir(&active.path).unwrap().count(), 120);
        fs::remove_file(active.path.join("of-119")).unwrap();
        let changes = Overlay.changed(&active).unwrap().unwrap();
        assert_eq!(changes.absent, [Path::new("of-119")]);
        Overlay.remove(&active).unwrap();
    });
}

#[test]
fn every_half_made_tree_is_removed() {
    if !is_root("mounts") {
        return;
    }
    let Some(room) = directory_on("FWT_TEST_EXT4") else { return };
    let _store = Store(room.path());
    let sealed = sealed_in(room.path());
    let dest = room.path().join("tree");
    let private = private_of(&dest);
    let parent = Parent::Sealed { sealed: &sealed, private: &private };
    let active = Active::planned(Kind::Overlay, &parent, &dest);
    let private = &active.overlay.as_ref().unwrap().private;
    let steps: [&dyn Fn(); 4] = [
        &|| fs::create_dir(private).unwrap(),
        &|| fs::create_dir(private.join("upper")).unwrap(),
        &|| fs::create_dir(private.join("work")).unwrap(),
        &|| {
            fs::create_dir(&dest).unwrap();
            fs::set_permissions(&dest, fs::Permissions::from_mode(0o500)).unwrap();
        },
    ];
    for count in 0..=steps.len() {
        steps[..count].iter().for_each(|step| step());
        Overlay.remove(&active).unwrap();
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 2, "after {count} steps");
    }
    // What is in the place of a mount point and is not empty is not ours.
    fs::create_dir(&dest).unwrap();
    fs::write(dest.join("keep"), "").unwrap();
    assert!(prepare(&sealed, &dest).is_err());
    Overlay.remove(&active).unwrap();
    assert!(dest.join("keep").exists() && !private.exists());
}

#[test]
fn what_somebody_else_mounted_stays() {
    if !is_root("mounts") {
        return;
    }
    let Some(room) = directory_on("FWT_TEST_TMPFS") else { return };
    let _store = Store(room.path());
    let sealed = sealed_in(room.path());
    let theirs = prepare(&sealed, &room.path().join("theirs")).unwrap();
    // Another tree's row names the same place.
    let stack = backend::Stack { private: room.path().join("other"), layers: sealed.layers };
    let ours = Active { overlay: Some(stack), ..theirs.clone() };
    assert!(matches!(Overlay.attach(&ours), Err(Error::ForeignMount { .. })));
    assert!(matches!(Overlay.remove(&ours), Err(Error::ForeignMount { .. })));
    assert!(theirs.path.join("kept").exists());
    let unattached = Active { path: room.path().join("absent"), ..theirs.clone() };
    assert!(matches!(Overlay.changed(&unattached), Err(Error::NotAttached { .. })));
    let plain = Active { overlay: None, ..theirs };
    assert!(matches!(Overlay.attach(&plain), Err(Error::WrongTree { .. })));
}

fn reason_at(dest: &Path) -> &'static str {
    match Overlay.probe(&Site { dest, sample: None }) {
        Support::Yes => "yes",
        Support::No { reason, .. } => reason.name(),
    }
}

#[test]
fn the_probe_really_mounts_and_leaves_nothing() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _store = Store(room);
        assert_eq!(reason_at(room), "yes");
        assert_eq!(fs::read_dir(room).unwrap().count(), 0);
        assert!(!fs_sys::mounts().unwrap().iter().any(|mounted| mounted.point.starts_with(room)));
        let active = prepare(&sealed_in(room), &room.join("tree")).unwrap();
        assert_eq!(reason_at(&active.path), "nested-overlay");
    });
}

#[test]
fn a_plain_user_is_told_what_it_takes() {
    as_plain_user("a_plain_user_is_told_what_it_takes", || {
        let room = Room::new();
        assert_eq!(reason_at(room.path()), "no-capability");
    });
}

#[test]
fn mounts_that_nobody_else_would_see_are_passed_over() {
    if !is_root("unshares mounts") {
        return;
    }
    let Some(room) = directory_on("FWT_TEST_TMPFS") else { return };
    if std::env::var_os("FWT_TEST_UNSHARED").is_some() {
        assert_eq!(reason_at(room.path()), "private-mount-namespace");
        return;
    }
    let output = Command::new("unshare")
        .arg("--mount")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "mounts_that_nobody_else_would_see_are_passed_over"])
        .env("FWT_TEST_UNSHARED", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn reasons_have_stable_names() {
    use backend::Reason;
    for (reason, name) in [
        (Reason::NoSealedParent, "no-sealed-parent"),
        (Reason::NoOverlay, "no-overlay"),
        (Reason::NestedOverlay, "nested-overlay"),
        (Reason::NoCapability, "no-capability"),
        (Reason::PrivateMountNamespace, "private-mount-namespace"),
        (Reason::Network, "network"),
        (Reason::Fuse, "fuse"),
        (Reason::NotBtrfs, "not-btrfs"),
        (Reason::NoSubvolumes, "no-subvolumes"),
    ] {
        assert_eq!(reason.name(), name);
        assert_eq!(serde_json::to_string(&reason).unwrap(), format!("{name:?}"));
    }
}
