//! Copying a list: what arrives, what is refused, and what is never touched.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, FileTimes};
use std::io::Write as _;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread::ThreadId;
use std::time::{Duration, SystemTime};

use copy_engine::{
    Bytes, Cancel, Content, Error, Gate, Ladder, Listed, Manifest, Method, Options, Progress,
    Rejection, copy_listed,
};
use fs_sys::ErrorKind;

#[path = "support/filesystems.rs"]
mod filesystems;
#[path = "support/mount.rs"]
mod mount;
#[path = "support/snapshot.rs"]
mod snapshot;
#[path = "support/watchdog.rs"]
mod watchdog;

use filesystems::{Room, directory_on, is_root, on_each, skip};
use snapshot::snapshot;
use watchdog::within_a_minute;

/// A source, an empty destination, and how to copy.
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
        let bed = Self::at(&root.path().join("source"), &root.path().join("dest"));
        Self { _root: Some(root), ..bed }
    }

    fn at(source: &Path, dest: &Path) -> Self {
        fs::create_dir(source).unwrap();
        fs::create_dir(dest).unwrap();
        Self {
            source: source.to_owned(),
            dest: dest.to_owned(),
            ladder: Ladder::new(Method::Reflink, Method::ReadWrite),
            workers: 3,
            progress: Progress::default(),
            cancel: Cancel::default(),
            _root: None,
        }
    }

    fn with(self, first: Method, lowest: Method) -> Self {
        Self { ladder: Ladder::new(first, lowest), ..self }
    }

    fn write(&self, path: impl AsRef<OsStr>, bytes: &[u8]) {
        let path = self.source.join(path.as_ref());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn copy_gated(&self, paths: &[&[u8]], gate: &dyn Gate) -> copy_engine::Result<Listed> {
        let mut paths = paths.to_vec();
        paths.sort_unstable();
        let mut manifest = Manifest::default();
        for (id, path) in paths.iter().enumerate() {
            assert!(manifest.push(path, u32::try_from(id).unwrap()));
        }
        let options = Options {
            ladder: &self.ladder,
            workers: NonZero::new(self.workers).unwrap(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        let (source, dest) =
            (fs_sys::open_dir(&self.source).unwrap(), fs_sys::open_dir(&self.dest).unwrap());
        within_a_minute(|| copy_listed(&source, &dest, &manifest, gate, &options))
    }

    fn copy(&self, paths: &[&[u8]]) -> copy_engine::Result<Listed> {
        self.copy_gated(paths, &Open)
    }

    /// Copies everything in the source and compares what git has too: not directories' times.
    fn check(&self) -> Listed {
        let mut wanted = snapshot(&self.source);
        let listed = {
            let files = wanted.iter().filter(|(_, node)| node.kind != "directory");
            let paths: Vec<_> = files.map(|(path, _)| path.as_os_str().as_bytes()).collect();
            self.copy(&paths).unwrap()
        };
        assert_eq!(listed.rejected, []);
        let mut found = snapshot(&self.dest);
        for node in wanted.values_mut().chain(found.values_mut()) {
            if node.kind == "directory" {
                node.mtime = (0, 0);
            }
        }
        assert_same(&found, &wanted);
        listed
    }
}

/// Without printing megabytes.
fn assert_same(
    found: &BTreeMap<PathBuf, snapshot::Node>,
    wanted: &BTreeMap<PathBuf, snapshot::Node>,
) {
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (path, node) in wanted {
        let other = &found[path];
        assert!(other.content == node.content, "{}: other bytes", path.display());
        let rest = |n: &snapshot::Node| (n.kind, n.mode, n.mtime, n.group.clone());
        assert_eq!(rest(other), rest(node), "{}", path.display());
        assert_eq!(other.xattrs, node.xattrs, "{}", path.display());
    }
}

/// Admits everything.
struct Open;

impl Gate for Open {
    fn admits(&self, _: u32, _: &fs_sys::Stat, _: Content<'_>) -> fs_sys::Result<bool> {
        Ok(true)
    }
}

/// Does something while it is asked, and admits.
struct Meddle<F>(F);

impl<F: Fn() + Sync> Gate for Meddle<F> {
    fn admits(&self, _: u32, _: &fs_sys::Stat, _: Content<'_>) -> fs_sys::Result<bool> {
        (self.0)();
        Ok(true)
    }
}

fn fill(bed: &Bed) {
    for size in [0, 1, 4095, 4096, 4097, 262_143, 262_144, 262_145, 3 << 20] {
        let bytes: Vec<u8> = (0..size).map(|n: usize| (n * 7 + n / 251).to_le_bytes()[0]).collect();
        bed.write(format!("sizes/{size}"), &bytes);
    }
    for name in [&b"new\nline"[..], b"quo\"te'", b"\xff\xfe not UTF-8", b" ", b"-rf", &[b'n'; 255]]
    {
        bed.write(OsStr::from_bytes(&[b"names/", name].concat()), name);
        bed.write(OsStr::from_bytes(&[b"in/", name, b"/file"].concat()), name);
    }
    for mode in [0o644, 0o755, 0o600, 0o444, 0o400, 0o777] {
        bed.write(format!("modes/{mode:o}"), b"m");
        let path = bed.source.join(format!("modes/{mode:o}"));
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (name, seconds) in [("1969", -1_000_i64), ("2001", 981_173_106), ("2040", 2_208_988_800)] {
        bed.write(format!("times/{name}"), b"t");
        symlink("nowhere", bed.source.join(format!("times/link-{name}"))).unwrap();
        for path in [format!("times/{name}"), format!("times/link-{name}")] {
            let mtime = fs_sys::Time { seconds, nanos: 123_456_789 };
            let dir = fs_sys::open_dir(&bed.source.join("times")).unwrap();
            let name = Path::new(&path).file_name().unwrap();
            fs_sys::set_times(dir.at(name), mtime).unwrap();
        }
    }
    fs::create_dir(bed.source.join("links")).unwrap();
    for (name, target) in [("up", ".."), ("dangling", "no/such"), ("absolute", "/etc/passwd")] {
        symlink(target, bed.source.join("links").join(name)).unwrap();
    }
    fs::set_permissions(bed.source.join("modes"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn everything_git_knows_arrives_by_every_method() {
    const METHODS: [Method; 3] = [Method::Reflink, Method::CopyRange, Method::ReadWrite];
    for first in METHODS {
        let bed = Bed::new().with(first, Method::ReadWrite);
        fill(&bed);
        let listed = bed.check();
        for (_, stat) in &listed.copied {
            assert!(listed.copied.iter().filter(|(_, other)| other.ino == stat.ino).count() == 1);
        }
    }
    on_each(filesystems::ALL, |_, directory| {
        for (number, first) in METHODS.into_iter().enumerate() {
            let at = |name: &str| directory.join(format!("{name}{number}"));
            let bed = Bed::at(&at("source"), &at("dest")).with(first, Method::ReadWrite);
            fill(&bed);
            bed.check();
        }
    });
}

#[test]
fn the_stat_that_is_returned_is_that_of_the_copy() {
    let bed = Bed::new();
    fill(&bed);
    let listed = bed.check();
    let by_inode: BTreeMap<u64, &fs_sys::Stat> =
        listed.copied.iter().map(|(_, stat)| (stat.ino, stat)).collect();
    for (path, node) in snapshot(&bed.dest) {
        if node.kind != "directory" {
            let now = fs_sys::stat(&bed.dest.join(&path)).unwrap();
            assert_eq!(by_inode[&now.ino], &now, "{}", path.display());
        }
    }
}

#[test]
fn setuid_setgid_and_attributes_stay_behind() {
    let bed = Bed::new();
    bed.write("su", b"x");
    let path = bed.source.join("su");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    rustix::fs::lsetxattr(&path, "user.k", b"v", rustix::fs::XattrFlags::empty()).unwrap();
    bed.copy(&[b"su"]).unwrap();
    assert!(snapshot(&bed.dest)[Path::new("su")].xattrs.is_empty());
    assert_eq!(fs::metadata(bed.dest.join("su")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn what_is_no_file_is_missing_and_never_opened() {
    let bed = Bed::new();
    let at = |name: &str| bed.source.join(name);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    fs::create_dir(at("directory")).unwrap();
    bed.write("file", b"f");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    symlink(outside.path(), at("link")).unwrap();
    // A writer waits at the FIFO. Whoever opened it to look at it would let the writer go on.
    let (fifo, at_writer) = (at("fifo"), std::sync::Arc::new(Mutex::new(false)));
    let is_open = std::sync::Arc::clone(&at_writer);
    let writer = std::thread::spawn(move || {
        let file = fs::OpenOptions::new().write(true).open(fifo).unwrap();
        *is_open.lock().unwrap() = true;
        drop(file);
    });
    std::thread::sleep(Duration::from_millis(50));
    let paths: [&[u8]; 8] = [
        b"absent",
        b"absent-directory/x/y",
        b"directory",
        b"fifo",
        b"fifo2/x",
        b"file/x",
        b"link/secret",
        b"socket",
    ];
    let listed = bed.copy(&paths).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let was_opened = *at_writer.lock().unwrap();
    drop(fs::File::open(at("fifo")).unwrap());
    writer.join().unwrap();
    assert!(!was_opened, "the FIFO was opened");
    assert!(listed.copied.is_empty());
    assert_eq!(listed.rejected.len(), paths.len());
    assert!(listed.rejected.iter().all(|(_, why)| *why == Rejection::Missing), "{listed:?}");
    // Their directories exist, and nothing else.
    let found: Vec<_> = snapshot(&bed.dest).into_iter().map(|(p, n)| (p, n.kind)).collect();
    let wanted = ["absent-directory", "absent-directory/x", "fifo2", "file", "link"];
    assert_eq!(found, wanted.map(|path| (PathBuf::from(path), "directory")));
}

#[test]
fn a_gate_that_declines_is_obeyed() {
    struct Even;
    impl Gate for Even {
        fn admits(&self, id: u32, _: &fs_sys::Stat, content: Content<'_>) -> fs_sys::Result<bool> {
            if let Content::Link(target) = content {
                assert_eq!(target, "target");
            }
            Ok(id.is_multiple_of(2))
        }
    }
    let bed = Bed::new();
    bed.write("a", b"a");
    bed.write("b", b"b");
    symlink("target", bed.source.join("c")).unwrap();
    symlink("target", bed.source.join("d")).unwrap();
    let mut listed = bed.copy_gated(&[b"a", b"b", b"c", b"d"], &Even).unwrap();
    listed.rejected.sort_by_key(|(id, _)| *id);
    assert_eq!(listed.rejected, [(1, Rejection::Declined), (3, Rejection::Declined)]);
    assert_eq!(listed.copied.len(), 2);
    let found: Vec<_> = snapshot(&bed.dest).into_keys().collect();
    assert_eq!(found, [PathBuf::from("a"), PathBuf::from("c")]);
}

#[test]
fn a_source_that_changes_meanwhile_is_no_copy() {
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 7] = [
        ("grows", |path| {
            fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
        }),
        ("shrinks", |path| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap();
        }),
        ("keeps its size and its time", |path| {
            let mtime = fs::metadata(path).unwrap().modified().unwrap();
            let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all(b"other").unwrap();
            file.set_times(FileTimes::new().set_modified(mtime)).unwrap();
        }),
        ("is touched", |path| {
            let file = fs::File::open(path).unwrap();
            file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).unwrap();
        }),
        ("changes its mode", |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o711)).unwrap();
        }),
        ("is replaced", |path| {
            fs::write(path.with_extension("new"), "new").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("is removed", |path| fs::remove_file(path).unwrap()),
    ];
    for size in [100, 1 << 20] {
        for (what, change) in &changes {
            let bed = Bed::new();
            bed.write("d/f", &vec![1; size]);
            // The clock of some kernels ticks every 4 ms: the change is to be at a later tick.
            std::thread::sleep(Duration::from_millis(20));
            let path = bed.source.join("d/f");
            let listed = bed.copy_gated(&[b"d/f"], &Meddle(|| change(&path))).unwrap();
            assert_eq!(listed.rejected, [(0, Rejection::Changed)], "{what}");
            assert_eq!(fs::read_dir(bed.dest.join("d")).unwrap().count(), 0, "{what}");
        }
    }
}

#[test]
fn a_link_that_changes_meanwhile_is_no_copy() {
    let changes: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            symlink("other", path).unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "file").unwrap();
        },
    ];
    for change in changes {
        let bed = Bed::new();
        let path = bed.source.join("l");
        symlink("target", &path).unwrap();
        let listed = bed.copy_gated(&[b"l"], &Meddle(|| change(&path))).unwrap();
        assert_eq!(listed.rejected, [(0, Rejection::Changed)]);
        assert_eq!(fs::read_dir(&bed.dest).unwrap().count(), 0);
    }
}

#[test]
fn nothing_at_the_destination_is_replaced_or_followed() {
    type Occupy = (&'static [u8], Box<dyn Fn(&Path)>);
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    let target = canary.clone();
    let dangling = outside.path().join("new");
    let directory = outside.path().to_owned();
    let occupations: [Occupy; 5] = [
        (b"x", Box::new(|path| fs::write(path, "kept").unwrap())),
        (b"x", Box::new(move |path| symlink(&target, path).unwrap())),
        (b"x", Box::new(move |path| symlink(&dangling, path).unwrap())),
        (b"x/y", Box::new(move |path| symlink(&directory, path).unwrap())),
        (b"x", Box::new(|path| fs::create_dir(path).unwrap())),
    ];
    for (path, occupy) in &occupations {
        for first in [Method::Reflink, Method::ReadWrite] {
            fs::write(&canary, "canary").unwrap();
            let bed = Bed::new().with(first, Method::ReadWrite);
            bed.write(OsStr::from_bytes(path), b"new");
            occupy(&bed.dest.join("x"));
            let before = snapshot(&bed.dest);
            let error = bed.copy(&[path]).unwrap_err();
            assert!(matches!(&error, Error::Fs(e) if e.kind == ErrorKind::Exists), "{error:?}");
            assert_same(&snapshot(&bed.dest), &before);
            assert_eq!(fs::read(&canary).unwrap(), b"canary");
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn a_huge_directory_is_whole_and_shared_out() {
    /// Takes its time with each file until a second worker has come: a directory is shared out when
    /// somebody has nothing else to do.
    #[derive(Default)]
    struct Meet(Mutex<HashSet<ThreadId>>);
    impl Gate for Meet {
        fn admits(&self, _: u32, _: &fs_sys::Stat, _: Content<'_>) -> fs_sys::Result<bool> {
            let mut seen = self.0.lock().unwrap();
            seen.insert(std::thread::current().id());
            let is_alone = seen.len() < 2;
            drop(seen);
            if is_alone {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(true)
        }
    }
    let meet = Meet::default();
    let bed = Bed::new();
    fs::create_dir(bed.source.join("d")).unwrap();
    let names: Vec<String> = (0..5000).map(|number| format!("d/{number}")).collect();
    for name in &names {
        fs::write(bed.source.join(name), name).unwrap();
    }
    let paths: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    let listed = bed.copy_gated(&paths, &meet).unwrap();
    assert!(meet.0.lock().unwrap().len() > 1, "one worker had it all");
    assert_eq!((listed.copied.len(), listed.rejected.len()), (5000, 0));
    assert_eq!(bed.progress.files(), 5000);
    let bytes: u64 = names.iter().map(|name| name.len() as u64).sum();
    let Bytes { cloned, copied } = bed.progress.bytes();
    assert_eq!((cloned + copied, listed.bytes), (bytes, bed.progress.bytes()));
    for name in names {
        assert_eq!(fs::read(bed.dest.join(&name)).unwrap(), name.as_bytes());
    }
}

#[test]
fn a_cancel_ends_the_copy_between_files_and_within_one() {
    let bed = Bed::new().with(Method::ReadWrite, Method::ReadWrite);
    for name in ["a", "b", "c"] {
        bed.write(name, &vec![7; 1 << 20]);
    }
    let error = bed.copy_gated(&[b"a", b"b", b"c"], &Meddle(|| bed.cancel.cancel())).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error:?}");
    assert_eq!(bed.progress.files(), 0, "the file during which it came is not finished");
    // One that is cancelled before it begins makes nothing.
    let bed = Bed::new();
    bed.write("d/a", b"a");
    bed.cancel.cancel();
    assert!(matches!(bed.copy(&[b"d/a"]).unwrap_err(), Error::Cancelled));
    assert_eq!(fs::read_dir(&bed.dest).unwrap().count(), 0);
}

#[test]
fn a_path_longer_than_one_call_takes_is_copied() {
    let bed = Bed::new();
    let name = "d".repeat(200);
    let mut at = fs_sys::open_dir(&bed.source).unwrap();
    let mut path = Vec::new();
    for _ in 0..30 {
        fs_sys::make_dir_at(at.at(name.as_ref()), fs_sys::Mode(0o755)).unwrap();
        at = at.open_child(name.as_ref()).unwrap();
        path.extend_from_slice(name.as_bytes());
        path.push(b'/');
    }
    let file = fs_sys::File::create(at.at("f".as_ref()), fs_sys::Mode(0o644)).unwrap();
    file.write_all_at(b"deep", 0).unwrap();
    path.push(b'f');
    let listed = bed.copy(&[&path]).unwrap();
    assert_eq!((listed.copied.len(), listed.rejected.len()), (1, 0));
    assert!(fs_sys::remove_tree(&bed.dest).unwrap().entries == 32);
    assert!(fs_sys::remove_tree(&bed.source).unwrap().entries == 32);
}

#[test]
fn a_full_disk_is_an_error_of_its_own_kind() {
    if !is_root("mounts a small disk") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let point = root.path().join("full");
    fs::create_dir(&point).unwrap();
    let Some(_mount) = mount::Mount::new(&["-t", "tmpfs", "-o", "size=1m", "none"], &point) else {
        return skip("this process may not mount");
    };
    for first in [Method::Reflink, Method::CopyRange, Method::ReadWrite] {
        let name = format!("{first:?}");
        let bed = Bed::at(&root.path().join(&name), &point.join(&name));
        let bed = bed.with(first, Method::ReadWrite);
        bed.write("big", &vec![1; 4 << 20]);
        let error = bed.copy(&[b"big"]).unwrap_err();
        assert!(matches!(&error, Error::Fs(e) if e.kind == ErrorKind::NoSpace), "{error:?}");
        fs_sys::remove_tree(&bed.dest).unwrap();
    }
}

#[test]
fn a_clone_shares_its_extents() {
    on_each(&["FWT_TEST_XFS", "FWT_TEST_BTRFS"], |_, directory| {
        let bed = Bed::at(&directory.join("source"), &directory.join("dest"));
        let bed = bed.with(Method::Reflink, Method::Reflink);
        bed.write("big", &vec![3; 3 << 20]);
        bed.write("empty", b"");
        let listed = bed.check();
        assert_eq!(listed.bytes, Bytes { cloned: 3 << 20, copied: 0 });
        assert_eq!(bed.ladder.method(), Method::Reflink);
        let output =
            Command::new("filefrag").arg("-vs").arg(bed.dest.join("big")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("shared"), "{text}");
    });
}

#[test]
fn where_nothing_can_be_shared_the_ladder_falls_or_says_so() {
    on_each(&["FWT_TEST_EXT4", "FWT_TEST_TMPFS"], |variable, directory| {
        let bed = Bed::at(&directory.join("source"), &directory.join("dest"));
        bed.write("big", &vec![3; 3 << 20]);
        bed.write("small", b"s");
        let listed = bed.check();
        assert_eq!(listed.bytes.cloned, 0);
        assert!(bed.ladder.method() > Method::Reflink, "{variable}");
        let bed = Bed::at(&directory.join("source2"), &directory.join("dest2"));
        let bed = bed.with(Method::Reflink, Method::Reflink);
        bed.write("big", b"big");
        let error = bed.copy(&[b"big"]).unwrap_err();
        assert!(matches!(&error, Error::Fs(e) if e.kind == ErrorKind::Unsupported), "{error:?}");
        assert_eq!(fs::read_dir(&bed.dest).unwrap().count(), 0);
    });
}

#[test]
fn between_two_file_systems_bytes_are_copied_or_the_reason_is_given() {
    let (Some(one), Some(other)) = (directory_on("FWT_TEST_XFS"), directory_on("FWT_TEST_BTRFS"))
    else {
        return;
    };
    let at = |name: &str| (one.path().join(name), other.path().join(name));
    let (source, dest) = at("falls");
    let bed = Bed::at(&source, &dest);
    fill(&bed);
    assert_eq!(bed.check().bytes.cloned, 0);
    let (source, dest) = at("stays");
    let bed = Bed::at(&source, &dest).with(Method::Reflink, Method::Reflink);
    bed.write("f", b"f");
    let error = bed.copy(&[b"f"]).unwrap_err();
    assert!(matches!(&error, Error::Fs(e) if e.kind == ErrorKind::CrossDevice), "{error:?}");
    assert_eq!(fs::read_dir(&bed.dest).unwrap().count(), 0);
}

#[test]
fn root_keeps_owners() {
    if !is_root("gives files away") {
        return;
    }
    let bed = Bed::new();
    bed.write("d/f", b"f");
    symlink("t", bed.source.join("d/l")).unwrap();
    for path in ["d", "d/f", "d/l"] {
        std::os::unix::fs::lchown(bed.source.join(path), Some(1234), Some(4321)).unwrap();
    }
    fs::set_permissions(bed.source.join("d/f"), fs::Permissions::from_mode(0o4751)).unwrap();
    bed.copy(&[b"d/f", b"d/l"]).unwrap();
    for path in ["d", "d/f", "d/l"] {
        let found = fs::symlink_metadata(bed.dest.join(path)).unwrap();
        assert_eq!((found.uid(), found.gid()), (1234, 4321), "{path}");
    }
    assert_eq!(fs::metadata(bed.dest.join("d/f")).unwrap().mode() & 0o7777, 0o751);
}
