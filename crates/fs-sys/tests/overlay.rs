//! Overlays on every file system, in each of the three ways, and what mount tables say of them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use fs_sys::{
    ErrorKind, Failed, Immutable, Mark, Mode, Mounted, Overlay, Superblock, Unmount, Unmounted,
    Way, Writable, load_mark, mount_inside, mount_overlay, mount_overlay_by, mounts, open_dir,
    superblock_of, unmount,
};

#[path = "support/filesystems.rs"]
mod filesystems;

use filesystems::{ALL, directory_on, is_root, on_each};

/// Directories for an overlay; what is mounted goes with them.
struct Bed {
    lower: Vec<PathBuf>,
    upper: PathBuf,
    work: PathBuf,
    point: PathBuf,
}

impl Bed {
    fn new(root: &Path, layers: usize) -> Self {
        let make = |name: String| {
            let path = root.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        Self {
            lower: (0..layers).map(|number| make(format!("lower-{number}"))).collect(),
            upper: make("upper".to_owned()),
            work: make("work".to_owned()),
            point: make("point".to_owned()),
        }
    }

    fn overlay(&self) -> Overlay<'_> {
        let writable = Writable { upper: &self.upper, work: &self.work };
        Overlay { lower: &self.lower, writable: Some(writable) }
    }

    fn mounted(&self) -> Option<Mounted> {
        mounts().unwrap().into_iter().rev().find(|mounted| mounted.point == self.point)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        while unmount(&self.point, Unmount::Lazily).unwrap() == Unmounted::Done {}
    }
}

/// Mounts what was mounted before. Whoever made a mount namespace meanwhile (another test, a container)
/// has a copy of that mount, and the upper is in use until the copy is gone.
fn again(mount: impl Fn() -> fs_sys::Result<Way>) -> fs_sys::Result<Way> {
    for _ in 0..200 {
        match mount() {
            Err(error) if error.kind == ErrorKind::Busy => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            other => return other,
        }
    }
    mount()
}

fn is_way_error(failed: Result<(), Failed>, kind: ErrorKind) -> bool {
    matches!(failed, Err(Failed::Way(error)) if error.kind == kind)
}

#[test]
fn each_way_mounts_with_the_options_that_fwt_wants() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, root| {
        for (number, way) in Way::ALL.into_iter().enumerate() {
            // Names that the kernel would take apart.
            let root = root.join(format!("{number} a,b:c\\d\ne"));
            let bed = Bed::new(&root, 2);
            fs::create_dir(bed.lower[1].join("d")).unwrap();
            fs::write(bed.lower[1].join("d/f"), "below").unwrap();
            fs::write(bed.lower[0].join("top"), "top").unwrap();
            fs::hard_link(bed.lower[0].join("top"), bed.lower[0].join("other")).unwrap();
            mount_overlay_by(way, &bed.overlay(), &bed.point).unwrap();
            let mounted = bed.mounted().unwrap();
            assert_eq!(mounted.file_system, "overlay");
            assert!(mounted.has_option("nosuid") && mounted.has_option("nodev"), "{mounted:?}");
            let of_table =
                Superblock { device: mounted.device, options: mounted.super_options.clone() };
            let found = superblock_of(&open_dir(&bed.point).unwrap()).unwrap().unwrap();
            assert_eq!(found.device, of_table.device);
            assert_eq!(found.option("upperdir"), of_table.option("upperdir"));
            fs::write(bed.point.join("top"), "changed").unwrap();
            assert_eq!(fs::read(bed.point.join("other")).unwrap(), b"changed", "a hard link broke");
            fs::rename(bed.point.join("d"), bed.point.join("e")).unwrap();
            assert_eq!(fs::read(bed.point.join("e/f")).unwrap(), b"below");
            assert_eq!(fs::read(bed.lower[0].join("top")).unwrap(), b"top");
            let renamed = open_dir(&bed.upper.join("e")).unwrap();
            let redirect = load_mark(&renamed, Mark::Redirect, PathBuf::new).unwrap();
            assert_eq!(redirect.as_deref(), Some(&b"d"[..]));
            let upper = open_dir(&bed.upper).unwrap();
            assert!(fs_sys::is_whiteout(upper.at("d".as_ref())).unwrap());
            // The same upper a second time: `index=on` says no.
            let second = root.join("second");
            fs::create_dir(&second).unwrap();
            let Err(Failed::Mount(error)) = mount_overlay_by(way, &bed.overlay(), &second) else {
                panic!("one upper is mounted twice");
            };
            assert_eq!(error.kind, ErrorKind::Busy);
            assert_eq!(unmount(&bed.point, Unmount::Now).unwrap(), Unmounted::Done);
            assert_eq!(unmount(&bed.point, Unmount::Now).unwrap(), Unmounted::NotMounted);
            assert!(bed.mounted().is_none());
        }
    });
}

#[test]
fn a_mount_inside_is_found_from_a_mount_and_from_a_directory() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, root| {
        let (outer, mut inner) = (Bed::new(root, 1), Bed::new(&root.join("a b\\c\nd"), 1));
        inner.point = outer.point.join("e f\ng");
        let inside = |path: &Path| mount_inside(&open_dir(path).unwrap(), path).unwrap();
        assert_eq!(inside(root), None);
        mount_overlay_by(Way::Paths, &outer.overlay(), &outer.point).unwrap();
        assert_eq!(inside(&outer.point), None, "itself does not count");
        assert_eq!(inside(root).as_ref(), Some(&outer.point));
        fs::create_dir(&inner.point).unwrap();
        mount_overlay_by(Way::Paths, &inner.overlay(), &inner.point).unwrap();
        assert_eq!(inside(&outer.point).as_ref(), Some(&inner.point));
        drop(inner);
        assert_eq!(inside(&outer.point), None);
    });
}

#[test]
fn many_layers_are_stacked_and_too_many_are_refused_before_the_call() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, root| {
        let bed = Bed::new(root, 130);
        for (number, lower) in bed.lower.iter().enumerate() {
            fs::write(lower.join("all"), number.to_string()).unwrap();
            fs::write(lower.join(format!("only-{number}")), "").unwrap();
        }
        for way in [Way::Descriptors, Way::Paths] {
            let mount = || match mount_overlay_by(way, &bed.overlay(), &bed.point) {
                Ok(()) => Ok(way),
                Err(Failed::Way(error) | Failed::Mount(error)) => Err(error),
            };
            again(mount).unwrap();
            assert_eq!(fs::read(bed.point.join("all")).unwrap(), b"0");
            assert_eq!(fs::read_dir(&bed.point).unwrap().count(), 131);
            unmount(&bed.point, Unmount::Now).unwrap();
        }
        let page = mount_overlay_by(Way::Options, &bed.overlay(), &bed.point);
        assert!(is_way_error(page, ErrorKind::NameTooLong));
        let lower = vec![bed.lower[0].clone(); fs_sys::MAX_LAYERS + 1];
        let overlay = Overlay { lower: &lower, ..bed.overlay() };
        assert!(mount_overlay(&overlay, &bed.point).is_err());
        assert!(bed.mounted().is_none());
    });
}

#[test]
fn a_long_path_goes_by_descriptor() {
    if !is_root("mounts") {
        return;
    }
    let Some(root) = directory_on("FWT_TEST_EXT4") else { return };
    let deep = root.path().join("n".repeat(255)).join("m".repeat(255));
    let bed = Bed::new(&deep, 1);
    let paths = mount_overlay_by(Way::Paths, &bed.overlay(), &bed.point);
    assert!(is_way_error(paths, ErrorKind::NameTooLong));
    assert_eq!(mount_overlay(&bed.overlay(), &bed.point).unwrap(), Way::Descriptors);
}

#[test]
fn an_overlay_that_is_mounted_nowhere_is_reached_and_leaves_nothing() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, root| {
        let bed = Bed::new(root, 2);
        fs::write(bed.lower[1].join("f"), "below").unwrap();
        let view = Overlay { lower: &bed.lower, writable: None };
        let mount = fs_sys::detached_overlay(&view).unwrap();
        let dir = mount.root().unwrap();
        assert_eq!(fs_sys::stat_at(dir.at("f".as_ref())).unwrap().size, 5);
        let write = fs_sys::make_dir_at(dir.at("d".as_ref()), Mode(0o700));
        assert_eq!(write.unwrap_err().kind, ErrorKind::ReadOnly);
        assert!(!mounts().unwrap().iter().any(|mounted| mounted.point.starts_with(root)));
        drop(dir);
        drop(mount);
        fs_sys::detached_overlay(&bed.overlay()).unwrap();
        // Its upper is free again.
        again(|| mount_overlay(&bed.overlay(), &bed.point)).unwrap();
    });
}

#[test]
fn a_tree_in_use_is_busy_and_a_link_is_no_mount_point() {
    if !is_root("mounts") {
        return;
    }
    let Some(root) = directory_on("FWT_TEST_TMPFS") else { return };
    let bed = Bed::new(root.path(), 1);
    mount_overlay(&bed.overlay(), &bed.point).unwrap();
    let open = fs::File::create(bed.point.join("f")).unwrap();
    assert_eq!(unmount(&bed.point, Unmount::Now).unwrap_err().kind, ErrorKind::Busy);
    let link = root.path().join("link");
    symlink(&bed.point, &link).unwrap();
    assert_eq!(unmount(&link, Unmount::Now).unwrap(), Unmounted::NotMounted);
    drop(open);
    unmount(&bed.point, Unmount::Now).unwrap();
    assert!(mount_overlay(&bed.overlay(), &link).is_err());
    assert!(bed.mounted().is_none());
    assert_eq!(unmount(&root.path().join("absent"), Unmount::Now).unwrap(), Unmounted::NotMounted);
}

#[test]
fn a_copied_upper_is_stale() {
    if !is_root("mounts") {
        return;
    }
    on_each(ALL, |_, root| {
        let bed = Bed::new(&root.join("first"), 1);
        mount_overlay(&bed.overlay(), &bed.point).unwrap();
        unmount(&bed.point, Unmount::Now).unwrap();
        let lower = vec![root.join("other")];
        fs::create_dir(&lower[0]).unwrap();
        let other = Overlay { lower: &lower, ..bed.overlay() };
        let error = again(|| mount_overlay(&other, &bed.point)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Stale, "{error:?}");
    });
}

#[test]
fn root_cannot_write_to_an_immutable_directory() {
    if !is_root("sets the flag") {
        return;
    }
    on_each(ALL, |variable, root| {
        let dir = open_dir(root).unwrap();
        if let Err(error) = fs_sys::set_immutable(&dir, Immutable::Yes) {
            assert_eq!(error.kind, ErrorKind::Unsupported, "{error:?}");
            assert_eq!(variable, "FWT_TEST_TMPFS", "older kernels' tmpfs alone has no flags");
            return;
        }
        let refused = fs::write(root.join("f"), "");
        fs_sys::set_immutable(&dir, Immutable::No).unwrap();
        assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        fs::write(root.join("f"), "").unwrap();
    });
}

#[test]
fn whiteouts_are_made_and_told_from_other_devices() {
    on_each(ALL, |_, root| {
        let dir = open_dir(root).unwrap();
        fs_sys::make_whiteout(dir.at("w".as_ref())).unwrap();
        assert!(fs_sys::is_whiteout(dir.at("w".as_ref())).unwrap());
        assert_eq!(fs::symlink_metadata(root.join("w")).unwrap().rdev(), 0);
        let again = fs_sys::make_whiteout(dir.at("w".as_ref()));
        assert_eq!(again.unwrap_err().kind, ErrorKind::Exists);
    });
    let dev = open_dir(Path::new("/dev")).unwrap();
    assert!(!fs_sys::is_whiteout(dev.at("null".as_ref())).unwrap());
}

#[test]
fn marks_are_set_read_and_removed() {
    if !is_root("sees them") {
        return;
    }
    on_each(ALL, |_, root| {
        let dir = open_dir(root).unwrap();
        let path = || root.to_owned();
        assert_eq!(load_mark(&dir, Mark::Opaque, path).unwrap(), None);
        fs_sys::remove_mark(&dir, Mark::Opaque, path).unwrap();
        fs_sys::set_mark(&dir, Mark::Opaque, b"y", path).unwrap();
        assert_eq!(load_mark(&dir, Mark::Opaque, path).unwrap().as_deref(), Some(&b"y"[..]));
        fs_sys::remove_mark(&dir, Mark::Opaque, path).unwrap();
        assert_eq!(load_mark(&dir, Mark::Opaque, path).unwrap(), None);
    });
}
