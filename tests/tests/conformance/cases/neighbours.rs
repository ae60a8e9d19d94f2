//! Two trees and their source side by side: locks, commits and edits of the one are not the other's.

use std::fs;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b1_what_becomes_of_the_source_is_not_seen", source_changes),
    Case::new("case_b2_each_has_an_index_and_locks_of_its_own", locks),
    Case::new("case_b2_commits_at_the_same_time", commits),
];

fn source_changes(stage: &Stage) {
    let source = stage.small_source();
    source.write("many/one", "one\n");
    source.write("many/two", "two\n");
    source.write("truncated", "long enough\n".repeat(1000));
    source.commit("second");
    source.settle();
    let tree = stage.create(&source.root, &[]);
    let before = Snapshot::of(&tree.git.root);
    let check = |what: &str| {
        Snapshot::of(&tree.git.root).assert_same(&before, Detail::Full, what);
        assert_eq!(tree.git.git(["status", "--porcelain"]), "", "{what}");
    };
    source.write("file", "edited\n");
    fs::File::options()
        .write(true)
        .open(source.path("truncated"))
        .and_then(|it| it.set_len(7))
        .expect("ours");
    source.write("new", "new\n");
    fs::rename(source.path("new"), source.path("run.sh")).expect("both are ours");
    fs::remove_file(source.path("link")).expect("it is there");
    fs::rename(source.path("many"), source.path("moved")).expect("both are ours");
    check("after edits");
    source.git(["add", "--all"]);
    source.git(["checkout", "--quiet", "-b", "other"]);
    source.git(["commit", "--quiet", "--message", "on another branch"]);
    source.git(["rm", "--quiet", "-r", "moved", "directory"]);
    source.git(["stash", "--quiet"]);
    source.git(["gc", "--quiet", "--prune=now"]);
    check("after work with git");
    stage.remount(&tree, &source);
    check("mounted anew");
    stage.remove(&tree, &source);
}

fn locks(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.create(&source.root, &[]);
    let works = |git: &Repository, name: &str| {
        git.write(name, "work\n");
        git.git(["add", name]);
        assert_eq!(git.git(["diff", "--cached", "--name-only"]), name);
        git.git(["rm", "--quiet", "--cached", name]);
        fs::remove_file(git.path(name)).expect("it is there");
    };
    for (held, free) in [(&source, &tree.git), (&tree.git, &source)] {
        let locks = ["index.lock", "HEAD.lock"].map(|name| held.git_dir().join(name));
        for lock in &locks {
            fs::write(lock, "").expect("it is ours");
        }
        works(free, "added");
        let add = held.command(["add", "file", "--refresh"]).output().expect("git runs");
        assert!(!add.status.success(), "its own lock is heeded");
        for lock in &locks {
            fs::remove_file(lock).expect("it is ours");
        }
        works(held, "added");
    }
    assert_ne!(tree.git.git_dir().join("index"), source.git_dir().join("index"));
    stage.remove(&tree, &source);
}

fn commits(stage: &Stage) {
    const COMMITS: usize = 10;
    let source = stage.small_source();
    let trees = ["one", "two"].map(|name| stage.create(&source.root, &[name, "--branch", name]));
    let all = [&trees[0].git, &trees[1].git, &source];
    std::thread::scope(|scope| {
        for git in all {
            scope.spawn(move || {
                for number in 0..COMMITS {
                    git.write("file", format!("{number} in {}\n", git.root.display()));
                    git.git(["commit", "--quiet", "--all", "--message", &number.to_string()]);
                }
            });
        }
    });
    for git in all {
        assert_eq!(git.git(["status", "--porcelain"]), "");
        for branch in ["one", "two", "main"] {
            // The first commit is the source's.
            let count = git.git(["rev-list", "--count", branch]);
            assert_eq!(count, (COMMITS + 1).to_string(), "{branch} in {}", git.root.display());
        }
        let head = git.git(["log", "-1", "--format=%s"]);
        assert_eq!(head, (COMMITS - 1).to_string());
    }
    source.git(["fsck", "--strict", "--no-progress", "--no-dangling"]);
    let upstream = source.command(["config", "--get-regexp", "^branch\\."]).output();
    assert_eq!(upstream.expect("git runs").stdout, b"");
    for tree in &trees {
        stage.remove(tree, &source);
    }
}
