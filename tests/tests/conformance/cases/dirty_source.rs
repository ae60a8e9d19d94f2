//! Sources with work in them, of which a clean tree must hold nothing.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use fwt_tests::Repository;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b7_a_clean_source", |stage| {
        stage.check(&stage.small_source(), "HEAD");
    }),
    Case::new("case_b7_nothing_uncommitted_leaks", nothing_leaks),
    Case::new("case_b7_edits_that_keep_size_and_time_are_seen", same_size_and_time),
    Case::new("case_b7_a_racily_clean_file_counts_as_dirty", racily_clean),
    Case::new("case_b7_what_git_looks_away_from_is_not_trusted", looked_away_from),
    Case::new("case_b7_other_kinds_in_place_of_tracked_paths", other_kinds),
    Case::new("case_b7_a_link_above_a_tracked_path_is_not_followed", link_above),
    Case::new("case_b7_a_conflict_in_the_source", conflict),
    Case::new("case_b7_a_source_without_an_index", without_index),
    Case::new("case_b7_a_source_without_files", without_files),
    Case::new("case_b7_stash_and_operation_in_progress_stay_behind", operation),
];

fn nothing_leaks(stage: &Stage) {
    let source = stage.small_source();
    for name in ["edited", "staged", "half", "executable", "deleted", "removed", "forgotten"] {
        source.write(name, format!("{name}\n"));
    }
    source.write(".gitignore", "ignored/\n");
    source.commit("second");
    source.settle();
    source.write("edited", "edited, and longer\n");
    source.write("staged", "staged edit\n");
    source.write("half", "staged half\n");
    source.write("new", "staged file\n");
    source.git(["add", "staged", "half", "new"]);
    source.write("half", "the half that is not staged\n");
    source.write("untracked", "u\n");
    source.write("untracked-directory/u", "u\n");
    source.write("ignored/u", "u\n");
    source.write("intended", "u\n");
    source.git(["add", "--intent-to-add", "intended"]);
    source.chmod("executable", 0o755);
    fs::remove_file(source.path("deleted")).expect("it is there");
    source.git(["rm", "--quiet", "removed"]);
    source.git(["rm", "--quiet", "--cached", "forgotten"]);
    source.git(["mv", "file", "renamed"]);
    stage.check(&source, "HEAD");
}

/// Writes other bytes of the same size into a file, and gives it its old time back.
fn change_secretly(source: &Repository, path: &str, bytes: &[u8]) {
    let path = source.path(path);
    let before = fs::metadata(&path).expect("it is there");
    assert_eq!(before.len(), bytes.len() as u64);
    fs::write(&path, bytes).expect("it is ours");
    let file = File::options().write(true).open(&path).expect("it is there");
    file.set_modified(before.modified().expect("it has one")).expect("it is ours");
}

fn same_size_and_time(stage: &Stage) {
    let source = stage.small_source();
    // One file of an hour ago, one as old as the index.
    let index = fs::metadata(source.git_dir().join("index")).expect("it is there");
    let path = source.path("directory/below/other");
    let second = index.modified().expect("it has one");
    File::options().write(true).open(&path).and_then(|it| it.set_modified(second)).expect("ours");
    source.git(["update-index", "--refresh"]);
    change_secretly(&source, "file", b"A FILE\n");
    change_secretly(&source, "directory/below/other", b"ANOTHER FILE\n");
    stage.check(&source, "HEAD");
}

/// Makes the index record an edited file under its old object, as after an edit in the very tick of
/// the comparison: nothing that an index records tells. A filter that lies does it; it is gone
/// afterwards.
fn deceive(source: &Repository, path: &str, bytes: &[u8], time: SystemTime) {
    let attributes = source.git_dir().join("info/attributes");
    fs::create_dir_all(attributes.parent().expect("it has one")).expect("it is ours");
    fs::write(&attributes, "* filter=lie\n").expect("it is ours");
    source.git(["config", "filter.lie.clean", "cat >/dev/null; git cat-file blob :%f"]);
    change_secretly(source, path, bytes);
    let file = File::options().write(true).open(source.path(path)).expect("it is there");
    file.set_modified(time).expect("it is ours");
    source.git(["update-index", "--refresh"]);
    fs::remove_file(&attributes).expect("it is there");
    source.git(["config", "--unset", "filter.lie.clean"]);
}

fn racily_clean(stage: &Stage) {
    let source = stage.small_source();
    let not_before_the_index = SystemTime::now() + Duration::from_secs(100);
    deceive(&source, "file", b"A FILE\n", not_before_the_index);
    stage.check(&source, "HEAD");
}

fn looked_away_from(stage: &Stage) {
    let source = stage.small_source();
    for name in ["assumed", "skipped", "assumed-clean", "skipped-gone", "skipped-clean"] {
        source.write(name, format!("{name}\n"));
    }
    source.write("assumed-alike", "old bytes\n");
    source.write("skipped-alike", "old bytes\n");
    source.commit("second");
    source.settle();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in ["assumed-alike", "skipped-alike"] {
        deceive(&source, name, b"new bytes\n", long_ago);
    }
    let assumed = ["assumed", "assumed-alike", "assumed-clean"];
    source.git([&["update-index", "--assume-unchanged"], &assumed[..]].concat());
    let skipped = ["skipped", "skipped-alike", "skipped-gone", "skipped-clean"];
    source.git([&["update-index", "--skip-worktree"], &skipped[..]].concat());
    source.write("assumed", "edited in secret\n");
    source.write("skipped", "edited in secret\n");
    fs::remove_file(source.path("skipped-gone")).expect("it is there");
    stage.check(&source, "HEAD");
}

fn other_kinds(stage: &Stage) {
    let source = stage.small_source();
    for name in ["to-link", "to-directory", "to-file/below", "empty-now"] {
        source.write(name, "bytes\n");
    }
    source.link("from-link", "file");
    source.link("retargeted", "file");
    source.commit("second");
    source.settle();
    for name in ["to-link", "to-directory", "from-link", "retargeted"] {
        fs::remove_file(source.path(name)).expect("it is there");
    }
    fs::remove_dir_all(source.path("to-file")).expect("it is there");
    source.link("to-link", "file");
    source.write("to-directory/inside", "u\n");
    source.write("to-file", "u\n");
    source.write("from-link", "a file\n");
    source.link("retargeted", "gone");
    source.write("empty-now", "");
    stage.check(&source, "HEAD");
}

/// Behind the link the very same file waits, with the very same stat.
fn link_above(stage: &Stage) {
    let source = stage.small_source();
    let outside = stage.sandbox.path("outside");
    fs::rename(source.path("directory"), &outside).expect("both are ours");
    source.link("directory", &outside);
    let tree = stage.check(&source, "HEAD");
    assert!(fs::symlink_metadata(tree.path("directory")).expect("it is there").is_dir());
}

fn conflict(stage: &Stage) {
    let source = stage.small_source();
    source.git(["checkout", "--quiet", "-b", "other"]);
    source.write("file", "theirs\n");
    source.commit("theirs");
    source.git(["checkout", "--quiet", "main"]);
    source.write("file", "ours\n");
    source.commit("ours");
    source.settle();
    let merge = source.command(["merge", "other"]).output().expect("git runs");
    assert!(!merge.status.success(), "{merge:?}");
    let tree = stage.check(&source, "HEAD");
    assert!(!tree.git.git_dir().join("MERGE_HEAD").exists());
}

fn without_index(stage: &Stage) {
    let source = stage.small_source();
    fs::remove_file(source.git_dir().join("index")).expect("it is there");
    stage.check(&source, "HEAD");
}

fn without_files(stage: &Stage) {
    let source = stage.small_source();
    for name in ["file", "run.sh", "link", "empty"] {
        fs::remove_file(source.path(name)).expect("it is there");
    }
    fs::remove_dir_all(source.path("directory")).expect("it is there");
    stage.check(&source, "HEAD");
}

fn operation(stage: &Stage) {
    let source = stage.small_source();
    source.write("file", "to be stashed\n");
    source.git(["stash", "--quiet"]);
    source.write("file", "second\n");
    source.commit("second");
    source.write("file", "third\n");
    source.commit("third");
    source.settle();
    let revert = source.command(["revert", "--no-edit", "HEAD~1"]).output().expect("git runs");
    assert!(!revert.status.success(), "{revert:?}");
    let stash = source.git(["stash", "list"]);
    let tree = stage.check(&source, "HEAD");
    assert_eq!(source.git(["stash", "list"]), stash);
    assert!(!tree.git.git_dir().join("REVERT_HEAD").exists());
}
