//! Subvolumes, as root and as a plain user.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::path::{Path, PathBuf};

use fs_sys::{
    Access, ErrorKind, SubvolumeRemoved, create_subvolume, is_subvolume_root, nested_subvolumes,
    open_dir, remove_subvolume, set_subvolume_access, snapshot_subvolume, subvolume_access,
};

#[path = "support/filesystems.rs"]
#[expect(dead_code, reason = "one file system is enough here")]
mod filesystems;
#[path = "support/plain_user.rs"]
mod plain_user;

use filesystems::{Room, directory_on};
use plain_user::as_plain_user;

/// A directory on btrfs. A plain user's is made by itself, so that it owns it.
fn room() -> Option<Room> {
    directory_on("FWT_TEST_BTRFS")
}

fn life(root: &Path) -> SubvolumeRemoved {
    let (tree, copy) = (root.join("tree"), root.join("copy"));
    create_subvolume(&tree).unwrap();
    assert_eq!(create_subvolume(&tree).unwrap_err().kind, ErrorKind::Exists);
    assert!(is_subvolume_root(&open_dir(&tree).unwrap()).unwrap());
    fs::create_dir_all(tree.join("d/e")).unwrap();
    assert!(!is_subvolume_root(&open_dir(&tree.join("d")).unwrap()).unwrap());
    fs::write(tree.join("d/e/f"), "first").unwrap();
    snapshot_subvolume(&tree, &copy, Access::ReadOnly).unwrap();
    let again = snapshot_subvolume(&tree, &copy, Access::ReadOnly).unwrap_err();
    assert_eq!(again.kind, ErrorKind::Exists);
    fs::write(tree.join("d/e/f"), "second").unwrap();
    assert_eq!(fs::read(copy.join("d/e/f")).unwrap(), b"first");
    let dir = open_dir(&copy).unwrap();
    assert_eq!(subvolume_access(&dir).unwrap(), Access::ReadOnly);
    assert!(fs::write(copy.join("new"), "").is_err());
    set_subvolume_access(&dir, Access::ReadWrite).unwrap();
    fs::write(copy.join("new"), "").unwrap();
    set_subvolume_access(&dir, Access::ReadOnly).unwrap();
    drop(dir);
    let done = remove_subvolume(&copy).unwrap();
    assert!(!copy.exists());
    assert_eq!(remove_subvolume(&copy).unwrap(), SubvolumeRemoved::WasGone);
    assert_eq!(remove_subvolume(&root.join("no/such")).unwrap(), SubvolumeRemoved::WasGone);
    assert_eq!(remove_subvolume(&tree).unwrap(), done);
    done
}

#[test]
fn a_subvolume_lives_and_dies() {
    if let Some(room) = room() {
        life(room.path());
    }
}

#[test]
fn a_plain_user_needs_no_help() {
    as_plain_user("a_plain_user_needs_no_help", || {
        if std::env::var_os("FWT_TEST_BTRFS").is_none() {
            return;
        }
        let room = room().unwrap();
        // The test file system is mounted without `user_subvol_rm_allowed`.
        assert_eq!(life(room.path()), SubvolumeRemoved::Emptied);
    });
}

fn nest(room: &Path) -> PathBuf {
    let tree = room.join("tree");
    create_subvolume(&tree).unwrap();
    fs::create_dir_all(tree.join("d/e")).unwrap();
    create_subvolume(&tree.join("d/inner")).unwrap();
    fs::create_dir(tree.join("d/inner/x")).unwrap();
    create_subvolume(&tree.join("d/inner/x/core")).unwrap();
    fs::write(tree.join("d/inner/x/core/f"), "f").unwrap();
    tree
}

fn nested_goes() {
    let Some(room) = room() else { return };
    let tree = nest(room.path());
    let root = open_dir(&tree).unwrap();
    let expected = [PathBuf::from("d/inner"), PathBuf::from("d/inner/x/core")];
    assert_eq!(nested_subvolumes(&root).unwrap(), expected);
    let copy = room.path().join("copy");
    snapshot_subvolume(&tree, &copy, Access::ReadWrite).unwrap();
    // A placeholder, and no subvolume.
    let inner = open_dir(&copy.join("d/inner")).unwrap();
    assert_eq!(inner.stat().unwrap().ino, 2);
    assert!(!is_subvolume_root(&inner).unwrap());
    assert_eq!(nested_subvolumes(&open_dir(&copy).unwrap()).unwrap(), Vec::<PathBuf>::new());
    remove_subvolume(&copy).unwrap();
    for path in ["d/inner/x/core", "d/inner", ""] {
        let dir = open_dir(&tree.join(path)).unwrap();
        set_subvolume_access(&dir, Access::ReadOnly).unwrap();
    }
    drop((root, inner));
    remove_subvolume(&tree).unwrap();
    assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
}

#[test]
fn nested_and_read_only_ones_go_too() {
    nested_goes();
}

#[test]
fn nested_and_read_only_ones_of_a_plain_user_go_too() {
    as_plain_user("nested_and_read_only_ones_of_a_plain_user_go_too", nested_goes);
}

#[test]
fn what_is_no_subvolume_is_removed_like_any_tree() {
    let Some(room) = room() else { return };
    let (tree, file) = (room.path().join("tree"), room.path().join("file"));
    fs::create_dir_all(tree.join("d")).unwrap();
    fs::write(&file, "").unwrap();
    assert_eq!(remove_subvolume(&tree).unwrap(), SubvolumeRemoved::Emptied);
    assert_eq!(remove_subvolume(&file).unwrap(), SubvolumeRemoved::Emptied);
    let link = room.path().join("link");
    create_subvolume(&tree).unwrap();
    std::os::unix::fs::symlink(&tree, &link).unwrap();
    remove_subvolume(&link).unwrap();
    assert!(tree.exists() && !link.exists());
}

#[test]
fn elsewhere_there_are_none() {
    for variable in ["FWT_TEST_EXT4", "FWT_TEST_TMPFS"] {
        let Some(room) = directory_on(variable) else { continue };
        let error = create_subvolume(&room.path().join("tree")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error:?}");
        assert!(!is_subvolume_root(&open_dir(room.path()).unwrap()).unwrap());
    }
}

#[test]
fn a_name_of_255_bytes_with_any_bytes_in_it() {
    let Some(room) = room() else { return };
    let name = format!("a,b:c\\d\ne{}", "n".repeat(246));
    create_subvolume(&room.path().join(&name)).unwrap();
    // Only root may destroy one at once: the file system is mounted without
    // `user_subvol_rm_allowed`.
    let done = match fs_sys::process::effective_user() {
        0 => SubvolumeRemoved::Destroyed,
        _ => SubvolumeRemoved::Emptied,
    };
    assert_eq!(remove_subvolume(&room.path().join(&name)).unwrap(), done);
}
