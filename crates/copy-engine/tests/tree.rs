//! Copying a tree: what is kept, what is left out and said to be, and what never comes over.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use copy_engine::{
    Cancel, Error, Existing, Filter, Ladder, Method, Options, Progress, Skip, Skipped, Tree,
    Verdict, copy_tree,
};
use fs_sys::{Dir, Kind};
use rustix::fs::{XattrFlags, lsetxattr};
use walk::Ignore;

#[path = "support/filesystems.rs"]
mod filesystems;
#[path = "support/mount.rs"]
mod mount;
#[path = "support/plain_user.rs"]
mod plain_user;
#[path = "support/snapshot.rs"]
mod snapshot;
#[path = "support/watchdog.rs"]
mod watchdog;

use filesystems::{Room, directory_on, is_root, on_each, skip};
use plain_user::as_plain_user;
use snapshot::{Node, snapshot};
use watchdog::within_a_minute;

struct Bed {
    source: PathBuf,
    dest: PathBuf,
    ladder: Ladder,
    workers: usize,
    progress: Progress,
    cancel: Cancel,
    _root: Option<Room>,
}

impl Bed {
    fn new() -> Self {
        let root = Room::new();
        let bed = Self::at(root.path());
        Self { _root: Some(root), ..bed }
    }

    fn at(root: &Path) -> Self {
        let bed = Self {
            source: root.join("source"),
            dest: root.join("dest"),
            ladder: Ladder::new(Method::Reflink, Method::ReadWrite),
            workers: 3,
            progress: Progress::default(),
            cancel: Cancel::default(),
            _root: None,
        };
        fs::create_dir(&bed.source).unwrap();
        fs::create_dir(&bed.dest).unwrap();
        bed
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.source.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.source.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn set_xattr(&self, path: &str, name: &str, value: &[u8]) -> rustix::io::Result<()> {
        lsetxattr(self.source.join(path), name, value, XattrFlags::empty())
    }

    fn copy_filtered(&self, filter: &dyn Filter) -> copy_engine::Result<Tree> {
        let options = Options {
            ladder: &self.ladder,
            workers: NonZero::new(self.workers).unwrap(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        let open = |path: &Path| fs_sys::open_dir(path).unwrap();
        let (source, dest) = (open(&self.source), open(&self.dest));
        within_a_minute(|| copy_tree(&source, &dest, filter, Existing::Fail, &options))
    }

    fn copy(&self) -> copy_engine::Result<Tree> {
        self.copy_filtered(&All)
    }

    /// Copies all, and finds all in the copy and in the outcome.
    fn check(&self) -> Tree {
        let wanted = snapshot(&self.source);
        let tree = self.copy().unwrap();
        assert_eq!((&tree.skipped[..], &tree.lost_attributes[..]), (&[][..], &[][..]));
        assert_same(&snapshot(&self.dest), &wanted);
        let files = wanted.values().filter(|node| node.kind != "directory").count();
        assert_eq!(tree.files.len(), files);
        assert_eq!(self.progress.files(), files as u64);
        assert_eq!(tree.directories, (wanted.len() - files) as u64);
        for copy_engine::CopiedFile { path, stat, .. } in &tree.files {
            assert_eq!(&fs_sys::stat(&self.dest.join(path)).unwrap(), stat, "{}", path.display());
        }
        tree
    }
}

fn assert_same(found: &BTreeMap<PathBuf, Node>, wanted: &BTreeMap<PathBuf, Node>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (path, node) in wanted {
        let other = &found[path];
        assert!(other.content == node.content, "{}: other bytes", path.display());
        let rest = |n: &Node| (n.kind, n.mode, n.mtime, n.group.clone(), n.xattrs.clone());
        assert_eq!(rest(other), rest(node), "{}", path.display());
    }
}

struct All;

impl Filter for All {
    fn judge(&self, _: &Dir, _: &Path, _: Kind, _: Ignore) -> Verdict {
        Verdict::Copy
    }
}

fn fill(bed: &Bed) {
    for size in [0, 1, 4096, 262_145, 3 << 20] {
        bed.write(&format!("sizes/{size}"), &vec![9; size]);
    }
    for (name, mode) in [("d700", 0o700), ("d555", 0o555), ("d500", 0o500), ("d2755", 0o2755)] {
        bed.write(&format!("{name}/below/f"), b"f");
        bed.set_mode(&format!("{name}/below"), mode);
    }
    for mode in [0o644, 0o755, 0o600, 0o444, 0o4755, 0o2711] {
        bed.write(&format!("modes/{mode:o}"), b"m");
        bed.set_mode(&format!("modes/{mode:o}"), mode);
    }
    fill_links(bed);
    fill_xattrs(bed);
    // Last, and from the leaves up: making an entry changes its directory's time.
    let paths: Vec<PathBuf> = snapshot(&bed.source).into_keys().rev().collect();
    for (number, path) in paths.iter().enumerate() {
        let parent = bed.source.join(path.parent().unwrap());
        let dir = fs_sys::open_dir(&parent).unwrap();
        let number = u32::try_from(number).unwrap();
        let seconds = i64::from(number) * 20_000_000 - 100_000_000;
        let mtime = fs_sys::Time { seconds, nanos: 987_654_321 - number };
        fs_sys::set_times(dir.at(path.file_name().unwrap()), mtime).unwrap();
    }
    for name in ["d555", "d500"] {
        let dir = fs_sys::open_dir(&bed.source.join(name)).unwrap();
        dir.set_mode(fs_sys::Mode(u32::from_str_radix(&name[1..], 8).unwrap())).unwrap();
    }
}

fn fill_links(bed: &Bed) {
    for (name, target) in [("up", ".."), ("dangling", "no/such"), ("absolute", "/etc/passwd")] {
        symlink(target, bed.source.join(name)).unwrap();
    }
    fs::hard_link(bed.source.join("dangling"), bed.source.join("dangling-too")).unwrap();
    bed.write("hard/first", b"shared");
    for number in 0..100 {
        let directory = bed.source.join(format!("hard/{}", number % 7));
        fs::create_dir_all(&directory).unwrap();
        let name = directory.join(number.to_string());
        fs::hard_link(bed.source.join("hard/first"), name).unwrap();
    }
}

fn fill_xattrs(bed: &Bed) {
    bed.write("x/file", b"x");
    bed.write("x/read-only", b"x");
    // tmpfs has user attributes from Linux 6.6 on.
    if bed.set_xattr("x/file", "user.k", b"value\0\xff").is_ok() {
        bed.set_xattr("x/file", "user.empty", b"").unwrap();
        bed.set_xattr("x", "user.of-directory", &[5; 1000]).unwrap();
        bed.set_xattr("x/read-only", "user.k", b"r").unwrap();
    }
    bed.set_mode("x/read-only", 0o444);
}

fn everything_is_kept() {
    let bed = Bed::new();
    fill(&bed);
    bed.check();
    on_each(filesystems::ALL, |_, directory| {
        let bed = Bed::at(directory);
        fill(&bed);
        bed.check();
    });
}

#[test]
fn everything_is_kept_by_this_user() {
    everything_is_kept();
}

#[test]
fn everything_is_kept_by_a_plain_user() {
    as_plain_user("everything_is_kept_by_a_plain_user", || {
        let bed = Bed::new();
        fill(&bed);
        bed.check();
    });
}

/// Runs `setfacl`, and says whether that worked.
fn set_acl(arguments: &[&str], path: &Path) -> bool {
    let status = Command::new("setfacl").args(arguments).arg(path).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn acls_are_kept_and_not_inherited() {
    on_each(&["FWT_TEST_EXT4", "FWT_TEST_XFS", "FWT_TEST_BTRFS"], |_, directory| {
        let bed = Bed::at(directory);
        bed.write("d/plain", b"from before the default rule");
        bed.write("d/ruled", b"r");
        bed.write("d/sub/f", b"f");
        if !set_acl(&["-m", "u:12345:rw"], &bed.source.join("d/ruled")) {
            return skip("there is no setfacl");
        }
        assert!(set_acl(&["-d", "-m", "u:12345:rwx"], &bed.source.join("d")));
        bed.set_xattr("d/ruled", "user.k", b"v").unwrap();
        bed.check();
    });
}

#[test]
fn root_keeps_owners_and_capabilities() {
    if !is_root("gives files away") {
        return;
    }
    let bed = Bed::new();
    bed.write("d/program", b"p");
    bed.write("d/setuid", b"s");
    symlink("t", bed.source.join("d/l")).unwrap();
    for path in ["d", "d/program", "d/setuid", "d/l"] {
        std::os::unix::fs::lchown(bed.source.join(path), Some(1234), Some(4321)).unwrap();
    }
    bed.set_mode("d/setuid", 0o6755);
    // CAP_NET_BIND_SERVICE, permitted and effective (vfs_cap_data, revision 2).
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bed.set_xattr("d/program", "security.capability", &capability).unwrap();
    bed.check();
    for path in ["d", "d/program", "d/setuid", "d/l"] {
        let found = fs::symlink_metadata(bed.dest.join(path)).unwrap();
        assert_eq!((found.uid(), found.gid()), (1234, 4321), "{path}");
    }
}

#[test]
fn overlay_marks_never_come_over() {
    let bed = Bed::new();
    bed.write("d/f", b"f");
    bed.set_xattr("d", "user.overlay.opaque", b"y").unwrap();
    bed.set_xattr("d/f", "user.overlay.metacopy", b"").unwrap();
    bed.set_xattr("d/f", "user.overlays", b"not one of them").unwrap();
    if is_root("may set trusted attributes") {
        bed.set_xattr("d", "trusted.overlay.opaque", b"y").unwrap();
        bed.set_xattr("d/f", "trusted.overlay.origin", b"o").unwrap();
    }
    bed.copy().unwrap();
    let found = snapshot(&bed.dest);
    assert_eq!(found[Path::new("d")].xattrs, BTreeMap::new());
    let kept: Vec<_> = found[Path::new("d/f")].xattrs.keys().collect();
    assert_eq!(kept, ["user.overlays"]);
}

#[test]
fn holes_stay_holes() {
    const SIZE: u64 = 256 << 20;
    on_each(filesystems::ALL, |variable, directory| {
        for (number, first) in
            [Method::Reflink, Method::CopyRange, Method::ReadWrite].iter().enumerate()
        {
            let root = directory.join(number.to_string());
            fs::create_dir(&root).unwrap();
            let bed = Bed { ladder: Ladder::new(*first, Method::ReadWrite), ..Bed::at(&root) };
            let file = fs::File::create(bed.source.join("sparse")).unwrap();
            file.set_len(SIZE).unwrap();
            file.write_all_at(b"begin", 0).unwrap();
            file.write_all_at(&vec![1; 1 << 20], 100 << 20).unwrap();
            file.write_all_at(b"end", SIZE - 3).unwrap();
            file.sync_all().unwrap();
            fs::File::create(bed.source.join("hole")).unwrap().set_len(SIZE).unwrap();
            let tree = bed.copy().unwrap();
            assert!(tree.skipped.is_empty());
            let copy = fs::File::open(bed.dest.join("sparse")).unwrap();
            copy.sync_all().unwrap();
            assert_eq!(copy.metadata().unwrap().len(), SIZE, "{variable}");
            for (offset, wanted) in [(0, &b"begin"[..]), (100 << 20, &[1; 5]), (SIZE - 3, b"end")] {
                let mut found = vec![0; wanted.len()];
                copy.read_exact_at(&mut found, offset).unwrap();
                assert_eq!(found, wanted, "{variable}");
            }
            for name in ["sparse", "hole"] {
                let found = fs::metadata(bed.dest.join(name)).unwrap();
                assert_eq!(found.len(), SIZE);
                assert!(found.blocks() * 512 < 4 << 20, "{variable}: {} blocks", found.blocks());
            }
        }
    });
}

fn skipped(list: &[(&str, Skip)]) -> Vec<Skipped> {
    let entry = |(path, skip): &(&str, Skip)| Skipped {
        path: path.into(),
        skip: *skip,
        ignore: Ignore::Not,
    };
    list.iter().map(entry).collect()
}

#[test]
fn special_files_are_listed_and_never_opened() {
    let bed = Bed::new();
    bed.write("d/f", b"f");
    let at = |path: &str| bed.source.join(path);
    let _socket = std::os::unix::net::UnixListener::bind(at("d/socket")).unwrap();
    // Also under the one name that the walk itself opens.
    for path in ["fifo", "d/.gitignore"] {
        assert!(Command::new("mkfifo").arg(at(path)).status().unwrap().success());
    }
    let mut wanted =
        vec![("d/.gitignore", Skip::Special), ("d/socket", Skip::Special), ("fifo", Skip::Special)];
    if is_root("makes devices") {
        let arguments = ["c", "1", "3"];
        let status = Command::new("mknod").arg(at("device")).args(arguments).status().unwrap();
        assert!(status.success());
        wanted.insert(2, ("device", Skip::Special));
    }
    let tree = bed.copy().unwrap();
    assert_eq!(tree.skipped, skipped(&wanted));
    assert_eq!(snapshot(&bed.dest).len(), 2);
}

#[test]
fn a_mount_inside_is_listed_and_not_entered() {
    if !is_root("mounts") {
        return;
    }
    let bed = Bed::new();
    bed.write("d/f", b"f");
    let point = bed.source.join("d/mounted");
    fs::create_dir(&point).unwrap();
    // The same file system: only the mount tells it apart.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("secret"), "s").unwrap();
    let bind = ["--bind", other.path().to_str().unwrap()];
    let Some(_mount) = mount::Mount::new(&bind, &point) else {
        return skip("this process may not mount");
    };
    let tree = bed.copy().unwrap();
    assert_eq!(tree.skipped, skipped(&[("d/mounted", Skip::Mount)]));
    let found: Vec<_> = snapshot(&bed.dest).into_keys().collect();
    assert_eq!(found, [PathBuf::from("d"), PathBuf::from("d/f")]);
}

#[test]
fn what_may_not_be_read_is_listed() {
    as_plain_user("what_may_not_be_read_is_listed", || {
        let bed = Bed::new();
        for path in ["readable", "file", "closed/f", "no-search/f", "no-list/f"] {
            bed.write(path, b"f");
        }
        let modes = [("file", 0o000), ("closed", 0o000), ("no-search", 0o400), ("no-list", 0o300)];
        for (path, mode) in modes {
            bed.set_mode(path, mode);
        }
        let tree = bed.copy().unwrap();
        for (path, _) in modes {
            bed.set_mode(path, 0o700);
        }
        let unreadable = ["closed", "file", "no-list", "no-search"];
        assert_eq!(tree.skipped, skipped(&unreadable.map(|path| (path, Skip::Unreadable))));
        assert_eq!(tree.files.len(), 1);
    });
}

#[test]
fn the_filter_is_asked_for_everything_and_obeyed() {
    struct ByName;
    impl Filter for ByName {
        fn judge(&self, parent: &Dir, relative: &Path, _: Kind, ignore: Ignore) -> Verdict {
            let name = relative.file_name().unwrap();
            assert!(fs_sys::stat_at(parent.at(name)).is_ok(), "the parent is open");
            let name = name.to_str().unwrap();
            if name.starts_with("skip") {
                Verdict::Skip(Skip::NestedRepository)
            } else if name.starts_with("leave") || ignore == Ignore::Ignored {
                Verdict::LeaveOut
            } else {
                Verdict::Copy
            }
        }
    }
    let bed = Bed::new();
    for path in ["a", "leave/x", "skip/x", "d/skip-file", "d/leave-file", "d/f", "ignored/x"] {
        bed.write(path, b"x");
    }
    bed.write(".gitignore", b"ignored\n");
    for path in ["leave-fifo", "skip-fifo", "fifo"] {
        assert!(Command::new("mkfifo").arg(bed.source.join(path)).status().unwrap().success());
    }
    let tree = bed.copy_filtered(&ByName).unwrap();
    let nested = Skip::NestedRepository;
    let wanted =
        [("d/skip-file", nested), ("fifo", Skip::Special), ("skip", nested), ("skip-fifo", nested)];
    assert_eq!(tree.skipped, skipped(&wanted));
    let found: Vec<_> = snapshot(&bed.dest).into_keys().collect();
    assert_eq!(found, [".gitignore", "a", "d", "d/f"].map(PathBuf::from));
}

fn touch_until(path: &Path, is_over: &AtomicBool) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let mut time = SystemTime::UNIX_EPOCH;
    while !is_over.load(Ordering::Relaxed) {
        time += Duration::from_nanos(1);
        file.set_modified(time).unwrap();
        std::thread::yield_now();
    }
}

#[test]
fn a_file_that_never_holds_still_is_listed_if_ignored_and_else_an_error() {
    for (rules, is_ignored) in [(&b"busy\n"[..], true), (b"", false)] {
        let bed = Bed::new();
        let bed = Bed { ladder: Ladder::new(Method::ReadWrite, Method::ReadWrite), ..bed };
        bed.write(".gitignore", rules);
        bed.write("busy", &vec![1; 48 << 20]);
        let path = bed.source.join("busy");
        let is_over = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| touch_until(&path, &is_over));
            }
            let result = bed.copy();
            is_over.store(true, Ordering::Relaxed);
            result
        });
        assert!(!bed.dest.join("busy").exists());
        if is_ignored {
            let mut wanted = skipped(&[("busy", Skip::KeepsChanging)]);
            wanted[0].ignore = Ignore::Ignored;
            assert_eq!(result.unwrap().skipped, wanted);
        } else {
            assert!(matches!(result.unwrap_err(), Error::KeepsChanging { .. }));
        }
    }
}

#[test]
fn nothing_at_the_destination_is_replaced_or_followed() {
    let outside = tempfile::tempdir().unwrap();
    let occupations: [fn(&Path, &Path); 3] = [
        |path, _| fs::write(path, "kept").unwrap(),
        |path, outside| symlink(outside, path).unwrap(),
        |path, outside| symlink(outside.join("new"), path).unwrap(),
    ];
    for occupy in occupations {
        for path in ["x", "x/y"] {
            let bed = Bed::new();
            bed.write(path, b"new");
            occupy(&bed.dest.join("x"), outside.path());
            let before = snapshot(&bed.dest);
            let error = bed.copy().unwrap_err();
            let is_exists = matches!(&error, Error::Fs(e) if e.kind == fs_sys::ErrorKind::Exists);
            assert!(is_exists, "{error:?}");
            assert_same(&snapshot(&bed.dest), &before);
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn a_cancelled_copy_says_so() {
    let bed = Bed::new();
    bed.write("d/f", b"f");
    bed.cancel.cancel();
    assert!(matches!(bed.copy().unwrap_err(), Error::Cancelled));
}

#[test]
fn attributes_that_the_destination_cannot_hold_are_listed() {
    let (Some(one), Some(other)) = (directory_on("FWT_TEST_XFS"), directory_on("FWT_TEST_EXT4"))
    else {
        return;
    };
    let bed = Bed::at(one.path());
    let dest = other.path().join("dest");
    fs::create_dir(&dest).unwrap();
    let bed = Bed { dest, ..bed };
    bed.write("f", b"f");
    bed.set_xattr("f", "user.small", b"s").unwrap();
    // ext4 has one block for all of them.
    bed.set_xattr("f", "user.large", &vec![1; 60_000]).unwrap();
    let tree = bed.copy().unwrap();
    assert_eq!(tree.lost_attributes, [(PathBuf::from("f"), "user.large".into())]);
    let kept: Vec<_> = snapshot(&bed.dest)[Path::new("f")].xattrs.keys().cloned().collect();
    assert_eq!(kept, ["user.small"]);
}
