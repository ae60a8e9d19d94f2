//! Trees with a repository of their own, and trees from repositories without files.

use std::fs;

use crate::check::Untouched;
use crate::matrix::Case;
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b55_a_standalone_tree_needs_nothing_of_its_source", needs_nothing),
    Case::new("a_standalone_tree_has_branches_and_tags_and_no_stash", refs),
    Case::new("a_standalone_tree_with_work_of_its_own_is_kept", removal),
    Case::new("objects_that_the_source_borrows_are_copied", borrowed),
    Case::new("a_bare_repository_gives_commits", bare),
    Case::new("case_b52_pointers_are_left_where_they_are_asked_for", pointers),
];

/// The mode is the case's own, whatever the cell's: it comes last.
fn create(stage: &Stage, source: &fwt_tests::Repository, more: &[&str]) -> Tree {
    let mut words = vec!["create", "--mode", "standalone"];
    if let Some(backend) = stage.cell.backend {
        words.extend(["--backend", backend.name()]);
    }
    words.extend(more);
    let untouched = Untouched::look(source);
    let answer = stage.fwt().run(&source.root, words);
    untouched.assert_unchanged();
    let made = fwt_tests::binary::Made { json: answer.success() };
    assert_eq!(made.json["mode"], "standalone");
    let git = stage.sandbox.existing(made.path());
    Tree { made, git }
}

fn needs_nothing(stage: &Stage) {
    let source = stage.small_source();
    source.git(["gc", "--quiet"]);
    source.write("file", "second\n");
    source.commit("second");
    source.settle();
    let tree = create(stage, &source, &[]);
    tree.assert_clean();
    let objects = source.git(["count-objects", "-v"]);
    fs::rename(&source.root, stage.sandbox.path("elsewhere")).expect("ours");
    tree.git.git(["fsck", "--strict"]);
    tree.git.git(["checkout", "--quiet", "-b", "work"]);
    tree.git.write("file", "third\n");
    tree.git.commit("third");
    assert_eq!(tree.git.git(["log", "--format=%s"]), "third\nsecond\nfirst");
    fs::rename(stage.sandbox.path("elsewhere"), &source.root).expect("ours");
    assert_eq!(source.git(["count-objects", "-v"]), objects, "the source's objects");
    source.git(["reflog", "expire", "--expire=now", "--all"]);
    source.git(["gc", "--quiet", "--prune=now"]);
    tree.git.git(["fsck", "--strict"]);
}

fn refs(stage: &Stage) {
    let source = stage.small_source();
    source.git(["tag", "light"]);
    source.git(["tag", "--annotate", "heavy", "--message", "x"]);
    source.git(["branch", "deep/branch"]);
    source.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    source.write("file", "stashed\n");
    source.git(["stash", "--quiet"]);
    source.git(["config", "core.hooksPath", "/nowhere"]);
    let tree = create(stage, &source, &["--branch", "mine"]);
    let names = tree.git.git(["for-each-ref", "--format=%(refname)"]);
    let expected = "refs/heads/deep/branch\nrefs/heads/main\nrefs/heads/mine\n\
        refs/remotes/origin/main\nrefs/tags/heavy\nrefs/tags/light";
    assert_eq!(names, expected);
    assert_eq!(tree.git.git(["stash", "list"]), "");
    assert_eq!(tree.git.git(["branch", "--show-current"]), "mine");
    assert!(!source.git(["branch", "--list"]).contains("mine"), "only the tree has the branch");
    assert_eq!(source.git(["worktree", "list"]).lines().count(), 1);
}

fn removal(stage: &Stage) {
    let source = stage.small_source();
    let tree = create(stage, &source, &[]);
    stage.remove(&tree, &source);
    let tree = create(stage, &source, &[]);
    tree.git.git(["checkout", "--quiet", "-b", "work"]);
    tree.git.write("file", "mine\n");
    tree.git.commit("mine");
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
    let path = tree.git.root.to_string_lossy().into_owned();
    source.git(["fetch", "--quiet", &path, "work:landed"]);
    stage.remove(&tree, &source);
    let tree = create(stage, &source, &[]);
    tree.git.write("file", "stashed\n");
    tree.git.git(["stash", "--quiet"]);
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
}

fn borrowed(stage: &Stage) {
    let lender = stage.small_source();
    let path = stage.sandbox.path("borrower").to_string_lossy().into_owned();
    lender.git(["clone", "--quiet", "--shared", ".", &path]);
    let source = stage.sandbox.existing("borrower");
    let tree = create(stage, &source, &[]);
    assert!(!tree.path(".git/objects/info/alternates").exists());
    fs::rename(&lender.root, stage.sandbox.path("gone")).expect("ours");
    tree.git.git(["fsck", "--strict"]);
}

fn bare(stage: &Stage) {
    let origin = stage.small_source();
    let path = stage.sandbox.path("bare.git").to_string_lossy().into_owned();
    origin.git(["clone", "--quiet", "--bare", ".", &path]);
    let source = stage.sandbox.existing("bare.git");
    let tree = stage.create(&source.root, &["--rev", "main"]);
    tree.assert_clean();
    assert_eq!(fs::read(tree.path("file")).expect("checked out"), b"a file\n");
    stage.remove(&tree, &source);
    stage.try_create(&source.root, &["--carry", "dirty"]).failure(2, "bad-request");
}

fn pointers(stage: &Stage) {
    let source = stage.sandbox.repository("source");
    let calls = stage.sandbox.path("calls");
    let smudge = format!("sh -c 'echo x >> {}; sed s/pointer/content/'", calls.display());
    source.git(["config", "filter.lfs.clean", "sed s/content/pointer/"]);
    source.git(["config", "filter.lfs.smudge", &smudge]);
    source.git(["config", "filter.lfs.required", "true"]);
    source.write(".gitattributes", "*.bin filter=lfs -text\n");
    source.write("a.bin", "content\n");
    source.commit("large");
    source.settle();
    let tree = stage.create(&source.root, &["--lfs", "pointer"]);
    assert_eq!(fs::read(tree.path("a.bin")).expect("a pointer"), b"pointer\n");
    assert!(!calls.exists(), "the filter ran");
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    let tree = stage.create(&source.root, &[]);
    assert_eq!(fs::read(tree.path("a.bin")).expect("content"), b"content\n");
    assert_eq!(calls.exists(), !stage.takes_donors(), "what the source has is not smudged again");
}
