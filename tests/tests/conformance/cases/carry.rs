//! Carrying a source over as it is: `dirty` and `all`, and what `.worktreeinclude` selects.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fwt_tests::Repository;
use fwt_tests::snapshot::{Detail, Snapshot};

use crate::check::Untouched;
use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::needing("case_g11_every_kind_of_change_is_carried", Needs::Carries, every_change),
    Case::needing(
        "case_g14_times_attributes_and_links_of_carried_files_stay",
        Needs::Carries,
        fidelity,
    ),
    Case::needing(
        "case_b15_special_files_are_listed_and_not_opened",
        Needs::Carries,
        special_files,
    ),
    Case::needing("case_b18_other_worktrees_and_repositories_are_left_out", Needs::Carries, nested),
    Case::needing("case_g6_a_submodule_is_its_empty_directory", Needs::Carries, submodule),
    Case::needing(
        "a_tracked_file_in_an_ignored_directory_is_carried",
        Needs::Carries,
        tracked_ignored,
    ),
    Case::needing("what_only_global_rules_hide_is_carried", Needs::Carries, global_rules),
    Case::needing(
        "a_carried_tree_is_removed_while_its_source_has_the_work",
        Needs::Carries,
        removal,
    ),
    Case::needing("carried_bytes_are_never_stamped_clean_unseen", Needs::Carries, no_false_clean),
    Case::needing("another_revision_cannot_be_carried_to", Needs::Carries, other_revision),
    Case::new("plain_git_cannot_carry", plain_git),
    Case::new("case_b22_selected_ignored_files_come_with_a_clean_tree", included),
    Case::new("case_b17_a_tracked_link_wins_over_an_included_file", tracked_link_wins),
    Case::new("case_b21_an_include_rule_never_writes_tracked_paths", tracked_paths_win),
];

/// A source with every kind of uncommitted change, conflicts too.
fn changed(stage: &Stage) -> Repository {
    let source = stage.sandbox.repository("source");
    for name in ["removed", "untracked-now", "both", "mode", "gone", "kind", "conflict", "kept"] {
        source.write(name, format!("{name}\n"));
    }
    source.write("moved/from", "moved\n");
    source.write(".gitignore", "*.log\nbuild/\n");
    source.commit("base");
    source.git(["checkout", "--quiet", "-b", "other"]);
    source.write("conflict", "theirs\n");
    source.commit("theirs");
    source.git(["checkout", "--quiet", "main"]);
    source.write("conflict", "ours\n");
    source.commit("ours");
    source.settle();
    // Exit code 1: it conflicts, as it should.
    assert!(
        !source.command(["merge", "--quiet", "other"]).output().expect("git runs").status.success()
    );
    source.git(["rm", "--quiet", "removed"]);
    source.git(["rm", "--quiet", "--cached", "untracked-now"]);
    source.write("both", "staged\n");
    source.git(["add", "both"]);
    source.write("both", "staged and more\n");
    source.git(["mv", "moved/from", "moved/to"]);
    source.chmod("mode", 0o755);
    fs::remove_file(source.path("gone")).expect("it is there");
    fs::remove_file(source.path("kind")).expect("it is there");
    source.link("kind", "kept");
    source.write("new", "intent\n");
    source.git(["add", "--intent-to-add", "new"]);
    source.write("untracked/odd\nname", "untracked\n");
    source.write("a.log", "ignored\n");
    source.write("build/out", "ignored\n");
    source
}

fn every_change(stage: &Stage) {
    let source = changed(stage);
    for carry in ["dirty", "all"] {
        let tree = carry_over(stage, &source, carry);
        let hidden = |path: &Path| {
            carry == "dirty" && (path.ends_with("a.log") || path.starts_with("build"))
        };
        let shown = |path: &Path| !path.starts_with(".git") || path == Path::new(".gitignore");
        let expected = Snapshot::filtered(&source.root, |path| shown(path) && !hidden(path));
        let found = Snapshot::filtered(&tree.git.root, shown);
        found.assert_same(&expected, Detail::Full, carry);
        let carried = &tree.made.json["carried"];
        assert_eq!(carried["ignored"], if carry == "all" { 2 } else { 0 }, "{carried}");
        assert_eq!(carried["untracked"], 2, "{carried}");
        assert_eq!(carried["deleted"], 4, "{carried}");
        stage.fwt().run(&source.root, ["rm", "--discard", tree.made.id()]).success();
    }
}

/// Makes a tree and checks what holds for any carry: the source is untouched, git sees the same.
#[track_caller]
fn carry_over(stage: &Stage, source: &Repository, carry: &str) -> Tree {
    let untouched = Untouched::look(source);
    let tree = stage.create(&source.root, &["--carry", carry]);
    untouched.assert_unchanged();
    for question in [
        &["--no-optional-locks", "status", "--porcelain", "-z"][..],
        &["ls-files", "--stage", "-z"],
        &["--no-optional-locks", "diff"],
        &["--no-optional-locks", "diff", "--cached"],
    ] {
        let (here, there) = (tree.git.git_bytes(question), source.git_bytes(question));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&here), text(&there), "{question:?}");
    }
    assert_eq!(tree.git.commit_of("HEAD"), source.commit_of("HEAD"));
    tree
}

fn fidelity(stage: &Stage) {
    let source = stage.small_source();
    source.write("private/a", "carried\n");
    fs::hard_link(source.path("private/a"), source.path("private/b")).expect("one file system");
    source.chmod("private/a", 0o640);
    let sparse = fs::File::create(source.path("private/sparse")).expect("ours");
    sparse.set_len(8 << 20).expect("ours");
    drop(sparse);
    let touch = ["-h", "-d", "2001-01-01T00:00:00.123456789Z", "private/a", "private"];
    assert!(
        stage
            .sandbox
            .command("touch")
            .current_dir(&source.root)
            .args(touch)
            .status()
            .expect("runs")
            .success()
    );
    let attribute = ["-n", "user.k", "-v", "value", "private/b"];
    let has_attributes = stage
        .sandbox
        .command("setfattr")
        .current_dir(&source.root)
        .args(attribute)
        .status()
        .is_ok_and(|status| status.success());
    source.chmod("private", 0o700);
    let tree = carry_over(stage, &source, "dirty");
    let look = |path: &str| fs::symlink_metadata(tree.path(path)).expect("it was carried");
    assert_eq!(
        (look("private/a").mtime(), look("private/a").mtime_nsec()),
        (978_307_200, 123_456_789)
    );
    assert_eq!((look("private").mtime(), look("private").mode() & 0o7777), (978_307_200, 0o700));
    assert_eq!((look("private/a").ino(), look("private/a").nlink()), (look("private/b").ino(), 2));
    assert_eq!(look("private/a").mode() & 0o7777, 0o640);
    assert!(look("private/sparse").blocks() * 512 < 1 << 20, "the hole was filled");
    if has_attributes {
        let mut read = stage.sandbox.command("getfattr");
        read.args(["--only-values", "-n", "user.k"]).arg(tree.path("private/a"));
        assert_eq!(read.output().expect("runs").stdout, b"value");
    }
    stage.remove(&tree, &source);
}

fn special_files(stage: &Stage) {
    let source = stage.small_source();
    let fifo = |path: &str| {
        assert!(
            stage
                .sandbox
                .command("mkfifo")
                .arg(source.path(path))
                .status()
                .expect("runs")
                .success()
        );
    };
    fifo("pipe");
    source.write("build/kept", "ignored\n");
    source.write(".gitignore", "build/\n");
    fifo("build/pipe");
    let _socket =
        std::os::unix::net::UnixListener::bind(source.path("socket")).expect("a short path");
    let tree = stage.create(&source.root, &["--carry", "all"]);
    let skipped = tree.made.json["skipped"].as_array().expect("a list").clone();
    let paths: Vec<&str> = skipped.iter().filter_map(|entry| entry["path"].as_str()).collect();
    assert_eq!(paths, ["build/pipe", "pipe", "socket"]);
    assert!(skipped.iter().all(|entry| entry["reason"] == "special-file"), "{skipped:?}");
    assert!(tree.path("build/kept").exists() && !tree.path("pipe").exists());
}

fn nested(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", ".trees/\n");
    source.commit("ignore");
    source.git(["worktree", "add", "--quiet", ".trees/a"]);
    source.write(".trees/a/big", vec![7; 1 << 20]);
    let inner = stage.sandbox.repository("source/lib");
    inner.write("code", "theirs\n");
    inner.commit("theirs");
    for _ in 0..2 {
        let tree = stage.create(&source.root, &["--carry", "all"]);
        assert!(!tree.path(".trees/a").exists() && !tree.path("lib").exists());
        let skipped = tree.made.json["skipped"].to_string();
        assert!(skipped.contains("\"lib\"") && skipped.contains(".trees/a"), "{skipped}");
        stage.remove(&tree, &source);
    }
}

fn submodule(stage: &Stage) {
    let library = stage.sandbox.repository("library");
    library.write("code", "library\n");
    library.commit("library");
    let source = stage.small_source();
    source.git(["submodule", "--quiet", "add", &library.root.to_string_lossy(), "sub"]);
    source.commit("submodule");
    let tree = stage.create(&source.root, &["--carry", "dirty"]);
    assert_eq!(fs::read_dir(tree.path("sub")).expect("it is there").count(), 0);
    assert_eq!(tree.git.top_level("sub"), tree.git.root);
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    stage.remove(&tree, &source);
}

fn tracked_ignored(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", "out/\n*.min.js\n");
    source.write("out/deep/tracked", "tracked\n");
    source.write("x.min.js", "tracked too\n");
    source.git(["add", "--force", "--all"]);
    source.git(["commit", "--quiet", "--message", "tracked"]);
    source.write("out/deep/tracked", "changed\n");
    source.write("out/other", "ignored\n");
    let tree = carry_over(stage, &source, "dirty");
    assert_eq!(fs::read(tree.path("out/deep/tracked")).expect("carried"), b"changed\n");
    assert!(tree.path("x.min.js").exists() && !tree.path("out/other").exists());
}

fn global_rules(stage: &Stage) {
    let source = stage.small_source();
    source.write(".git/info/exclude", "local-note\n");
    source.write("local-note", "mine\n");
    let tree = stage.create(&source.root, &["--carry", "dirty"]);
    assert_eq!(fs::read(tree.path("local-note")).expect("carried"), b"mine\n");
}

fn removal(stage: &Stage) {
    let source = changed(stage);
    let tree = carry_over(stage, &source, "dirty");
    stage.remove(&tree, &source);
    for spoil in ["both", "untracked/odd\nname", "brand-new"] {
        let tree = carry_over(stage, &source, "dirty");
        fs::write(tree.path(spoil), "only here\n").expect("ours");
        stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
        assert_eq!(fs::read(tree.path(spoil)).expect("kept"), b"only here\n");
        stage.fwt().run(&source.root, ["rm", "--discard", tree.made.id()]).success();
    }
    // The source moves on: then the tree alone has what was carried.
    let tree = carry_over(stage, &source, "dirty");
    source.write("both", "something else\n");
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
}

fn no_false_clean(stage: &Stage) {
    let source = stage.small_source();
    // The same size, the same time: only the ctime tells.
    let before = fs::symlink_metadata(source.path("file")).expect("tracked");
    source.write("file", "A FILE\n");
    let file = fs::File::options().write(true).open(source.path("file")).expect("ours");
    file.set_modified(before.modified().expect("known")).expect("ours");
    let tree = stage.create(&source.root, &["--carry", "dirty"]);
    assert_eq!(tree.git.git(["status", "--porcelain"]), " M file");
}

fn other_revision(stage: &Stage) {
    let source = stage.small_source();
    source.write("file", "second\n");
    source.commit("second");
    stage.check_refused(&source, &["--carry", "dirty", "--rev", "HEAD~1"], (2, "bad-request"));
}

fn plain_git(stage: &Stage) {
    if stage.carries() {
        return;
    }
    let source = stage.small_source();
    let answer = stage.check_refused(&source, &["--carry", "dirty"], (5, "backend-unavailable"));
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("only-commits"), "{message}");
}

fn included(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", ".env\nconf/\n*.key\n");
    source.write(".worktreeinclude", ".env\nconf/*.toml\n*.key\nfile\n../../etc/passwd\n");
    source.commit("rules");
    source.settle();
    source.write(".env", "SECRET=1\n");
    source.chmod(".env", 0o600);
    source.write("conf/local.toml", "x\n");
    source.write("conf/big.bin", "not selected\n");
    source.link("outside.key", "/etc");
    let untouched = Untouched::look(&source);
    let tree = stage.create(&source.root, &[]);
    untouched.assert_unchanged();
    assert_eq!(fs::metadata(tree.path(".env")).expect("included").mode() & 0o7777, 0o600);
    assert!(tree.path("conf/local.toml").exists() && !tree.path("conf/big.bin").exists());
    assert_eq!(fs::read_link(tree.path("outside.key")).expect("a link"), Path::new("/etc"));
    let included = &tree.made.json["included"];
    assert_eq!(included.to_string(), r#"[".env","conf/local.toml","outside.key"]"#);
    assert!(tree.made.json["skipped"].to_string().contains("outside-repository"));
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    stage.remove(&tree, &source);
    let without = stage.create(&source.root, &["--no-include"]);
    assert!(!without.path(".env").exists());
}

fn tracked_link_wins(stage: &Stage) {
    let source = stage.small_source();
    source.git(["checkout", "--quiet", "-b", "linked"]);
    let outside = stage.sandbox.path("outside");
    source.link("cfg", &outside);
    source.commit("a link to nowhere");
    source.git(["checkout", "--quiet", "main"]);
    source.write(".gitignore", "cfg\n");
    source.write(".worktreeinclude", "cfg\n");
    source.commit("rules");
    source.write("cfg", "local\n");
    let tree = stage.create(&source.root, &["--rev", "linked"]);
    assert_eq!(fs::read_link(tree.path("cfg")).expect("the tracked link"), outside);
    assert!(!outside.exists(), "something was written through the link");
    assert!(tree.made.json["skipped"].to_string().contains("cfg"), "{}", tree.made.json);
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
}

fn tracked_paths_win(stage: &Stage) {
    let source = stage.small_source();
    source.write("a/x", "old\n");
    source.write(".gitignore", "secret.env\n");
    source.write(".worktreeinclude", "a/\n");
    source.commit("one");
    source.write("a/x", "new\n");
    source.commit("two");
    source.write("a/secret.env", "s\n");
    let tree = stage.create(&source.root, &["--rev", "HEAD~1"]);
    assert_eq!(fs::read(tree.path("a/x")).expect("tracked"), b"old\n");
    assert_eq!(fs::read(tree.path("a/secret.env")).expect("included"), b"s\n");
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
}
