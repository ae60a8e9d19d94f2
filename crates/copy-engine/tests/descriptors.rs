//! Descriptors are bounded, and running out of them is an error. The only test of its binary: the
//! limit is of the process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build and read their trees with std::fs")]

use std::fs;
use std::num::NonZero;

use copy_engine::{
    Cancel, Content, Error, Gate, Ladder, Listed, Manifest, Method, Options, Progress, copy_listed,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

struct All;

impl Gate for All {
    fn admits(&self, _: u32, _: &fs_sys::Stat, _: Content<'_>) -> fs_sys::Result<bool> {
        Ok(true)
    }
}

fn copy(source: &fs_sys::Dir, dest: &fs_sys::Dir, workers: usize) -> copy_engine::Result<Listed> {
    let names: Vec<String> =
        (0..20).flat_map(|d| (0..100).map(move |f| format!("{d:02}/{f:03}"))).collect();
    let mut manifest = Manifest::default();
    for (id, name) in names.iter().enumerate() {
        assert!(manifest.push(name.as_bytes(), u32::try_from(id).unwrap()));
    }
    let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
    let options = Options {
        ladder: &ladder,
        workers: NonZero::new(workers).unwrap(),
        progress: &Progress::default(),
        cancel: &Cancel::default(),
    };
    copy_listed(source, dest, &manifest, &All, &options)
}

#[test]
fn a_limit_on_descriptors_is_kept_or_reported() {
    let root = tempfile::tempdir().unwrap();
    for directory in 0..20 {
        let path = root.path().join(format!("source/{directory:02}"));
        fs::create_dir_all(&path).unwrap();
        for file in 0..100 {
            fs::write(path.join(format!("{file:03}")), "x").unwrap();
        }
    }
    for number in 0..4 {
        fs::create_dir(root.path().join(format!("dest{number}"))).unwrap();
    }
    let source = fs_sys::open_dir(&root.path().join("source")).unwrap();
    let dests: Vec<_> = (0..4)
        .map(|number| fs_sys::open_dir(&root.path().join(format!("dest{number}"))).unwrap())
        .collect();
    let before = getrlimit(Resource::Nofile);
    let highest = fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let limit = |current| {
        let limit = Rlimit { current: Some(current), ..before };
        setrlimit(Resource::Nofile, limit).unwrap();
    };
    limit(64);
    let eight = copy(&source, &dests[0], 8);
    let many = copy(&source, &dests[1], 32);
    limit(highest + 2);
    let starved = copy(&source, &dests[2], 2);
    limit(before.current.unwrap_or(1024));
    let again = copy(&source, &dests[3], 32);
    assert_eq!(eight.unwrap().copied.len(), 2000, "eight workers need fewer than 64");
    match many {
        Ok(listed) => assert_eq!(listed.copied.len(), 2000),
        Err(error) => assert_too_many(&error),
    }
    assert_too_many(&starved.unwrap_err());
    // Nothing leaked: all of it can be had again.
    assert_eq!(again.unwrap().copied.len(), 2000);
    assert_eq!(fs::read_dir("/proc/self/fd").unwrap().count() as u64, highest);
}

fn assert_too_many(error: &Error) {
    let is_kind = matches!(error, Error::Fs(e) if e.kind == fs_sys::ErrorKind::TooManyOpen);
    assert!(is_kind, "{error:?}");
}
