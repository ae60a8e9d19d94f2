//! `--carry all`: every ignored file comes too, as it is, but for other worktrees and fwt's own trees.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fwt_tests::Repository;
use fwt_tests::environment::succeed;

use crate::check::Untouched;
use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::needing("case_g14_all_that_is_ignored_comes_as_it_is", Needs::Carries, as_it_is),
    Case::needing("case_g14_links_between_tracked_and_ignored_files", Needs::Carries, hard_links),
    Case::needing("case_g14_directories_that_nobody_may_write_to", Needs::Carries, closed),
    Case::needing("case_g14_many_ignored_files", Needs::Carries, many),
    Case::needing("case_b18_the_second_is_no_larger_than_the_first", Needs::Carries, twice),
    Case::needing("case_b18_trees_of_fwt_inside_the_source", Needs::Carries, trees_inside),
    Case::needing("case_g14_an_ignored_file_that_cannot_be_read", Needs::PlainUser, unreadable),
];

/// A source with something ignored of every sort.
fn with_ignored(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.write(".gitignore", "out/\n*.log\n.env\n!kept.log\n");
    source.write("directory/.gitignore", "local\n");
    source.commit("rules");
    source.settle();
    source.write(".env", "SECRET=1\n");
    source.chmod(".env", 0o600);
    source.write("a.log", "ignored\n");
    source.write("kept.log", "not ignored\n");
    source.write("directory/local", "ignored\n");
    source.write("directory/below/a.log", "ignored\n");
    source.write("out/deep/er/file", "ignored\n");
    source.write("out/.hidden", "ignored\n");
    source.write("out/tool", "#!/bin/sh\n");
    source.chmod("out/tool", 0o751);
    source.link("out/inside", "deep/er/file");
    source.link("out/outside", "/etc");
    source.link("out/dangling", "nowhere");
    fs::create_dir(source.path("out/empty")).expect("the source is ours");
    source
}

fn attribute(stage: &Stage, source: &Repository, path: &str) {
    let mut command = stage.sandbox.command("setfattr");
    succeed(command.args(["-n", "user.k", "-v", path]).arg(source.path(path)));
}

fn as_it_is(stage: &Stage) {
    let source = with_ignored(stage);
    source.chmod("out/deep", 0o700);
    source.chmod("out/deep/er", 0o2755);
    source.chmod("out/empty", 0o711);
    let sparse = fs::File::create(source.path("out/sparse")).expect("ours");
    sparse.set_len(8 << 20).expect("ours");
    drop(sparse);
    fs::hard_link(source.path("out/tool"), source.path("out/deep/tool")).expect("one file system");
    if fwt_tests::environment::has_program("setfattr") {
        for path in ["out", "out/deep", "out/deep/er/file", "out/tool", "directory", "file"] {
            attribute(stage, &source, path);
        }
    }
    let mut touch = stage.sandbox.command("touch");
    touch.current_dir(&source.root).args(["-h", "-d", "2001-01-01T00:00:00.123456789Z"]);
    succeed(touch.args(["out/outside", "out/deep/er/file", "out/deep/er", "out/deep", "out"]));
    for mode in ["linked", "standalone"] {
        let tree = stage.check_carried(&source, "all", mode);
        let look = |path: &str| fs::symlink_metadata(tree.path(path)).expect("it was carried");
        assert_eq!(look("out/deep").mtime(), 978_307_200);
        assert!(look("out/sparse").blocks() * 512 < 1 << 20, "the hole was filled");
        let carried = &tree.made.json["carried"];
        // Links count, directories do not.
        assert_eq!(carried["ignored"], 12, "{carried}");
        stage.remove(&tree, &source);
    }
    // With `dirty` nothing of it comes, and a directory that holds nothing else does.
    let tree = stage.check_carried(&source, "dirty", "linked");
    assert!(!tree.path("out").exists() && tree.path("kept.log").exists());
}

/// As a build leaves them, and as `cp -l` does.
fn hard_links(stage: &Stage) {
    let source = with_ignored(stage);
    let link = |from: &str, to: &str| {
        fs::hard_link(source.path(from), source.path(to)).expect("one file system");
    };
    link("out/tool", "out/deep/er/tool-1");
    link("out/tool", "untracked-tool");
    link("file", "out/file");
    link("out/.hidden", "directory/below/b.log");
    // One more name is where no carry goes.
    fs::hard_link(source.path("a.log"), stage.sandbox.path("outside")).expect("one file system");
    source.git(["update-index", "-q", "--refresh"]);
    let tree = stage.check_carried(&source, "all", "linked");
    let look = |path: &str| fs::metadata(tree.path(path)).expect("it was carried");
    assert_eq!((look("out/tool").nlink(), look("a.log").nlink()), (3, 1));
    // None of the links is with a file of the source.
    fs::write(tree.path("out/file"), "written in the tree\n").expect("it is ours");
    assert_eq!(fs::read(source.path("file")).expect("it is there"), b"a file\n");
    fs::write(tree.path("file"), "a file\n").expect("it is ours");
    stage.remove(&tree, &source);
    stage.check_carried(&source, "dirty", "linked");
}

fn closed(stage: &Stage) {
    let source = with_ignored(stage);
    for path in ["out/deep/er", "out/deep", "out"] {
        source.chmod(path, 0o555);
    }
    let tree = stage.check_carried(&source, "all", "linked");
    stage.remove(&tree, &source);
    for path in ["out", "out/deep", "out/deep/er"] {
        source.chmod(path, 0o755);
    }
}

/// More than a worker takes at once, in one directory and in many.
fn many(stage: &Stage) {
    let source = with_ignored(stage);
    for number in 0..1_500 {
        source.write(format!("out/flat/{number}"), format!("{number}\n"));
    }
    for number in 0..300 {
        source.write(format!("out/{}/{}/{number}", number % 7, number % 31), "deep\n");
    }
    let tree = stage.check_carried(&source, "all", "linked");
    stage.remove(&tree, &source);
}

fn twice(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", ".trees/\n");
    source.commit("ignore");
    source.git(["worktree", "add", "--quiet", ".trees/a"]);
    source.git(["worktree", "add", "--quiet", ".trees/deep/b"]);
    for path in [".trees/a/big", ".trees/deep/b/big"] {
        source.write(path, vec![7; 1 << 20]);
    }
    source.write(".trees/note", "ignored, and no worktree\n");
    let [first, second] = ["linked", "standalone"].map(|mode| {
        let tree = stage.create_as(mode, &source, &["--carry", "all"]);
        for path in [".trees/a", ".trees/deep/b"] {
            assert!(!tree.path(path).exists(), "{path}");
            assert!(tree.made.json["skipped"].to_string().contains(path), "{}", tree.made.json);
        }
        assert!(tree.path(".trees/note").exists());
        tree
    });
    for number in ["files", "bytes_cloned", "bytes_copied"] {
        assert_eq!(first.made.stat(number), second.made.stat(number), "{number}");
    }
    assert!(first.made.stat("bytes_cloned") + first.made.stat("bytes_copied") < 1 << 20);
}

/// Another repository's trees may have been put there, each by itself or with all of fwt's state.
fn trees_inside(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", ".trees/\n.cache/\n");
    source.commit("ignore");
    source.settle();
    let other = stage.sandbox.repository("other");
    other.write("big", vec![7; 1 << 20]);
    other.commit("big");
    let store = stage.fwt().with_state(source.path(".cache/fwt"));
    let at = source.path(".trees/theirs");
    let own = source.path(".trees/own");
    for (mode, at) in [("linked", &at), ("standalone", &own)] {
        let at = at.to_str().expect("it is UTF-8");
        store.create(&other.root, &["--mode", mode, "--at", at]);
    }
    let in_store = store.create(&other.root, &["in-store"]).path();
    assert!(in_store.starts_with(&source.root));
    let untouched = Untouched::look(&source);
    for mode in ["linked", "standalone"] {
        let tree = stage.create_as(mode, &source, &["--carry", "all"]);
        for path in [&at, &own, &in_store] {
            let below = path.strip_prefix(&source.root).expect("it is inside");
            assert!(!tree.path(below).exists(), "{}", below.display());
        }
        assert!(tree.made.stat("bytes_cloned") + tree.made.stat("bytes_copied") < 1 << 20);
        stage.remove(&tree, &source);
    }
    untouched.assert_unchanged();
}

/// It is listed, and all else comes; one that is not ignored fails the create.
fn unreadable(stage: &Stage) {
    if !stage.carries() {
        return;
    }
    let source = with_ignored(stage);
    source.chmod("out/tool", 0o000);
    source.chmod("out/deep", 0o000);
    let tree = stage.create(&source.root, &["--carry", "all"]);
    let skipped = tree.made.json["skipped"].as_array().expect("a list").clone();
    let paths: Vec<&str> = skipped.iter().filter_map(|entry| entry["path"].as_str()).collect();
    assert_eq!(paths, ["out/deep", "out/tool"], "{skipped:?}");
    assert!(skipped.iter().all(|entry| entry["reason"] == "unreadable"), "{skipped:?}");
    assert!(tree.path(".env").exists() && tree.path("out/.hidden").exists());
    stage.remove(&tree, &source);
    source.chmod("out/deep", 0o755);
    source.write("untracked", "u\n");
    source.chmod("untracked", 0o000);
    let answer = stage.try_create(&source.root, &["--carry", "all"]);
    let error = answer.failure(5, "permission-denied");
    assert!(error["message"].to_string().contains("untracked"), "{answer}");
    stage.assert_no_debris(&source, &[]);
    assert!(Path::new(&source.root).join("untracked").exists());
}
