//! `.worktreeinclude`: what it may select, and what it must never reach.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fwt_tests::Repository;
use fwt_tests::snapshot::{Detail, Snapshot};

use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b22_lines_that_leave_the_repository_are_listed", outside_lines),
    Case::new("case_b22_links_to_outside_come_as_links", outside_links),
    Case::new("case_b22_a_list_that_is_a_link_selects_nothing", linked_list),
    Case::new("case_b22_selected_files_come_with_a_standalone_tree", standalone),
    Case::needing("case_b22_selected_files_come_with_any_carry", Needs::Carries, any_carry),
    Case::new("case_b17_a_tracked_link_to_a_directory_wins", link_to_directory),
    Case::new("case_b17_a_tracked_file_wins_over_a_directory", file_over_directory),
    Case::new("case_b21_a_rule_for_everything_brings_what_is_ignored", everything),
    Case::new("case_b21_what_is_tracked_at_the_other_revision_wins", tracked_there),
    Case::new("case_b18_a_rule_does_not_reach_into_other_worktrees", other_worktrees),
];

/// A source whose rules ignore `*.key` and `local/`, and whose list holds these lines.
fn listing(stage: &Stage, lines: &str) -> Repository {
    let source = stage.small_source();
    source.write(".gitignore", "*.key\nlocal/\n");
    source.write(".worktreeinclude", lines);
    source.commit("rules");
    source.settle();
    source.write("a.key", "secret\n");
    source.chmod("a.key", 0o600);
    source.write("local/deep/b.key", "secret too\n");
    source
}

fn included(tree: &Tree) -> Vec<&str> {
    let list = tree.made.json["included"].as_array().expect("it is a list");
    list.iter().map(|path| path.as_str().expect("it is text")).collect()
}

fn skipped(tree: &Tree) -> Vec<(&str, &str)> {
    let list = tree.made.json["skipped"].as_array().expect("it is a list");
    let field = |entry: &'_ serde_json::Value, name: &str| entry[name].as_str().map(str::len);
    assert!(list.iter().all(|entry| field(entry, "path").is_some()), "{list:?}");
    list.iter()
        .map(|entry| {
            let text = |name| entry[name].as_str().expect("it is text");
            (text("path"), text("reason"))
        })
        .collect()
}

fn outside_lines(stage: &Stage) {
    let lines = ["../../etc/passwd", "d/../../x", "../x", "local/../../x", "local/.."];
    let source = listing(stage, &format!("{}\n/etc/passwd\n*.key\n", lines.join("\n")));
    fs::write(stage.sandbox.path("x"), "outside\n").expect("the sandbox is ours");
    fs::create_dir(source.path("d")).expect("the source is ours");
    let tree = stage.create(&source.root, &[]);
    assert_eq!(included(&tree), ["a.key", "local/deep/b.key"]);
    let mut refused: Vec<&str> = skipped(&tree)
        .into_iter()
        .filter(|(_, reason)| *reason == "outside-repository")
        .map(|(path, _)| path)
        .collect();
    refused.sort_unstable();
    let mut expected = lines.to_vec();
    expected.sort_unstable();
    assert_eq!(refused, expected);
    assert!(!tree.path("etc").exists() && !tree.path("x").exists());
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    stage.remove(&tree, &source);
}

fn outside_links(stage: &Stage) {
    let source = listing(stage, "*.key\nlocal/\n");
    let outside = stage.sandbox.path("outside");
    fs::create_dir(&outside).expect("the sandbox is ours");
    fs::write(outside.join("x.key"), "outside\n").expect("the sandbox is ours");
    source.link("directory.key", &outside);
    source.link("local/directory", &outside);
    source.link("local/dangling", "/nowhere");
    let before = Snapshot::of(&outside);
    let tree = stage.create(&source.root, &[]);
    for path in ["directory.key", "local/directory"] {
        assert_eq!(fs::read_link(tree.path(path)).expect("a link"), outside, "{path}");
    }
    let expected =
        ["a.key", "directory.key", "local/dangling", "local/deep/b.key", "local/directory"];
    assert_eq!(included(&tree), expected);
    stage.remove(&tree, &source);
    Snapshot::of(&outside).assert_same(&before, Detail::Full, "what the links point at");
}

/// Else it could make any file of the machine select.
fn linked_list(stage: &Stage) {
    let source = listing(stage, "");
    let list = stage.sandbox.path("list");
    fs::write(&list, "*.key\n").expect("the sandbox is ours");
    fs::remove_file(source.path(".worktreeinclude")).expect("it is there");
    source.link(".worktreeinclude", &list);
    let tree = stage.create(&source.root, &[]);
    assert_eq!(included(&tree), Vec::<&str>::new());
    assert!(!tree.path("a.key").exists());
}

fn assert_selected(stage: &Stage, tree: &Tree, source: &Repository) {
    let found = fs::metadata(tree.path("a.key")).expect("it was selected");
    assert_eq!(found.mode() & 0o7777, 0o600);
    assert_eq!(fs::read(tree.path("local/deep/b.key")).expect("selected"), b"secret too\n");
    assert_eq!(included(tree), ["a.key", "local/deep/b.key"]);
    assert_eq!(tree.git.git(["status", "--porcelain"]), source.git(["status", "--porcelain"]));
    stage.remove(tree, source);
}

fn standalone(stage: &Stage) {
    let source = listing(stage, "*.key\n");
    let tree = stage.create_as("standalone", &source, &[]);
    assert_selected(stage, &tree, &source);
    let tree = stage.create_as("standalone", &source, &["--no-include"]);
    assert!(!tree.path("a.key").exists() && !tree.path("local").exists());
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}

fn any_carry(stage: &Stage) {
    let source = listing(stage, "*.key\n");
    source.write("file", "edited\n");
    source.write("local/other", "not selected\n");
    let tree = stage.create(&source.root, &["--carry", "dirty"]);
    assert!(!tree.path("local/other").exists());
    assert_eq!(tree.made.json["carried"]["ignored"], 2);
    assert_selected(stage, &tree, &source);
    let tree = stage.create(&source.root, &["--carry", "dirty", "--no-include"]);
    assert!(!tree.path("a.key").exists() && !tree.path("local").exists());
    // Everything that is ignored comes anyway; the list says what it did select.
    let tree = stage.create(&source.root, &["--carry", "all"]);
    assert!(tree.path("local/other").exists());
    assert_selected(stage, &tree, &source);
}

/// `conf` of the other revision, against `conf/…` or `conf` of the source; nothing outside of the tree
/// is written, and the one that collides is listed.
fn collide(stage: &Stage, make: impl Fn(&Repository), what: &str) -> Tree {
    let source = stage.small_source();
    source.git(["checkout", "--quiet", "-b", "other"]);
    make(&source);
    source.commit("conf is tracked here");
    source.git(["checkout", "--quiet", "main"]);
    source.write(".gitignore", "conf\n");
    source.write(".worktreeinclude", "conf\n");
    source.commit("rules");
    source.settle();
    source.write("conf/local.toml", "local\n");
    let tree = stage.create(&source.root, &["--rev", "other"]);
    assert!(skipped(&tree).iter().any(|(path, _)| path.starts_with("conf")), "{what}");
    assert_eq!(included(&tree), Vec::<&str>::new(), "{what}");
    assert_eq!(tree.git.git(["status", "--porcelain"]), "", "{what}");
    tree
}

fn link_to_directory(stage: &Stage) {
    let outside = stage.sandbox.path("outside");
    fs::create_dir(&outside).expect("the sandbox is ours");
    let tree = collide(stage, |source| source.link("conf", &outside), "a link to a directory");
    assert_eq!(fs::read_link(tree.path("conf")).expect("the tracked link"), outside);
    assert_eq!(fs::read_dir(&outside).expect("it is there").count(), 0, "written through a link");
}

fn file_over_directory(stage: &Stage) {
    let tree = collide(stage, |source| source.write("conf", "tracked\n"), "a file");
    assert_eq!(fs::read(tree.path("conf")).expect("tracked"), b"tracked\n");
}

fn everything(stage: &Stage) {
    for lines in ["*\n", "**\n", "/\n*\n", "**/*\n.*\n"] {
        let source = stage.sandbox.repository("source");
        source.write("a/x", "old\n");
        source.write(".gitignore", "*.key\nlocal/\n");
        source.write(".worktreeinclude", lines);
        source.commit("one");
        source.write("a/x", "new\n");
        source.commit("two");
        source.settle();
        source.write("a/x", "edited\n");
        source.write("a/a.key", "secret\n");
        source.write("untracked", "u\n");
        source.write("local/b", "ignored\n");
        let tree = stage.create(&source.root, &["--rev", "HEAD~1"]);
        assert_eq!(fs::read(tree.path("a/x")).expect("tracked"), b"old\n", "{lines:?}");
        assert_eq!(included(&tree), ["a/a.key", "local/b"], "{lines:?}");
        assert!(!tree.path("untracked").exists(), "{lines:?}");
        assert_eq!(tree.git.git(["status", "--porcelain"]), "", "{lines:?}");
        stage.remove(&tree, &source);
        fs::remove_dir_all(&source.root).expect("it is ours");
    }
}

/// It is ignored and selected here, and tracked there.
fn tracked_there(stage: &Stage) {
    let source = stage.small_source();
    source.write("gen/out", "tracked there\n");
    source.commit("tracked");
    source.git(["rm", "--quiet", "--cached", "gen/out"]);
    source.write(".gitignore", "gen/\n");
    source.write(".worktreeinclude", "gen/\n");
    source.git(["add", ".gitignore", ".worktreeinclude"]);
    source.git(["commit", "--quiet", "--message", "ignored"]);
    source.settle();
    source.write("gen/out", "ignored here\n");
    source.write("gen/more", "ignored too\n");
    let tree = stage.create(&source.root, &["--rev", "HEAD~1"]);
    assert_eq!(fs::read(tree.path("gen/out")).expect("tracked"), b"tracked there\n");
    assert_eq!(included(&tree), ["gen/more"]);
    let status = tree.git.git(["diff-files", "--name-only"]);
    assert_eq!(status, "");
}

fn other_worktrees(stage: &Stage) {
    let source = listing(stage, "local/\n*.key\n");
    source.git(["worktree", "add", "--quiet", "local/tree"]);
    source.write("local/tree/c.key", "of another worktree\n");
    let nested = stage.sandbox.repository("source/local/nested");
    nested.write("d.key", "of another repository\n");
    let tree = stage.create(&source.root, &[]);
    assert_eq!(included(&tree), ["a.key", "local/deep/b.key"]);
    assert!(!tree.path("local/tree").exists() && !tree.path("local/nested").exists());
    assert!(Path::new(&source.root).join("local/tree/c.key").exists());
    stage.remove(&tree, &source);
}
