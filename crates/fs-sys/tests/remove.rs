//! Removing trees: nothing outside is ever touched, and nothing inside can resist.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fs_sys::{ErrorKind, remove_tree};

#[path = "support/mount.rs"]
mod mount;
#[path = "support/plain_user.rs"]
mod plain_user;

use mount::Mount;
use plain_user::as_plain_user;

/// A directory outside of every tree with one file in it.
struct Canary(tempfile::TempDir);

impl Canary {
    fn new() -> Self {
        let canary = Self(tempfile::tempdir().unwrap());
        fs::write(canary.path().join("canary"), "alive").unwrap();
        canary
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn check(&self) {
        let names: Vec<_> =
            fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["canary"]);
        assert_eq!(fs::read(self.path().join("canary")).unwrap(), b"alive");
    }
}

#[test]
fn links_go_as_links() {
    let (root, canary) = (tempfile::tempdir().unwrap(), Canary::new());
    let tree = root.path().join("tree");
    fs::create_dir_all(tree.join("d")).unwrap();
    symlink(canary.path(), tree.join("to-directory")).unwrap();
    symlink(canary.path().join("canary"), tree.join("d/to-file")).unwrap();
    symlink("nowhere", tree.join("d/dangling")).unwrap();
    assert_eq!(remove_tree(&tree).unwrap().entries, 5);
    canary.check();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_tree_that_is_a_link_is_only_that_link() {
    for ending in ["", "/", "//"] {
        let (root, canary) = (tempfile::tempdir().unwrap(), Canary::new());
        let tree = root.path().join("tree");
        symlink(canary.path(), &tree).unwrap();
        let path = format!("{}{ending}", tree.display());
        assert_eq!(remove_tree(Path::new(&path)).unwrap().entries, 1, "{path}");
        canary.check();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}

#[test]
fn already_gone_is_success_and_a_file_is_a_tree_too() {
    let root = tempfile::tempdir().unwrap();
    for path in ["absent", "absent/below"] {
        assert_eq!(remove_tree(&root.path().join(path)).unwrap().entries, 0);
    }
    let file = root.path().join("file");
    fs::write(&file, "f").unwrap();
    assert_eq!(remove_tree(&file.join("below")).unwrap_err().kind, ErrorKind::NotADirectory);
    assert_eq!(remove_tree(&file).unwrap().entries, 1);
}

#[test]
fn every_kind_of_entry_goes() {
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    fs::create_dir_all(tree.join("a/b/c")).unwrap();
    fs::write(tree.join("a/new\nline"), "").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("a/b/socket")).unwrap();
    let mut command = std::process::Command::new("mkfifo");
    assert!(command.arg(tree.join("fifo")).status().unwrap().success());
    assert_eq!(remove_tree(&tree).unwrap().entries, 7);
    assert!(!tree.exists());
}

#[test]
fn a_mount_is_refused_by_name_and_left_alone() {
    if fs_sys::process::effective_user() != 0 {
        eprintln!("skipped: only root mounts");
        return;
    }
    for point in ["tree", "tree/d/point", "tree/d/file"] {
        let (root, canary) = (tempfile::tempdir().unwrap(), Canary::new());
        fs::create_dir_all(root.path().join("tree/d/point")).unwrap();
        fs::write(root.path().join("tree/d/file"), "").unwrap();
        let point = root.path().join(point);
        let source =
            if point.is_dir() { canary.path().to_owned() } else { canary.path().join("canary") };
        let Some(_mount) = Mount::new(&["--bind", source.to_str().unwrap()], &point) else {
            assert!(std::env::var_os("CI").is_none(), "in CI root may mount");
            eprintln!("skipped: this process may not mount");
            return;
        };
        let error = remove_tree(&root.path().join("tree")).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::CrossDevice | ErrorKind::Busy), "{error:?}");
        assert_eq!(error.path, point);
        canary.check();
    }
}

#[test]
fn permissions_do_not_keep_a_tree() {
    as_plain_user("permissions_do_not_keep_a_tree", || {
        for mode in [0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600, 0o555, 0o1555] {
            let root = tempfile::tempdir().unwrap();
            let tree = root.path().join("tree");
            let closed = ["a/b/empty", "a/b", "a", ""];
            fs::create_dir_all(tree.join(closed[0])).unwrap();
            fs::write(tree.join("a/b/file"), "").unwrap();
            for path in closed {
                let permissions = fs::Permissions::from_mode(mode);
                fs::set_permissions(tree.join(path), permissions).unwrap();
            }
            assert_eq!(remove_tree(&tree).unwrap().entries, 5, "mode {mode:o}");
            assert!(!tree.exists(), "mode {mode:o}");
        }
    });
}

#[test]
fn a_directory_without_permissions_is_opened_without_following_a_link() {
    as_plain_user("a_directory_without_permissions_is_opened_without_following_a_link", || {
        // What the canary may do does not change, though a link to it is in the tree.
        let (root, canary) = (tempfile::tempdir().unwrap(), Canary::new());
        let tree = root.path().join("tree");
        fs::create_dir(&tree).unwrap();
        symlink(canary.path(), tree.join("link")).unwrap();
        fs::set_permissions(canary.path(), fs::Permissions::from_mode(0o500)).unwrap();
        fs::set_permissions(&tree, fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(&tree).unwrap();
        let mode = fs::metadata(canary.path()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o500);
        fs::set_permissions(canary.path(), fs::Permissions::from_mode(0o700)).unwrap();
        canary.check();
    });
}

#[test]
fn no_depth_keeps_a_tree() {
    // Beyond PATH_MAX: whoever works in a tree can make that with a loop of mkdir and cd.
    const DEPTH: usize = 1500;
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let name = "four".as_ref();
    let mut at = fs_sys::open_dir(&tree).unwrap();
    for _ in 0..DEPTH {
        fs_sys::make_dir_at(at.at(name), fs_sys::Mode(0o755)).unwrap();
        at = at.open_child(name).unwrap();
    }
    assert_eq!(remove_tree(&tree).unwrap().entries, DEPTH as u64 + 1);
    assert!(!tree.exists());
}

#[test]
fn two_removals_at_once_both_succeed() {
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    for number in 0..300 {
        let directory = tree.join(format!("{number}/below"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("file"), "").unwrap();
    }
    let removed: u64 = std::thread::scope(|scope| {
        let removals = [(); 2].map(|()| scope.spawn(|| remove_tree(&tree)));
        removals.map(|removal| removal.join().unwrap().unwrap().entries).iter().sum()
    });
    assert_eq!(removed, 901);
    assert!(!tree.exists());
}
