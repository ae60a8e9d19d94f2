//! Work that is nowhere else keeps a worktree.

use std::fs;
use std::path::Path;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::scene::Scene;

/// A worktree in which somebody did something is kept as it is, and goes with `--discard`.
#[track_caller]
fn kept(code: &str, work: impl FnOnce(&Scene, &Repository)) {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t"]);
    let other = scene.create(&["other"]);
    work(&scene, &tree);
    let (source, files) = (scene.state(), Snapshot::filtered(&tree.root, |_| true));
    let admin = scene.sandbox.existing(tree.git(["rev-parse", "--absolute-git-dir"]));
    let git = Snapshot::filtered(&admin.root, |_| true);
    let answer = scene.fwt().run(scene.root(), ["rm", "t"]);
    let error = answer.failure(4, code);
    assert!(error["message"].to_string().contains("/t is kept"), "{answer}");
    assert!(error["hints"].to_string().contains("--discard"), "{answer}");
    Snapshot::filtered(&tree.root, |_| true).assert_same(&files, Detail::Full, "the tree");
    Snapshot::filtered(&admin.root, |_| true).assert_same(&git, Detail::Full, "what git keeps");
    source.assert_unchanged("by a refused removal");
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    assert!(!tree.root.exists() && !admin.root.exists());
    assert_eq!(other.git(["status", "--porcelain"]), "");
    scene.fwt().run(scene.root(), ["rm", "other"]).success();
    scene.assert_nothing("at the end");
    scene.assert_sound();
}

/// A worktree in which nothing of worth is goes without a question.
#[track_caller]
fn goes(work: impl FnOnce(&Scene, &Repository)) -> Scene {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t"]);
    work(&scene, &tree);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("after a removal");
    scene.assert_sound();
    scene
}

#[test]
fn case_b24_a_modified_file() {
    kept("unsaved-work", |_, tree| tree.write("file", "two\n"));
}

#[test]
fn case_b24_a_modified_file_of_the_same_size_and_time() {
    kept("unsaved-work", |_, tree| {
        let path = tree.path("file");
        let time = fs::metadata(&path).and_then(|found| found.modified()).expect("it is there");
        tree.write("file", "two\n");
        let file = fs::File::options().write(true).open(path).expect("it is there");
        file.set_modified(time).expect("it is ours");
    });
}

#[test]
fn case_b24_a_file_that_git_was_told_to_look_away_from() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        kept("unsaved-work", |_, tree| {
            tree.git(["update-index", flag, "file"]);
            tree.write("file", "two\n");
            assert_eq!(tree.git(["status", "--porcelain"]), "");
        });
    }
}

#[test]
fn case_b24_a_changed_mode() {
    kept("unsaved-work", |_, tree| tree.chmod("file", 0o755));
}

#[test]
fn case_b24_a_deleted_file() {
    kept("unsaved-work", |_, tree| fs::remove_file(tree.path("file")).expect("it is there"));
}

#[test]
fn case_b24_a_staged_change_alone() {
    kept("unsaved-work", |_, tree| {
        tree.write("file", "two\n");
        tree.git(["add", "file"]);
        tree.write("file", "one\n");
    });
}

#[test]
fn case_b24_an_untracked_file() {
    kept("unsaved-work", |_, tree| tree.write("new", ""));
}

#[test]
fn case_b24_an_untracked_file_with_an_awkward_name() {
    use std::os::unix::ffi::OsStrExt as _;
    kept("unsaved-work", |_, tree| tree.write(std::ffi::OsStr::from_bytes(b"d/\xff\n"), "x"));
}

#[test]
fn case_b24_an_ignored_file_in_a_directory_that_is_not_ignored() {
    kept("unsaved-work", |_, tree| tree.write(".env", "SECRET=1\n"));
    kept("unsaved-work", |_, tree| tree.write("dir/run.log", "line\n"));
}

#[test]
fn case_b24_a_file_that_only_a_global_rule_hides() {
    kept("unsaved-work", |scene, tree| {
        scene.source.write(".git/info/exclude", "*.secret\n");
        tree.write("my.secret", "x");
        assert_eq!(tree.git(["status", "--porcelain"]), "");
    });
}

#[test]
fn case_b24_a_link_and_a_fifo() {
    kept("unsaved-work", |_, tree| tree.link("to-nowhere", "nowhere"));
    kept("unsaved-work", |scene, tree| {
        fwt_tests::environment::succeed(scene.sandbox.command("mkfifo").arg(tree.path("fifo")));
    });
}

#[test]
fn case_b23_a_detached_commit() {
    kept("unsaved-work", |_, tree| tree.commit("work"));
}

#[test]
fn case_b23_a_commit_that_only_the_reflog_knows() {
    kept("unsaved-work", |_, tree| {
        tree.write("new", "work");
        tree.commit("work");
        tree.git(["reset", "--quiet", "--hard", "HEAD~1"]);
        assert_eq!(tree.git(["status", "--porcelain"]), "");
    });
}

#[test]
fn case_g6_a_nested_repository() {
    kept("unsaved-work", |_, tree| {
        let nested = Path::new("lib");
        tree.git(["init", "--quiet", "lib"]);
        fs::write(tree.path(nested.join("x")), "x").expect("it is ours");
    });
}

#[test]
fn an_operation_in_progress() {
    kept("operation-in-progress", |_, tree| {
        tree.commit("two");
        let mut rebase = tree.command(["-c", "sequence.editor=sed -i s/pick/edit/"]);
        rebase.args(["rebase", "--quiet", "-i", "HEAD~1"]);
        fwt_tests::environment::succeed(&mut rebase);
    });
    kept("operation-in-progress", |scene, tree| {
        scene.source.write("file", "theirs\n");
        scene.source.commit("theirs");
        tree.git(["merge", "--quiet", "--no-commit", "--no-ff", "main"]);
    });
    kept("operation-in-progress", |_, tree| {
        tree.git(["bisect", "start"]);
    });
}

#[test]
fn case_b30_a_tree_that_somebody_locked() {
    kept("locked-by-git", |scene, tree| {
        let path = tree.root.to_str().expect("it is text");
        // One that is a mount is locked by fwt as long as it lives.
        drop(scene.source.command(["worktree", "unlock", path]).output());
        scene.source.git(["worktree", "lock", "--reason", "mine", path]);
    });
}

#[test]
fn an_untouched_tree() {
    goes(|_, _| ());
    // A rewritten index is no work, nor is a new time of a file.
    goes(|_, tree| {
        tree.settle();
        tree.git(["status", "--porcelain"]);
    });
}

#[test]
fn a_directory_that_the_project_writes_off() {
    goes(|_, tree| {
        tree.write("target/debug/deep/artefact", "x");
        tree.write("dir/target/artefact", "x");
        tree.chmod("target/debug", 0o000);
    });
}

#[test]
fn case_b23_a_commit_on_a_branch_and_the_branch_stays() {
    let mut commit = String::new();
    let scene = goes(|_, tree| {
        tree.git(["switch", "--quiet", "--create", "work"]);
        tree.write("new", "work");
        tree.commit("work");
        commit = tree.commit_of("HEAD");
    });
    assert_eq!(scene.source.commit_of("work"), commit);
}

#[test]
fn case_b30_a_branch_stays_while_another_tree_has_it() {
    let scene = Scene::anywhere();
    let tree = scene.create(&["t", "--branch", "work"]);
    let twin = scene.sandbox.path("twin");
    let words = ["worktree", "add", "--quiet", "--force", twin.to_str().expect("text"), "work"];
    scene.source.git(words);
    let removed = scene.fwt().run(scene.root(), ["rm", "t"]).success();
    assert_eq!(removed["branch"], "work");
    assert!(!tree.root.exists());
    let twin = scene.sandbox.existing(twin);
    assert_eq!(twin.git(["status", "--porcelain=v2", "--branch"]).lines().count(), 2);
}
