//! The walk against real directories: everything once, ignore rules as git has them, no way out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests build their trees with std::fs")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use walk::{Descend, Directory, Entry, Ignore, Visitor, walk, worker_count};

#[derive(Default)]
struct Collect(BTreeMap<String, Ignore>);

impl Visitor for Collect {
    type Error = fs_sys::Error;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> fs_sys::Result<Descend> {
        self.files(parent, std::slice::from_ref(entry))?;
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> fs_sys::Result<()> {
        for entry in files {
            let path = parent.relative.join(&entry.name).to_string_lossy().into_owned();
            assert_eq!(self.0.insert(path, entry.ignore), None, "visited twice");
        }
        Ok(())
    }
}

fn collect(root: &Path) -> BTreeMap<String, Ignore> {
    let dir = fs_sys::open_dir(root).unwrap();
    let visitors = walk(&dir, worker_count(4), Collect::default).unwrap();
    let count: usize = visitors.iter().map(|visitor| visitor.0.len()).sum();
    let all: BTreeMap<_, _> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
    assert_eq!(all.len(), count, "two workers visited the same entry");
    all
}

/// The oracle is git itself.
fn check_against_git(root: &Path) {
    let found = collect(root);
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(["-c", "core.excludesFile="])
            .args(arguments)
            .current_dir(root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q", "."]);
    let hidden = git(&["ls-files", "-o", "-i", "--exclude-standard"]);
    let shown = git(&["ls-files", "-o", "--exclude-standard"]);
    assert!(hidden.lines().count() >= 2 && shown.lines().count() >= 2);
    for path in hidden.lines() {
        assert_eq!(found[path], Ignore::Ignored, "{path}");
    }
    for path in shown.lines() {
        assert_eq!(found[path], Ignore::Not, "{path}");
    }
}

#[test]
fn a_directory_larger_than_a_chunk_is_visited_whole() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..5000 {
        fs::write(root.path().join(number.to_string()), "").unwrap();
    }
    assert_eq!(collect(root.path()).len(), 5000);
}

#[test]
fn ignore_rules_are_those_of_git() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::create_dir_all(at("target/deep")).unwrap();
    fs::create_dir_all(at("sub/keep")).unwrap();
    fs::write(at(".gitignore"), "target/\n*.log\n!important.log\n/only-here\n\\!odd\n").unwrap();
    fs::write(at("sub/.gitignore"), "!debug.log\n*.tmp\n").unwrap();
    fs::write(at("target/.gitignore"), "!deep/\n!x\n").unwrap();
    fs::write(at(".ignore"), "sub/\n").unwrap();
    for path in [
        "a.log",
        "important.log",
        "only-here",
        "sub/only-here",
        "sub/debug.log",
        "sub/x.tmp",
        "sub/keep/y.tmp",
        "target/deep/x",
        "target/x",
        "plain",
        "!odd",
    ] {
        fs::write(at(path), "").unwrap();
    }
    check_against_git(root.path());
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_no_part_of_a_rule() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join(".gitignore"), "\u{feff}first\r\n\r\nsecond\r\n").unwrap();
    for path in ["first", "second", "third"] {
        fs::write(root.path().join(path), "").unwrap();
    }
    check_against_git(root.path());
}

#[test]
fn rules_that_are_no_file_hide_nothing_and_are_not_opened() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::write(outside.path().join("rules"), "x\n").unwrap();
    for directory in ["fifo", "link", "directory"] {
        fs::create_dir(at(directory)).unwrap();
        fs::write(at(directory).join("x"), "").unwrap();
    }
    let mut command = std::process::Command::new("mkfifo");
    assert!(command.arg(at("fifo/.gitignore")).status().unwrap().success());
    std::os::unix::fs::symlink(outside.path().join("rules"), at("link/.gitignore")).unwrap();
    fs::create_dir(at("directory/.gitignore")).unwrap();
    let found = collect(root.path());
    assert_eq!(found.len(), 9);
    assert!(found.values().all(|ignore| *ignore == Ignore::Not));
}

#[test]
fn a_link_to_a_directory_is_an_entry_and_not_a_way() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "").unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    assert_eq!(collect(root.path()).keys().collect::<Vec<_>>(), ["link"]);
}

#[test]
fn depth_costs_no_descriptors_and_no_stack() {
    let root = tempfile::tempdir().unwrap();
    let mut path = root.path().to_owned();
    for _ in 0..1000 {
        path.push("d");
    }
    fs::create_dir_all(&path).unwrap();
    assert_eq!(collect(root.path()).len(), 1000);
    assert_eq!(fs_sys::remove_tree(root.path()).unwrap().entries, 1001);
}
