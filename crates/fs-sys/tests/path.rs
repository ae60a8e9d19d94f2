//! The calls by path: nothing is replaced or followed unless that is what the call is for.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fs_sys::{ErrorKind, Mode};

const MODE: Mode = Mode(0o644);

/// Things that may be in the way, each made at a path.
type Obstacle = (&'static str, fn(&Path));
const OBSTACLES: [Obstacle; 5] = [
    ("a file", |path| fs::write(path, "kept").unwrap()),
    ("an empty directory", |path| fs::create_dir(path).unwrap()),
    ("a directory", |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("kept"), "kept").unwrap();
    }),
    ("a dangling link", |path| symlink("target", path).unwrap()),
    ("a link to a file", |path| {
        fs::write(path.with_file_name("target"), "kept").unwrap();
        symlink("target", path).unwrap();
    }),
];

/// Every path below `root` with its content or target.
fn state(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        let content = if kind.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if kind.is_dir() {
            found.extend(state(&path));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.push((path, content));
    }
    found.sort();
    found
}

#[test]
fn what_is_there_is_not_replaced() {
    type Call = (&'static str, fn(&Path, &Path) -> fs_sys::Result<()>);
    let calls: [Call; 4] = [
        ("rename a file", |to, root| fs_sys::rename_noreplace(&root.join("file"), to)),
        ("rename a directory", |to, root| fs_sys::rename_noreplace(&root.join("directory"), to)),
        ("write", |to, _| fs_sys::write_new(to, b"new", MODE)),
        ("link", |to, _| fs_sys::symlink_path("new".as_ref(), to)),
    ];
    for (obstacle, make) in OBSTACLES {
        for (call, act) in calls {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join("file"), "source").unwrap();
            fs::create_dir(root.path().join("directory")).unwrap();
            let to = root.path().join("to");
            make(&to);
            let before = state(root.path());
            let error = act(&to, root.path()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Exists, "{call} onto {obstacle}");
            assert_eq!(error.path, to, "{call} onto {obstacle}");
            assert_eq!(state(root.path()), before, "{call} onto {obstacle}");
        }
    }
}

#[test]
fn a_free_place_is_taken() {
    let root = tempfile::tempdir().unwrap();
    let (from, to) = (root.path().join("from"), root.path().join("to"));
    fs_sys::write_new(&from, b"bytes", MODE).unwrap();
    fs_sys::rename_noreplace(&from, &to).unwrap();
    assert_eq!(fs_sys::read_file(&to).unwrap(), b"bytes");
    assert!(!fs_sys::exists(&from).unwrap());
    let error = fs_sys::rename_noreplace(&from, &root.path().join("other")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn a_replaced_file_is_always_whole() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file");
    let versions = [vec![b'a'; 100_000], vec![b'b'; 200_000]];
    fs::write(&path, &versions[0]).unwrap();
    // What a crashed run left.
    fs::write(root.path().join("beside"), "half").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let read = fs_sys::read_file(&path).unwrap();
                assert!(versions.contains(&read), "half of a file: {} bytes", read.len());
            }
        });
        for number in 0..60 {
            let bytes = &versions[number % 2];
            fs_sys::replace_file(&path, "beside".as_ref(), bytes, MODE).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(state(root.path()), [(path, versions[1].clone())]);
}

#[test]
fn replacing_a_link_replaces_the_link() {
    let root = tempfile::tempdir().unwrap();
    let (path, target) = (root.path().join("link"), root.path().join("target"));
    fs::write(&target, "kept").unwrap();
    symlink("target", &path).unwrap();
    // The temporary name is a link as well: it goes as one.
    symlink("target", root.path().join("beside")).unwrap();
    fs_sys::replace_file(&path, "beside".as_ref(), b"new", MODE).unwrap();
    assert_eq!(state(root.path()), [(path, b"new".to_vec()), (target, b"kept".to_vec())]);
}

#[test]
fn a_failed_replacement_leaves_no_temporary_file() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("directory");
    fs::create_dir(&path).unwrap();
    let error = fs_sys::replace_file(&path, "beside".as_ref(), b"new", MODE).unwrap_err();
    assert_eq!(error.kind, ErrorKind::IsADirectory);
    assert_eq!(state(root.path()), [(path, Vec::new())]);
}

#[test]
fn make_dirs_says_exactly_what_it_made() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::create_dir(at("real")).unwrap();
    symlink("real", at("link")).unwrap();
    let make = |path: &str| fs_sys::make_dirs(&at(path), Mode(0o755)).unwrap();
    assert_eq!(make("a/b/c"), [at("a"), at("a/b"), at("a/b/c")]);
    assert_eq!(make("a/b/d"), [at("a/b/d")]);
    assert_eq!(make("a/b/d"), [] as [PathBuf; 0]);
    assert_eq!(make("link/x"), [at("link/x")]);
    assert_eq!(make("link"), [] as [PathBuf; 0]);
    assert!(at("real/x").is_dir());
}

#[test]
fn make_dirs_that_fails_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    symlink("nowhere", root.path().join("dangling")).unwrap();
    let before = state(root.path());
    let too_long = format!("new/below/{}", "n".repeat(300));
    for (path, kind) in [
        ("file", ErrorKind::NotADirectory),
        ("file/x", ErrorKind::NotADirectory),
        ("dangling", ErrorKind::NotADirectory),
        (&too_long, ErrorKind::NameTooLong),
    ] {
        let error = fs_sys::make_dirs(&root.path().join(path), Mode(0o755)).unwrap_err();
        assert_eq!(error.kind, kind, "{path}");
        assert_eq!(state(root.path()), before, "{path}");
    }
}

#[test]
fn two_that_make_the_same_directories_share_them_out() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..50 {
        let path = root.path().join(format!("{number}/a/b"));
        let made: usize = std::thread::scope(|scope| {
            let makers = [(); 4].map(|()| scope.spawn(|| fs_sys::make_dirs(&path, Mode(0o755))));
            makers.map(|maker| maker.join().unwrap().unwrap().len()).iter().sum()
        });
        assert_eq!(made, 3, "each directory belongs to one of them");
    }
}

#[test]
fn reading_does_not_follow_the_last_link_and_does_not_hang() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::write(at("file"), "bytes").unwrap();
    symlink("file", at("link")).unwrap();
    let mut command = std::process::Command::new("mkfifo");
    assert!(command.arg(at("fifo")).status().unwrap().success());
    assert_eq!(fs_sys::read_file(&at("file")).unwrap(), b"bytes");
    assert_eq!(fs_sys::read_file(&at("link")).unwrap_err().kind, ErrorKind::Link);
    assert_eq!(fs_sys::read_file(&at("absent")).unwrap_err().kind, ErrorKind::NotFound);
    fs_sys::read_file(&at("fifo")).unwrap_err();
    fs_sys::read_file(root.path()).unwrap_err();
    assert!(fs_sys::read_file(Path::new("/proc/self/maps")).unwrap().len() > 100);
}

#[test]
fn a_directory_beneath_is_reached_by_names_alone() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    symlink(outside.path(), root.path().join("link")).unwrap();
    symlink("a", root.path().join("inner")).unwrap();
    let dir = fs_sys::open_dir(root.path()).unwrap();
    let open =
        |path: &str| dir.open_beneath(Path::new(path)).map(|found| found.stat().unwrap().ino);
    assert_eq!(open("").unwrap(), dir.stat().unwrap().ino);
    assert_eq!(open("a/b").unwrap(), fs_sys::stat(&root.path().join("a/b")).unwrap().ino);
    for path in ["link", "inner/b", "..", "a/../..", "/", "file", "absent"] {
        let kind = open(path).unwrap_err().kind;
        assert!(
            matches!(
                kind,
                ErrorKind::Link
                    | ErrorKind::CrossDevice
                    | ErrorKind::NotADirectory
                    | ErrorKind::NotFound
            ),
            "{path}: {kind:?}"
        );
    }
}
