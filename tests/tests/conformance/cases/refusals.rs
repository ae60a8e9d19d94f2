//! Creates that fail, and what could not be read.

use std::fs;

use fwt_tests::Snapshot;
use fwt_tests::snapshot::Detail;

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g15_no_commit_yet", unborn),
    Case::new("case_b47_a_revision_that_is_not_there", no_such_revision),
    Case::new("case_b47_a_destination_that_is_there_is_never_written_to", destination),
    Case::new("case_b47_a_missing_object_fails_the_create_and_leaves_nothing", missing_object),
    Case::new("case_b47_a_filter_that_fails_leaves_nothing", failing_filter),
    Case::new("case_b47_a_name_is_given_once", name_taken),
    Case::needing("case_g14_an_unreadable_file_is_made_by_git", Needs::PlainUser, unreadable),
    Case::needing("case_g14_a_source_that_is_read_only", Needs::PlainUser, read_only),
];

fn unborn(stage: &Stage) {
    let source = stage.sandbox.repository("source");
    source.write("file", "not committed\n");
    source.git(["add", "file"]);
    stage.check_refused(&source, &[], (5, "unborn-head"));
}

fn no_such_revision(stage: &Stage) {
    let source = stage.small_source();
    for revision in ["gone", "HEAD~5", "--all", "", "HEAD:file"] {
        let argument = format!("--rev={revision}");
        stage.check_refused(&source, &[&argument], (3, "no-such-revision"));
    }
}

fn destination(stage: &Stage) {
    let source = stage.small_source();
    let place = stage.sandbox.path("place");
    let at = place.to_str().expect("it is UTF-8").to_owned();
    let check = || stage.check_refused(&source, &["--at", &at], (4, "destination-exists"));
    fs::create_dir(&place).expect("it is ours");
    check();
    fs::write(place.join("mine"), "bytes").expect("it is ours");
    let before = Snapshot::of(&place);
    check();
    Snapshot::of(&place).assert_same(&before, Detail::Full, "the destination");
    fs::remove_dir_all(&place).expect("it is ours");
    std::os::unix::fs::symlink("gone", &place).expect("it is ours");
    check();
    assert!(!stage.sandbox.path("gone").exists());
    let inside = source.path("inside");
    let inside = inside.to_str().expect("it is UTF-8");
    stage.check_refused(&source, &["--at", inside], (2, "destination-inside-source"));
}

/// Of a file that has no donor.
fn missing_object(stage: &Stage) {
    let source = stage.small_source();
    let id = source.git(["rev-parse", "HEAD:file"]);
    let object = source.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(object).expect("it is loose");
    fs::remove_file(source.path("file")).expect("it is there");
    let answer = stage.check_refused(&source, &["--branch", "topic"], (1, "git-failed"));
    assert!(answer.json()["error"]["message"].to_string().contains(&id), "{answer}");
}

fn failing_filter(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitattributes", "file filter=fails\n");
    source.commit("second");
    source.git(["config", "filter.fails.smudge", "false"]);
    source.git(["config", "filter.fails.clean", "cat"]);
    source.git(["config", "filter.fails.required", "true"]);
    source.settle();
    fs::remove_file(source.path("file")).expect("it is there");
    stage.check_refused(&source, &[], (1, "git-failed"));
    source.git(["config", "filter.fails.smudge", "cat"]);
    stage.check(&source, "HEAD");
}

fn name_taken(stage: &Stage) {
    let source = stage.small_source();
    let first = stage.create(&source.root, &["name"]);
    let before = Snapshot::of(&first.git.root);
    stage.try_create(&source.root, &["name"]).failure(4, "name-taken");
    Snapshot::of(&first.git.root).assert_same(&before, Detail::Full, "the first tree");
    stage.assert_no_debris(&source, &[&first]);
}

fn unreadable(stage: &Stage) {
    let source = stage.small_source();
    source.chmod("file", 0o000);
    source.chmod("run.sh", 0o311);
    source.settle();
    let answer = stage.try_create(&source.root, &[]);
    if answer.code == Some(0) {
        let made = fwt_tests::binary::Made { json: answer.json() };
        let tree = stage.take_over(made);
        // Readable again, for the oracle.
        source.chmod("file", 0o644);
        stage.assert_good(&tree, &source, "HEAD");
    } else {
        answer.failure(5, "permission-denied");
        stage.assert_no_debris(&source, &[]);
    }
}

/// Nothing is written into its working tree.
fn read_only(stage: &Stage) {
    let source = stage.small_source();
    for directory in ["directory/below", "directory", ""] {
        source.chmod(directory, 0o555);
    }
    let tree = stage.create(&source.root, &[]);
    tree.assert_clean();
    for directory in ["", "directory", "directory/below"] {
        source.chmod(directory, 0o755);
    }
    stage.assert_like_git(&tree, &source, "HEAD");
}
