//! Permission bits do not depend on the umask. The only test of its binary: a umask is of the process.
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::num::NonZero;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use copy_engine::{
    Cancel, Content, Existing, Filter, Gate, Ladder, Manifest, Method, Options, Progress, Verdict,
    copy_listed, copy_tree,
};
use walk::Ignore;

struct All;

impl Gate for All {
    fn admits(&self, _: u32, _: &fs_sys::Stat, _: Content<'_>) -> fs_sys::Result<bool> {
        Ok(true)
    }
}

impl Filter for All {
    fn judge(&self, _: &fs_sys::Dir, _: &std::path::Path, _: fs_sys::Kind, _: Ignore) -> Verdict {
        Verdict::Copy
    }
}

#[test]
fn modes_are_the_sources_under_every_umask() {
    const MODES: [(&str, u32); 4] = [("a", 0o644), ("b", 0o755), ("c", 0o600), ("d", 0o444)];
    for umask in [0o077, 0o022, 0o000] {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for directory in ["source", "source/in", "listed", "tree"] {
            fs::create_dir(at(directory)).unwrap();
            fs::set_permissions(at(directory), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (name, mode) in MODES {
            let path = at("source/in").join(name);
            fs::write(&path, name).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: NonZero::<usize>::MIN,
            progress: &Progress::default(),
            cancel: &Cancel::default(),
        };
        let mut manifest = Manifest::default();
        for path in ["in/a", "in/b", "in/c", "in/d"] {
            assert!(manifest.push(path.as_bytes(), 0));
        }
        let open = |path: &str| fs_sys::open_dir(&at(path)).unwrap();
        copy_listed(&open("source"), &open("listed"), &manifest, &All, &options).unwrap();
        copy_tree(&open("source"), &open("tree"), &All, Existing::Fail, &options).unwrap();
        let mode = |path: &str| fs::metadata(at(path)).unwrap().mode() & 0o7777;
        for copy in ["listed", "tree"] {
            assert_eq!(mode(&format!("{copy}/in")), 0o755, "umask {umask:o}");
            for (name, wanted) in MODES {
                assert_eq!(mode(&format!("{copy}/in/{name}")), wanted, "{name}, umask {umask:o}");
            }
        }
    }
}
