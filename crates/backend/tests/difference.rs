//! A difference that is written before anything is mounted, compared with what was intended.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use backend::{Active, Backend as _, Difference, Overlay, Parent, Sealed};
use copy_engine::{Cancel, Progress};
use fs_sys::{Mark, Unmount};

#[path = "support/filesystems.rs"]
mod filesystems;
#[path = "support/snapshot.rs"]
mod snapshot;

use filesystems::{ALL, Room, is_root, on_each};
use snapshot::snapshot;

/// What is mounted in a directory goes before the directory does.
struct Mounts<'a>(&'a Path);

impl Drop for Mounts<'_> {
    fn drop(&mut self) {
        for mounted in fs_sys::mounts().unwrap().iter().rev() {
            if mounted.point.starts_with(self.0) {
                fs_sys::unmount(&mounted.point, Unmount::Lazily).unwrap();
            }
        }
        let status = Command::new("chattr").args(["-R", "-f", "-i"]).arg(self.0).status();
        assert!(status.is_ok());
    }
}

fn mounted(layers: &[PathBuf], room: &Path, name: &str) -> Active {
    let sealed = Sealed { layers: layers.to_vec() };
    let private = room.join(format!("{name}.private"));
    let parent = Parent::Sealed { sealed: &sealed, private: &private };
    let (progress, cancel) = (Progress::default(), Cancel::default());
    Overlay.prepare(&parent, &room.join(name), &progress, &cancel).unwrap().active
}

fn set_xattr(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

/// An access list by which new entries get more than their mode says: version 2, then the entries for
/// owner, user 1, group, mask and others.
fn access_list() -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in [
        (1_u16, 7_u16, u32::MAX),
        (2, 7, 1),
        (4, 5, u32::MAX),
        (16, 7, u32::MAX),
        (32, 5, u32::MAX),
    ] {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

fn age(root: &Path) {
    let directories = snapshot(root).into_iter().filter(|(_, node)| node.kind == "directory");
    for (number, (path, _)) in (1_i64..).zip(directories) {
        let dir = fs_sys::open_dir(&root.join(path)).unwrap();
        dir.set_mtime(fs_sys::Time { seconds: number * 1000, nanos: 7 }).unwrap();
    }
    fs_sys::open_dir(root).unwrap().set_mtime(fs_sys::Time { seconds: 5, nanos: 5 }).unwrap();
}

/// What the layers below hold: as one directory, to be split over two layers by [`split`].
fn fill(root: &Path) {
    for directory in ["d/e/f", "gone/in", "again/old", "flat/g", "listed", "strict", "kept/deep"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for file in [
        "d/e/f/changed",
        "d/e/f/same",
        "d/removed",
        "gone/in/x",
        "again/old/y",
        "again/z",
        "flat/g/h",
        "file",
        "listed/a",
        "strict/s",
        "kept/deep/k",
        "top",
    ] {
        fs::write(root.join(file), file).unwrap();
    }
    symlink("top", root.join("link")).unwrap();
    set_xattr(&root.join("d"), "user.k", b"v");
    set_xattr(&root.join("d/e"), "user.k", b"other");
    set_xattr(&root.join("listed"), "system.posix_acl_default", &access_list());
    fs::set_permissions(root.join("strict"), fs::Permissions::from_mode(0o2555)).unwrap();
    fs::set_permissions(root.join("d/e"), fs::Permissions::from_mode(0o1711)).unwrap();
    rustix::fs::chown(
        root.join("d/e"),
        Some(rustix::fs::Uid::from_raw(123)),
        Some(rustix::fs::Gid::from_raw(456)),
    )
    .unwrap();
    fs::set_permissions(root, fs::Permissions::from_mode(0o751)).unwrap();
    age(root);
}

/// The same as two layers: the second differs in a file, has one the first has not, and hides one.
fn layers_in(room: &Path) -> Vec<PathBuf> {
    let (top, bottom) = (room.join("top-layer"), room.join("bottom-layer"));
    fs::create_dir(&bottom).unwrap();
    fs::create_dir(&top).unwrap();
    fill(&bottom);
    fs::write(bottom.join("d/hidden"), "").unwrap();
    fs::write(bottom.join("only-below"), "old").unwrap();
    fs::create_dir(bottom.join("hidden-directory")).unwrap();
    age(&bottom);
    let mut difference = Difference::between(std::slice::from_ref(&bottom), &top).unwrap();
    difference.hide(Path::new("d/hidden")).unwrap();
    difference.hide(Path::new("hidden-directory")).unwrap();
    difference.hide(Path::new("never/was")).unwrap();
    let place = difference.place(Path::new("only-below")).unwrap().path().to_owned();
    fs::write(place.join("only-below"), "new").unwrap();
    difference.finish().unwrap();
    vec![top, bottom]
}

fn write(directory: &Path, name: &str, bytes: &str) {
    fs::write(directory.join(name), bytes).unwrap();
}

/// Does the same to a difference and, by plain means, to a directory.
fn differ(difference: &mut Difference, plain: &Path) {
    let at = |path: &str| PathBuf::from(path);
    let mut times = Vec::new();
    for (path, node) in snapshot(plain) {
        if node.kind == "directory" {
            times.push((path, node.mtime));
        }
    }
    for (path, bytes) in [
        ("d/e/f/changed", "changed"),
        ("d/e/new", "new"),
        ("listed/b", "b"),
        ("strict/t", "t"),
        ("flat", "a file where a directory was"),
        ("made/new/file", "in a new directory"),
        ("file/inner", "in a directory where a file was"),
        ("d/hidden", "shown again"),
        ("hidden-directory/n", "shown again"),
    ] {
        let (parent, name) = (Path::new(path).parent().unwrap(), Path::new(path).file_name());
        let name = name.unwrap().to_str().unwrap();
        let made = difference.place(&at(path)).unwrap().path().to_owned();
        write(&made, name, bytes);
        let plain_parent = plain.join(parent);
        if plain_parent.is_file() {
            fs::remove_file(&plain_parent).unwrap();
        }
        fs::create_dir_all(&plain_parent).unwrap();
        if plain_parent.join(name).is_dir() {
            fs::remove_dir_all(plain_parent.join(name)).unwrap();
        }
        write(&plain_parent, name, bytes);
    }
    for path in ["d/removed", "gone", "link", "absent", "absent/too", "made/absent"] {
        difference.hide(&at(path)).unwrap();
        fs_sys::remove_tree(&plain.join(path)).unwrap();
    }
    // It was deleted, and is there again with something else.
    difference.hide(&at("again")).unwrap();
    let again = difference.new_directory(&at("again")).unwrap().path().to_owned();
    fs::remove_dir_all(plain.join("again")).unwrap();
    fs::create_dir(plain.join("again")).unwrap();
    for root in [&again, &plain.join("again")] {
        write(root, "other", "other");
    }
    // Something was made, and is away again.
    let place = difference.place(&at("kept/passing")).unwrap().path().to_owned();
    write(&place, "passing", "");
    difference.hide(&at("kept/passing")).unwrap();
    let like = fs_sys::open_dir(&plain.join("d/e/f")).unwrap();
    fs::set_permissions(plain.join("d/e/f"), fs::Permissions::from_mode(0o700)).unwrap();
    difference.make_like(&at("d/e/f"), &like).unwrap();
    for (path, (seconds, nanos)) in times {
        if let Ok(dir) = fs_sys::open_dir(&plain.join(&path))
            && !["again", "d/e/f"].contains(&path.to_str().unwrap())
        {
            let nanos = u32::try_from(nanos).unwrap();
            dir.set_mtime(fs_sys::Time { seconds, nanos }).unwrap();
        }
    }
}

/// Without the times of files and of directories that nothing was below, which are of now.
fn comparable(root: &Path) -> std::collections::BTreeMap<PathBuf, snapshot::Node> {
    let mut nodes = snapshot(root);
    let is_new = |path: &Path| {
        ["made", "made/new", "file", "hidden-directory", "again", "d/e/f"]
            .iter()
            .any(|new| path == Path::new(new))
    };
    for (path, node) in &mut nodes {
        if node.kind != "directory" || is_new(path) {
            node.mtime = (0, 0);
        }
        // A file in a directory with an access list inherits it, in one tree as in the other.
        if path.starts_with("listed/b") {
            node.xattrs.clear();
            node.mode = 0;
        }
    }
    nodes
}

fn owner(path: &Path) -> (u32, u32) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid())
}

/// Whiteouts of a layer, by their paths there.
fn whiteouts(layer: &Path) -> Vec<PathBuf> {
    let is_whiteout = |path: &Path| {
        let found = fs::symlink_metadata(layer.join(path)).unwrap();
        found.file_type().is_char_device() && found.rdev() == 0
    };
    snapshot_paths(layer).into_iter().filter(|path| is_whiteout(path)).collect()
}

fn snapshot_paths(root: &Path) -> Vec<PathBuf> {
    snapshot(root).into_keys().collect()
}

#[test]
fn a_difference_over_layers_shows_what_was_intended() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _mounts = Mounts(room);
        let layers = layers_in(room);
        assert_eq!(whiteouts(&layers[0]), ["d/hidden", "hidden-directory"].map(PathBuf::from));
        let below = mounted(&layers, room, "below");
        let (plain, made) = (room.join("plain"), room.join("made"));
        let copied = Command::new("cp").arg("-a").args([&below.path, &plain]).status();
        assert!(copied.unwrap().success());
        fs::create_dir(&made).unwrap();
        let mut difference = Difference::between(&layers, &made).unwrap();
        differ(&mut difference, &plain);
        difference.finish().unwrap();
        assert_eq!(whiteouts(&made), ["d/removed", "gone", "link"].map(PathBuf::from));
        let all = [std::slice::from_ref(&made), &layers].concat();
        let tree = mounted(&all, room, "tree");
        assert_eq!(comparable(&tree.path), comparable(&plain));
        for path in ["", "d/e", "d/e/f", "listed"] {
            assert_eq!(owner(&tree.path.join(path)), owner(&plain.join(path)), "{path}");
        }
        let top = |path: &Path| fs::metadata(path).unwrap();
        assert_eq!(top(&tree.path).mode(), top(&plain).mode());
        assert_eq!(top(&tree.path).mtime(), 5);
        let opaque: Vec<_> = snapshot(&made)
            .into_iter()
            .filter(|(_, node)| node.xattrs.contains_key(OsStr::new(Mark::Opaque.attribute())))
            .map(|(path, _)| path)
            .collect();
        assert_eq!(opaque, ["again", "file"].map(PathBuf::from));
        for active in [tree, below] {
            Overlay.remove(&active).unwrap();
        }
    });
}

#[test]
fn names_are_found_in_layers_as_the_kernel_finds_them() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, room| {
        let _mounts = Mounts(room);
        let mut layers = layers_in(room);
        // Each generation renames directories of the last one, within a directory and across.
        let renames: [&[(&str, &str)]; 3] = [
            &[("d", "moved"), ("again", "kept/again")],
            &[("moved/e", "moved/e2"), ("kept", "gone/kept"), ("flat", "d")],
            &[("gone/kept/again/old", "old"), ("moved/e2/f", "moved/f"), ("moved", "last")],
        ];
        for (number, generation) in renames.iter().enumerate() {
            let parent = mounted(&layers, room, &format!("parent-{number}"));
            for (from, to) in *generation {
                fs::rename(parent.path.join(from), parent.path.join(to)).unwrap();
            }
            fs_sys::remove_tree(&parent.path.join("top")).unwrap();
            let dest = room.join(format!("layer-{number}"));
            let (progress, cancel) = (Progress::default(), Cancel::default());
            layers = Overlay.commit(&parent, &dest, &progress, &cancel).unwrap().layers;
            Overlay.remove(&parent).unwrap();
        }
        let tree = mounted(&layers, room, "tree");
        let made = room.join("made");
        fs::create_dir(&made).unwrap();
        let mut difference = Difference::between(&layers, &made).unwrap();
        let shown = snapshot_paths(&tree.path);
        assert!(shown.len() > 20);
        for path in &shown {
            let found = difference.stat(path).unwrap().unwrap();
            let wanted = fs::symlink_metadata(tree.path.join(path)).unwrap();
            assert_eq!(
                (found.mode.0, found.mtime.seconds),
                (wanted.mode() & 0o7777, wanted.mtime())
            );
            if !wanted.is_dir() {
                assert_eq!((found.ino, found.size), (wanted.ino(), wanted.size()), "{path:?}");
            }
        }
        // What was somewhere at some time, and is not now.
        for layer in &layers {
            for path in snapshot_paths(layer) {
                let is_shown = fs::symlink_metadata(tree.path.join(&path)).is_ok();
                assert_eq!(difference.stat(&path).unwrap().is_some(), is_shown, "{path:?}");
            }
        }
        let place = difference.place(Path::new("last/e2/new")).unwrap().path().to_owned();
        write(&place, "new", "new");
        difference.hide(Path::new("last/f/same")).unwrap();
        difference.finish().unwrap();
        let child = mounted(&[&[made], layers.as_slice()].concat(), room, "child");
        let mut wanted = snapshot(&tree.path);
        wanted.remove(Path::new("last/f/same")).unwrap();
        let mut found = snapshot(&child.path);
        assert_eq!(found.remove(Path::new("last/e2/new")).unwrap().content, b"new");
        assert_eq!(found, wanted);
    });
}

#[test]
fn without_layers_it_changes_what_is_there() {
    if !is_root("gives directories away") {
        return;
    }
    let check = |room: &Path| {
        let (plain, made) = (room.join("plain"), room.join("snapshot"));
        for root in [&plain, &made] {
            fs::create_dir(root).unwrap();
            fill(root);
            fs::create_dir(root.join("hidden-directory")).unwrap();
            age(root);
        }
        let mut difference = Difference::between(&[], &made).unwrap();
        differ(&mut difference, &plain);
        difference.finish().unwrap();
        assert_eq!(whiteouts(&made), Vec::<PathBuf>::new());
        assert_eq!(comparable(&made), comparable(&plain));
        assert_eq!(fs::metadata(&made).unwrap().mtime(), 5);
    };
    on_each(ALL, |_, room| check(room));
    check(Room::new().path());
}
