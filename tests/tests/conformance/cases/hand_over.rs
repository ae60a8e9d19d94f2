//! The index at hand-over: nothing is stat-dirty, nothing is read again, and times are kept.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::SystemTime;

use fwt_tests::Repository;

use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};
use crate::trace;

pub(crate) const CASES: &[Case] = &[
    Case::needing("case_b8_the_first_status_opens_no_working_file", Needs::Trace, first_status),
    Case::needing("case_b8_a_source_as_young_as_the_tree", Needs::Trace, young_source),
    Case::needing(
        "case_b8_the_first_status_opens_what_was_carried_dirty_alone",
        Needs::CarriesAndTrace,
        first_status_of_carried,
    ),
    Case::new("case_g14_times_are_kept_to_the_nanosecond", times),
    Case::new("case_b8_what_git_wrote_is_older_than_the_index", git_written),
    Case::new("case_b8_files_from_the_future_are_not_racy", future),
    Case::needing("case_g7_the_index_is_written_once", Needs::CarriesAndTrace, index_written_once),
];

fn first_status(stage: &Stage) {
    let source = young(stage);
    source.settle();
    check_first_status(stage, &source);
}

/// Its files may have changed after the index was written: nobody can tell without reading them.
fn young_source(stage: &Stage) {
    check_first_status(stage, &young(stage));
}

fn young(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.write("only-git", "bytes\n");
    source.write(".gitignore", "x\n");
    source.commit("second");
    source
}

fn check_first_status(stage: &Stage, source: &Repository) {
    fs::remove_file(source.path("only-git")).expect("it is there");
    let tree = stage.create(&source.root, &[]);
    let opened = opened_by_status(stage, &tree);
    assert!(opened.is_empty(), "the first status opened {opened:?}");
    tree.assert_clean();
    // The oracle of this very test: what is touched is read.
    let file = fs::File::options().append(true).open(tree.path("file")).expect("it is there");
    file.set_modified(SystemTime::now()).expect("it is ours");
    assert_eq!(opened_by_status(stage, &tree), [tree.path("file")]);
}

/// All else was clean in the source by its stat data, and is in the tree.
fn first_status_of_carried(stage: &Stage) {
    let source = young(stage);
    // git notes no change of a time within one second, and then the times prove too little.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    source.settle();
    source.write("file", "edited\n");
    source.write("untracked", "u\n");
    for mode in ["linked", "standalone"] {
        let tree = stage.create_as(mode, &source, &["--carry", "dirty"]);
        let opened = opened_by_status(stage, &tree);
        assert!(opened.iter().all(|path| *path == tree.path("file")), "{mode}: {opened:?}");
        // Once it has looked, it need not look again.
        assert_eq!(tree.git.git(["status", "--porcelain"]), " M file\n?? untracked");
    }
}

/// Working files that a `git status` opens, but for those that say what to look at.
fn opened_by_status(stage: &Stage, tree: &Tree) -> Vec<std::path::PathBuf> {
    let opens = trace::opens(&stage.sandbox, &tree.git.command(["status", "--porcelain"]));
    let root = &tree.git.root;
    let is_file = |open: &trace::Open| {
        let is_gits_own = open.path.starts_with(root.join(".git"));
        open.path.starts_with(root) && !is_gits_own && open.path.is_file()
    };
    let is_rule = |open: &trace::Open| {
        let name = open.path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(".git")
    };
    let mut paths: Vec<_> = opens
        .into_iter()
        .filter(|open| is_file(open) && !is_rule(open))
        .map(|open| open.path)
        .collect();
    paths.dedup();
    paths
}

fn times(stage: &Stage) {
    let source = stage.small_source();
    let old = SystemTime::UNIX_EPOCH + std::time::Duration::new(978_307_200, 123_456_789);
    for (name, time) in [("file", old), ("run.sh", old)] {
        let file = fs::File::options().append(true).open(source.path(name)).expect("it is there");
        file.set_modified(time).expect("it is ours");
    }
    source.git(["update-index", "--refresh"]);
    let tree = stage.check(&source, "HEAD");
    if !stage.takes_donors() {
        return;
    }
    for name in ["file", "run.sh", "empty", "directory/below/other"] {
        let [found, expected] = [tree.path(name), source.path(name)].map(|path| {
            let found = fs::symlink_metadata(path).expect("it is there");
            (found.mtime(), found.mtime_nsec())
        });
        assert_eq!(found, expected, "{name}");
        assert_ne!(expected.1, 0, "{name} has no nanoseconds");
    }
}

fn git_written(stage: &Stage) {
    let source = stage.small_source();
    source.write("gone", "bytes\n");
    source.link("gone-link", "file");
    source.commit("second");
    source.settle();
    for name in ["gone", "gone-link"] {
        fs::remove_file(source.path(name)).expect("it is there");
    }
    let before = SystemTime::now();
    let tree = stage.check(&source, "HEAD");
    let index = fs::metadata(tree.git.git_dir().join("index")).expect("it is there");
    let written_at = index.modified().expect("it has one");
    assert!(written_at <= SystemTime::now(), "the index is from the future");
    for name in ["gone", "gone-link"] {
        let found = fs::symlink_metadata(tree.path(name)).expect("it is there");
        assert!(found.mtime() < index.mtime(), "{name} is racy");
        let age = before.duration_since(found.modified().expect("it has one")).expect("older");
        assert!(age.as_secs() < 60, "{name} is {age:?} old");
    }
}

fn future(stage: &Stage) {
    let source = stage.small_source();
    let soon = SystemTime::now() + std::time::Duration::from_secs(3600);
    let file = fs::File::options().append(true).open(source.path("file")).expect("it is there");
    file.set_modified(soon).expect("it is ours");
    source.git(["update-index", "--refresh"]);
    let tree = stage.check(&source, "HEAD");
    let index = fs::metadata(tree.git.git_dir().join("index")).expect("it is there");
    assert!(fs::metadata(tree.path("file")).expect("it is there").mtime() < index.mtime());
}

fn index_written_once(stage: &Stage) {
    let source = stage.small_source();
    source.write("dirty", "bytes\n");
    source.commit("second");
    source.settle();
    source.write("dirty", "edited\n");
    let arguments = stage.arguments(&["--json"]);
    let opens = trace::opens(&stage.sandbox, &stage.fwt().command(&source.root, arguments));
    let rows = stage.fwt().list_all(&source.root);
    let id = rows[0]["id"].as_str().expect("it is text");
    let admin = source.git_dir().join("worktrees").join(id);
    let is_write = |open: &&trace::Open| {
        let is_index = open.path == admin.join("index") || open.path == admin.join("index.lock");
        is_index && (open.flags.contains("O_WRONLY") || open.flags.contains("O_RDWR"))
    };
    let writes: Vec<_> = opens.iter().filter(is_write).collect();
    assert_eq!(writes.len(), 1, "{writes:?}");
    // Nor is the source's written, not even its lock.
    let of_source = |open: &&trace::Open| {
        open.path.starts_with(&source.root)
            && !open.path.starts_with(source.git_dir().join("worktrees"))
            && open.flags.contains("O_CREAT")
    };
    assert_eq!(opens.iter().find(of_source), None, "something is written in the source");
}
