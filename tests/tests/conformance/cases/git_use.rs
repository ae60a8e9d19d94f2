//! Plain git in and around a tree.

use std::fs;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::matrix::Case;
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b40_git_works_in_the_tree", in_the_tree),
    Case::new("case_b40_git_knows_the_tree_from_its_source", from_the_source),
    Case::new("case_b40_a_tree_that_git_removed", removed_by_git),
    Case::new("case_b40_git_cannot_hurt_a_tree_at_work", at_work),
    Case::new("case_b40_a_tree_that_git_moved", moved_by_git),
    Case::new("case_b40_rm_keeps_what_is_nowhere_else", rm_keeps),
];

fn in_the_tree(stage: &Stage) {
    let source = stage.small_source();
    source.write("file", "second\n");
    source.commit("second");
    source.settle();
    let tree = stage.check(&source, "HEAD");
    let git = &tree.git;
    git.git(["checkout", "--quiet", "-b", "topic"]);
    git.write("new", "made in the tree\n");
    git.commit("in the tree");
    git.write("run.sh", "stashed\n");
    git.git(["stash", "--quiet"]);
    assert_eq!(git.git(["status", "--porcelain"]), "");
    git.git(["stash", "pop", "--quiet"]);
    git.git(["commit", "--quiet", "--all", "--message", "popped"]);
    git.git(["rebase", "--quiet", "--onto", "HEAD~3", "HEAD~2"]);
    assert_eq!(fs::read(git.path("run.sh")).expect("it is there"), b"stashed\n");
    git.git(["switch", "--quiet", "--detach", "HEAD~1"]);
    git.git(["gc", "--quiet"]);
    for repository in [git, &source] {
        repository.git(["fsck", "--full", "--strict"]);
        assert_eq!(repository.git(["status", "--porcelain"]), "");
    }
    git.git(["switch", "--quiet", "topic"]);
    // What was rebased is in the reflog of the tree alone.
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
    git.git(["reflog", "expire", "--expire=now", "--all"]);
    stage.remove(&tree, &source);
    source.git(["fsck", "--full", "--strict"]);
    assert_eq!(source.git(["log", "--format=%s", "-1", "topic"]), "popped");
}

fn from_the_source(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.create(&source.root, &["named"]);
    let list = source.git(["worktree", "list", "--porcelain"]);
    let line = format!(
        "worktree {}\nHEAD {}\ndetached",
        tree.git.root.display(),
        source.commit_of("HEAD")
    );
    assert!(list.contains(&line), "{list}");
    assert_eq!(list.contains("locked"), stage.is_mounted(), "{list}");
    assert!(!list.contains("prunable"), "{list}");
    source.git(["worktree", "prune", "--expire=now"]);
    source.git(["worktree", "repair"]);
    if !stage.is_mounted() {
        source.git(["worktree", "lock", &tree.git.root.to_string_lossy()]);
        source.git(["worktree", "unlock", &tree.git.root.to_string_lossy()]);
    }
    tree.assert_clean();
    stage.assert_no_debris(&source, &[&tree]);
    stage.remove(&tree, &source);
}

fn removed_by_git(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.create(&source.root, &["named"]);
    if stage.is_mounted() {
        return assert_held(stage, &source, &tree, "remove");
    }
    source.git(["worktree", "remove", &tree.git.root.to_string_lossy()]);
    let rows = stage.fwt().list_all(&source.root);
    assert_eq!(rows[0]["state"], "missing");
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).success();
    stage.assert_no_debris(&source, &[]);
    stage.create(&source.root, &["named"]).assert_clean();
}

/// Whatever git tidies up in the repository, a tree with work in it stays as it is: mounted, and where it is
/// not mounted for a while, as after a reboot.
fn at_work(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.create(&source.root, &["named"]);
    tree.git.write("file", "work\n");
    tree.git.write("new", "work\n");
    let before = Snapshot::of(&tree.git.root);
    let tidy = || {
        source.git(["worktree", "prune", "--expire=now"]);
        source.git(["-c", "gc.worktreePruneExpire=now", "gc", "--quiet", "--prune=now"]);
        let path = tree.git.root.to_string_lossy();
        // With work in it git refuses; one that is mounted it leaves alone even by force.
        let force = stage.is_mounted().then_some("--force");
        let words = ["worktree", "remove"].into_iter().chain(force).chain([&*path]);
        let output = source.command(words).output().expect("git runs");
        assert!(!output.status.success(), "git removed it");
    };
    let check = |what: &str| {
        Snapshot::of(&tree.git.root).assert_same(&before, Detail::Full, what);
        assert_eq!(tree.git.git(["diff-files", "--name-only"]), "file", "{what}");
        assert_eq!(tree.git.git(["status", "--porcelain"]), " M file\n?? new", "{what}");
    };
    tidy();
    check("at work");
    if stage.is_mounted() {
        fs_sys::unmount(&tree.git.root, fs_sys::Unmount::Now).expect("nobody is in it");
        tidy();
        stage.fwt().run(&source.root, ["attach", "named"]).success();
        check("mounted anew");
    }
    stage.discard(&tree, &source);
}

/// git, which takes a mount point for a directory, is refused, and nothing happens to the tree.
#[track_caller]
fn assert_held(stage: &Stage, source: &Repository, tree: &Tree, verb: &str) {
    let elsewhere = stage.sandbox.path("elsewhere");
    let (from, to) = (tree.git.root.to_string_lossy(), elsewhere.to_string_lossy());
    let mut arguments = vec!["worktree", verb, &*from];
    arguments.extend((verb == "move").then_some(&*to));
    let output = source.command(arguments).output().expect("git runs");
    assert!(!output.status.success(), "git did {verb} it");
    assert!(String::from_utf8_lossy(&output.stderr).contains("fwt rm"), "{output:?}");
    tree.assert_clean();
    stage.remove(tree, source);
    stage.assert_no_debris(source, &[]);
}

/// fwt then refuses rather than guess, and git still has it.
fn moved_by_git(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.create(&source.root, &[]);
    let elsewhere = stage.sandbox.path("elsewhere");
    if stage.is_mounted() {
        return assert_held(stage, &source, &tree, "move");
    }
    let places = [&tree.git.root, &elsewhere].map(|path| path.to_string_lossy().into_owned());
    source.git(["worktree", "move", &places[0], &places[1]]);
    let moved = stage.sandbox.existing(&elsewhere);
    assert_eq!(moved.git(["status", "--porcelain"]), "");
    let answer = stage.fwt().run(&source.root, ["rm", tree.made.id()]);
    assert_ne!(answer.code, Some(0), "{answer}");
    assert!(elsewhere.join("file").exists());
    source.git(["worktree", "move", &places[1], &places[0]]);
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}

fn rm_keeps(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.create(&source.root, &[]);
    let refused = |code: &str| {
        stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, code);
        assert!(tree.path("file").exists());
    };
    tree.git.write("untracked", "work\n");
    refused("unsaved-work");
    fs::remove_file(tree.path("untracked")).expect("it is there");
    tree.git.write("file", "edited\n");
    refused("unsaved-work");
    tree.git.commit("on no branch");
    refused("unsaved-work");
    tree.git.git(["branch", "kept"]);
    if !stage.is_mounted() {
        source.git(["worktree", "lock", &tree.git.root.to_string_lossy()]);
        refused("locked-by-git");
        source.git(["worktree", "unlock", &tree.git.root.to_string_lossy()]);
    }
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}
