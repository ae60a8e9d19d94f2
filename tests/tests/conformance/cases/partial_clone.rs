//! Sources that do not have all of their objects: those that are missing are never fetched unasked.

use std::fs;

use fwt_tests::Repository;

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g15_partial_clone", head),
    Case::new("case_b44_missing_objects_are_not_fetched_unasked", missing),
    Case::needing("case_g15_dirty_from_a_partial_clone", Needs::Donors, dirty),
    Case::new("case_g15_standalone_from_a_partial_clone", standalone),
    Case::new("case_b44_the_base_and_its_age_are_told", base),
];

/// A clone without the contents of files, but for those of its HEAD.
fn partial(stage: &Stage) -> (Repository, Repository) {
    let origin = stage.sandbox.repository("origin");
    origin.git(["config", "uploadpack.allowFilter", "true"]);
    origin.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    for name in ["file", "other", "directory/below/third"] {
        origin.write(name, format!("{name}\n"));
    }
    origin.commit("first");
    origin.write("file", "second\n");
    origin.commit("second");
    let (url, path) = (format!("file://{}", origin.root.display()), stage.sandbox.path("source"));
    let words = ["clone", "--quiet", "--filter=blob:none", &url];
    origin.git([&words[..], &[&path.to_string_lossy()]].concat());
    let source = stage.sandbox.existing(path);
    source.settle();
    assert!(lacks(&source, "HEAD~1:file") && !lacks(&source, "HEAD:file"));
    (origin, source)
}

/// Whether an object is not there, as far as can be told without a fetch.
fn lacks(repository: &Repository, object: &str) -> bool {
    let mut command = repository.command(["cat-file", "-e", object]);
    !command.env("GIT_NO_LAZY_FETCH", "1").output().expect("git runs").status.success()
}

fn head(stage: &Stage) {
    let (_origin, source) = partial(stage);
    fs::remove_file(source.path("other")).expect("it is there");
    let tree = stage.check(&source, "HEAD");
    assert!(lacks(&source, "HEAD~1:file"));
    stage.remove(&tree, &source);
}

fn missing(stage: &Stage) {
    let (origin, source) = partial(stage);
    let more = ["--rev", "HEAD~1", "--branch", "topic"];
    let answer = stage.check_refused(&source, &more, (1, "git-failed"));
    assert!(lacks(&source, "HEAD~1:file"), "{answer}");
    // What is there on request, git gets; then nothing is missing.
    source.git(["cat-file", "blob", "HEAD~1:file"]);
    stage.check(&source, "HEAD~1");
    fs::rename(&origin.root, stage.sandbox.path("offline")).expect("both are ours");
    let tree = stage.create(&source.root, &["offline"]);
    tree.assert_clean();
    stage.remove(&tree, &source);
}

fn dirty(stage: &Stage) {
    let (_origin, source) = partial(stage);
    source.write("file", "edited\n");
    source.write("other", "staged\n");
    source.git(["add", "other"]);
    let tree = stage.check_carried(&source, "dirty", "linked");
    assert!(lacks(&source, "HEAD~1:file"));
    stage.remove(&tree, &source);
}

/// It lacks what the source lacks, and knows where to get it.
fn standalone(stage: &Stage) {
    let (origin, source) = partial(stage);
    let tree = stage.create_as("standalone", &source, &[]);
    tree.assert_clean();
    assert!(lacks(&source, "HEAD~1:file") && lacks(&tree.git, "HEAD~1:file"));
    let away = stage.sandbox.path("away");
    fs::rename(&source.root, &away).expect("both are ours");
    tree.git.git(["fsck", "--no-dangling"]);
    tree.git.git(["checkout", "--quiet", "HEAD~1"]);
    assert_eq!(fs::read(tree.path("file")).expect("it is there"), b"file\n");
    tree.git.git(["checkout", "--quiet", "--detach", "main"]);
    fs::rename(&away, &source.root).expect("both are ours");
    assert!(lacks(&source, "HEAD~1:file"));
    stage.remove(&tree, &source);
    assert_eq!(origin.git(["fsck", "--no-dangling"]), "");
}

/// The origin has moved on: the answer says what a tree starts at, and only a fetch changes that.
fn base(stage: &Stage) {
    let origin = stage.small_source();
    let path = stage.sandbox.path("clone");
    origin.git(["clone", "--quiet", ".", &path.to_string_lossy()]);
    let source = stage.sandbox.existing(&path);
    source.settle();
    let old = source.commit_of("HEAD");
    origin.write("file", "ahead\n");
    origin.commit("ahead");
    let new = origin.commit_of("HEAD");
    let check = |more: &[&str], from: &str, commit: &str| {
        let tree = stage.create(&source.root, more);
        let base = &tree.made.json["base"];
        assert_eq!((&base["from"], &base["commit"]), (&from.into(), &commit.into()), "{more:?}");
        assert_eq!(tree.git.commit_of("HEAD"), commit, "{more:?}");
        stage.remove(&tree, &source);
    };
    check(&[], "head", &old);
    check(&["--rev", "main"], "local-ref", &old);
    check(&["--rev", &old], "commit", &old);
    check(&["--rev", "origin/main"], "remote-tracking-ref", &old);
    assert_eq!(source.commit_of("origin/main"), old, "something was fetched unasked");
    check(&["--rev", "origin/main", "--fetch"], "fetched", &new);
    fs::rename(&origin.root, stage.sandbox.path("offline")).expect("both are ours");
    check(&["--rev", "origin/main"], "remote-tracking-ref", &new);
    let answer = stage.try_create(&source.root, &["--rev", "origin/main", "--fetch"]);
    answer.failure(1, "git-failed");
    stage.assert_no_debris(&source, &[]);
}
