//! Revisions other than the source's HEAD, and branches.

use fwt_tests::Repository;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b7_an_older_revision", older),
    Case::new("case_b7_a_tag", |stage| {
        let source = history(stage);
        source.git(["tag", "--annotate", "v1", "--message", "one", "HEAD~1"]);
        stage.check(&source, "v1");
    }),
    Case::new("case_b7_another_branch", |stage| {
        let source = history(stage);
        let tree = stage.check(&source, "side");
        assert_eq!(tree.made.json["base"]["from"], "local-ref");
    }),
    Case::new("case_b7_a_source_on_another_branch", |stage| {
        let source = history(stage);
        source.git(["checkout", "--quiet", "side"]);
        source.settle();
        stage.check(&source, "main");
        stage.fwt().create(&source.root, &["again"]);
    }),
    Case::new("case_b7_a_detached_source", |stage| {
        let source = history(stage);
        source.git(["checkout", "--quiet", "--detach", "HEAD~1"]);
        source.settle();
        stage.check(&source, "HEAD");
    }),
    Case::new("case_b7_a_revision_with_nothing_in_common", unrelated),
    Case::new("case_b7_an_older_revision_from_a_dirty_source", older_from_dirty),
    Case::new("case_b7_a_commit_that_another_stands_for", replaced),
    Case::new("case_b44_a_branch_of_its_own", branch),
];

/// Two commits on `main` and one on `side`; between them files come, go, and change content, mode and
/// kind.
fn history(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.write("stays", "stays\n");
    source.write("changes", "one\n");
    source.write("goes", "goes\n");
    source.write("becomes-directory", "one\n");
    source.write("becomes-file/one", "one\n");
    source.write("becomes-executable", "same bytes\n");
    source.link("becomes-other-link", "one");
    source.commit("one");
    source.git(["branch", "side"]);
    for path in ["goes", "becomes-directory", "becomes-other-link"] {
        std::fs::remove_file(source.path(path)).expect("it is there");
    }
    std::fs::remove_dir_all(source.path("becomes-file")).expect("it is there");
    source.write("changes", "two\n");
    source.write("comes", "comes\n");
    source.write("becomes-directory/two", "two\n");
    source.write("becomes-file", "two\n");
    source.chmod("becomes-executable", 0o755);
    source.link("becomes-other-link", "two");
    source.commit("two");
    source.settle();
    source
}

fn older(stage: &Stage) {
    let source = history(stage);
    let tree = stage.check(&source, "HEAD~1");
    assert_eq!(tree.made.json["base"]["rev"], "HEAD~1");
    if stage.takes_donors() {
        // Those that are the same at both revisions come from the source.
        assert_eq!(tree.made.stat("files_from_git"), 6);
    }
}

fn older_from_dirty(stage: &Stage) {
    let source = history(stage);
    source.write("stays", "edited\n");
    source.write("goes", "goes\n");
    source.write("changes", "one\n");
    source.git(["add", "changes"]);
    stage.check(&source, "HEAD~1");
}

fn unrelated(stage: &Stage) {
    let source = history(stage);
    source.git(["checkout", "--quiet", "--orphan", "new"]);
    source.git(["rm", "--quiet", "-r", "--force", "."]);
    source.write("file", "another beginning\n");
    source.commit("unrelated");
    source.settle();
    stage.check(&source, "main");
}

/// `git replace`: what is made of a commit today is not what was made of it yesterday.
fn replaced(stage: &Stage) {
    let source = history(stage);
    let check = || {
        let tree = stage.check(&source, "main");
        stage.remove(&tree, &source);
        let tree = stage.create_as("standalone", &source, &["--rev", "main"]);
        tree.assert_clean();
        stage.assert_like_git(&tree, &source, "main");
        stage.remove(&tree, &source);
    };
    check();
    // On no branch, for a commit that is on one.
    let other = source.git(["commit-tree", "side^{tree}", "-m", "instead"]);
    source.git(["replace", "main", &other]);
    check();
    source.git(["pack-refs", "--all"]);
    check();
    source.git(["replace", "--delete", &source.commit_of("main")]);
    check();
}

fn branch(stage: &Stage) {
    let source = history(stage);
    let head = source.git(["symbolic-ref", "HEAD"]);
    let tree = stage.create(&source.root, &["--branch", "topic/one", "--rev", "side"]);
    tree.assert_clean();
    assert_eq!(tree.made.json["branch"], "topic/one");
    assert_eq!(tree.git.git(["symbolic-ref", "HEAD"]), "refs/heads/topic/one");
    assert_eq!(tree.git.commit_of("HEAD"), source.commit_of("side"));
    assert_eq!(source.git(["symbolic-ref", "HEAD"]), head);
    let upstream = ["config", "--get-regexp", "^branch\\."];
    let set = source.command(upstream).output().expect("git runs");
    assert_eq!(set.stdout, b"", "a branch was given an upstream");
    stage.assert_like_git(&tree, &source, "side");
    let taken = stage.try_create(&source.root, &["--branch", "topic/one"]);
    taken.failure(4, "branch-exists");
    stage.assert_no_debris(&source, &[&tree]);
    stage.remove(&tree, &source);
    assert_eq!(source.commit_of("refs/heads/topic/one"), source.commit_of("side"));
}
