//! The objects, refs and revisions of a tree with a repository of its own.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fwt_tests::Repository;
use fwt_tests::snapshot::{Detail, Snapshot};

use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b55_no_object_file_is_shared_or_written_through", objects),
    Case::needing("case_b55_what_is_staged_alone_outlives_its_source", Needs::Carries, staged_only),
    Case::new("case_b55_a_deleted_branch_and_housekeeping_in_the_source", deleted_branch),
    Case::new("case_b7_standalone_at_another_revision", revisions),
    Case::new("case_b54_a_stash_of_its_own", stash),
    Case::new("case_b45_standalone_at_a_place_of_ones_own", own_place),
];

fn object_files(git_dir: &Path) -> Vec<PathBuf> {
    let objects = git_dir.join("objects");
    let found = Snapshot::of(&objects);
    found.paths().map(|path| objects.join(path)).filter(|path| path.is_file()).collect()
}

/// Loose objects, packs, and objects that are borrowed from elsewhere.
fn objects(stage: &Stage) {
    let source = stage.small_source();
    source.git(["gc", "--quiet"]);
    source.write("file", "loose\n");
    source.commit("loose");
    source.settle();
    let tree = stage.create_as("standalone", &source, &[]);
    let files = object_files(&tree.path(".git"));
    let inode = |path: &PathBuf| {
        let found = fs::metadata(path).expect("it is there");
        assert_eq!(found.nlink(), 1, "{} has another name", path.display());
        (found.dev(), found.ino())
    };
    let own: HashSet<_> = files.iter().map(inode).collect();
    let theirs: HashSet<_> = object_files(&source.git_dir()).iter().map(inode).collect();
    assert!(own.is_disjoint(&theirs), "an object file is shared");
    let before = Snapshot::filtered(&source.git_dir(), |_| true);
    // Whoever is in the tree may ruin it, and nothing else.
    for path in &files {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        let size = fs::metadata(path).expect("it is there").len();
        fs::write(path, vec![b'#'; usize::try_from(size).expect("it is small")]).expect("ours");
    }
    Snapshot::filtered(&source.git_dir(), |_| true).assert_same(
        &before,
        Detail::Full,
        "the source's repository",
    );
    source.git(["fsck", "--strict", "--no-progress"]);
    stage.discard(&tree, &source);
}

fn clean_up(source: &Repository) {
    source.git(["reflog", "expire", "--expire=now", "--all"]);
    source.git(["gc", "--quiet", "--prune=now"]);
}

/// The tree's index holds it; the source forgets it.
fn staged_only(stage: &Stage) {
    let source = stage.small_source();
    source.write("file", "in the index alone\n");
    source.git(["add", "file"]);
    source.write("file", "and then edited\n");
    let tree = stage.check_carried(&source, "dirty", "standalone");
    source.git(["reset", "--quiet", "--hard"]);
    clean_up(&source);
    let asked = source.command(["cat-file", "-e", &tree.git.git(["rev-parse", ":file"])]).output();
    assert!(!asked.expect("git runs").status.success(), "the source still has it");
    fs::rename(&source.root, stage.sandbox.path("away")).expect("both are ours");
    tree.git.git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
    assert_eq!(tree.git.git(["cat-file", "blob", ":file"]), "in the index alone");
    tree.git.git(["commit", "--quiet", "--message", "what was staged"]);
    assert_eq!(tree.git.git(["status", "--porcelain"]), " M file");
}

fn deleted_branch(stage: &Stage) {
    let source = stage.small_source();
    source.git(["checkout", "--quiet", "-b", "doomed"]);
    source.write("file", "on the branch\n");
    source.commit("on the branch");
    source.git(["tag", "--annotate", "doomed-too", "--message", "x"]);
    source.settle();
    let commit = source.commit_of("HEAD");
    let tree = stage.create_as("standalone", &source, &[]);
    source.git(["checkout", "--quiet", "main"]);
    source.git(["branch", "--quiet", "-D", "doomed"]);
    source.git(["tag", "--delete", "doomed-too"]);
    clean_up(&source);
    assert!(
        !source.command(["cat-file", "-e", &commit]).output().expect("git runs").status.success()
    );
    tree.git.git(["fsck", "--strict", "--no-progress"]);
    tree.git.git(["checkout", "--quiet", "doomed"]);
    assert_eq!(tree.git.commit_of("doomed-too"), commit);
    assert_eq!(fs::read(tree.path("file")).expect("tracked"), b"on the branch\n");
    // Its commits are nowhere else any more.
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
    stage.discard(&tree, &source);
}

/// Between the two, attributes, submodules and kinds change, and a sparse source shows a part of each.
fn revisions(stage: &Stage) {
    let library = stage.sandbox.repository("library");
    library.write("code", "library\n");
    library.commit("library");
    let source = stage.small_source();
    source.write(".gitattributes", "*.txt text eol=crlf\n*.id ident\n");
    for name in ["a.txt", "b.txt", "inside/c.txt", "x.id"] {
        source.write(name, "one\n$Id$\ntwo\n");
    }
    source.write("libs/sub", "not yet a submodule\n");
    source.commit("one");
    source.git(["rm", "--quiet", "libs/sub"]);
    source.git(["submodule", "--quiet", "add", &library.root.to_string_lossy(), "libs/sub"]);
    source.write(".gitattributes", "*.txt text eol=lf\n");
    source.write("b.txt", "other\n");
    source.commit("two");
    source.settle();
    let check = |revision: &str| -> Tree {
        let tree = stage.create_as("standalone", &source, &["--rev", revision]);
        tree.assert_clean();
        assert_eq!(tree.git.commit_of("HEAD"), source.commit_of(revision));
        stage.assert_like_git(&tree, &source, revision);
        tree.git.git(["fsck", "--strict", "--no-progress"]);
        tree
    };
    for revision in ["HEAD", "HEAD~1", "HEAD~2"] {
        let tree = check(revision);
        stage.remove(&tree, &source);
    }
    stage.assert_no_debris(&source, &[]);
}

/// Nobody pops what somebody else has stashed.
fn stash(stage: &Stage) {
    let source = stage.small_source();
    source.write("file", "of the source\n");
    source.git(["stash", "--quiet"]);
    let [one, two] = ["one", "two"].map(|name| {
        let tree = stage.create_as("standalone", &source, &[name]);
        tree.git.write("file", format!("of {name}\n"));
        tree.git.git(["stash", "--quiet"]);
        tree
    });
    for (git, content) in [(&one.git, "of one"), (&two.git, "of two"), (&source, "of the source")] {
        assert_eq!(git.git(["stash", "list"]).lines().count(), 1);
        git.git(["stash", "pop", "--quiet"]);
        assert_eq!(fs::read(git.path("file")).expect("tracked"), format!("{content}\n").as_bytes());
    }
}

fn own_place(stage: &Stage) {
    let source = stage.small_source();
    let place = stage.sandbox.path("some where/else");
    let at = place.to_str().expect("it is UTF-8");
    let tree = stage.create_as("standalone", &source, &["--at", at, "--branch", "topic"]);
    assert_eq!(tree.git.root, place);
    tree.assert_clean();
    if stage.is_mounted() {
        // Until it is unmounted it is where it is.
        fs::rename(&place, stage.sandbox.path("moved")).expect_err("a mount is not renamed");
        return stage.remove(&tree, &source);
    }
    // It can be moved, and nothing in it names the old place.
    let moved = stage.sandbox.path("moved");
    fs::rename(&place, &moved).expect("both are ours");
    let git = stage.sandbox.existing(&moved);
    assert_eq!(git.top_level(""), moved);
    assert_eq!(git.git(["status", "--porcelain"]), "");
    assert_eq!(git.git(["branch", "--show-current"]), "topic");
    fs::rename(&moved, &place).expect("both are ours");
    stage.remove(&tree, &source);
    assert!(!stage.sandbox.path("some where").join("else").exists());
    assert!(!source.git(["branch", "--list"]).contains("topic"));
}
