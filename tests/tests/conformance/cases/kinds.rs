//! Kinds of repositories as sources, of which the carry `dirty` and the mode `standalone` are asked.

use std::fs;
use std::path::Path;

use fwt_tests::Repository;

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

/// Of each kind a name, a maker, and what comes of a repository of its own.
macro_rules! kinds {
    ($($name:literal $make:expr, $standalone:expr;)+) => {
        pub(crate) const CASES: &[Case] = &[
            Case::new("case_g15_core_worktree", |stage| clean(stage, &core_worktree(stage))),
            Case::new("case_g2_a_git_directory_behind_a_link", |stage| {
                clean(stage, &linked_git_dir(stage));
            }),
            Case::new("case_g15_clean_in_the_middle_of_a_rebase", |stage| {
                clean(stage, &mid_rebase(stage));
            }),
            Case::new("case_g6_a_submodule_that_is_not_initialised", |stage| {
                clean(stage, &uninitialised_submodule(stage));
            }),
            Case::new("case_g15_no_commit_yet_and_any_carry_or_mode", unborn),
            Case::new("case_g15_a_bare_repository_and_a_repository_of_ones_own", bare),
            $(
                Case::needing(concat!("case_g15_dirty_from_", $name), Needs::Carries, |stage| {
                    dirty(stage, &$make(stage));
                }),
                Case::needing(concat!("case_g15_standalone_from_", $name), Needs::Carries, |stage| {
                    $standalone(stage, &$make(stage));
                }),
            )+
        ];
    };
}

kinds! {
    "a_linked_worktree" linked_worktree, standalone;
    "a_separate_git_directory" separate_git_dir, standalone;
    "a_git_directory_behind_a_link" linked_git_dir, standalone;
    "core_worktree" core_worktree, standalone;
    "worktree_configuration" worktree_config, standalone;
    "a_submodule" |stage| submodule(stage, "source"), standalone;
    "a_submodule_that_is_not_initialised" uninitialised_submodule, standalone;
    "the_inside_of_a_submodule" inside_submodule, standalone;
    "a_sparse_checkout_by_cone" |stage| sparse(stage, &["--cone", "--no-sparse-index", "inside"]),
        standalone;
    "a_sparse_index" |stage| sparse(stage, &["--cone", "--sparse-index", "inside"]), standalone;
    "a_sparse_checkout_by_patterns"
        |stage| sparse(stage, &["--no-cone", "inside/", "/file", "/run.sh", "/empty", "/link"]),
        standalone;
    "sha256" |stage| with_init(stage, &["--object-format=sha256"]), standalone;
    "reftables" |stage| with_init(stage, &["--ref-format=reftable"]), refused;
    "a_detached_head" detached, standalone;
    "a_shallow_clone" shallow, standalone;
    "a_split_index" |stage| with_index(stage, &["update-index", "--split-index"]), standalone;
    "an_index_of_version_4" |stage| with_index(stage, &["update-index", "--index-version", "4"]),
        standalone;
    "an_untracked_cache" |stage| with_index(stage, &["update-index", "--force-untracked-cache"]),
        standalone;
    "a_built_in_monitor" |stage| with_index(stage, &["config", "core.fsmonitor", "true"]),
        standalone;
    "packed_refs_and_objects" |stage| with_index(stage, &["gc", "--quiet"]), standalone;
    "the_middle_of_a_merge" mid_merge, standalone;
    "the_middle_of_a_rebase" mid_rebase, standalone;
    "attributes_of_every_sort" attributes, standalone;
}

/// A clean tree, with all that is checked of those.
fn clean(stage: &Stage, source: &Repository) {
    spoil(source);
    let tree = stage.check(source, "HEAD");
    stage.remove(&tree, source);
    stage.assert_no_debris(source, &[]);
}

/// Sparse patterns are those of the source's index: of another tree, like that of HEAD under staged changes,
/// nothing is sealed, and that is said.
fn is_not_sealable(stage: &Stage, source: &Repository) -> bool {
    let sparse = source.command(["config", "core.sparseCheckout"]).output().expect("git runs");
    if !stage.is_over_sealed() || sparse.stdout != b"true\n" {
        return false;
    }
    let answer = stage.check_refused(source, &["--carry", "dirty"], (5, "backend-unavailable"));
    assert!(answer.to_string().contains("sparse-checkout"), "{answer}");
    true
}

/// Modified, staged, untracked and deleted files come along, into either mode.
fn dirty(stage: &Stage, source: &Repository) {
    spoil(source);
    if is_not_sealable(stage, source) {
        return;
    }
    let tree = stage.check_carried(source, "dirty", "linked");
    assert_same_patterns(&tree.git, source);
    // git goes on from there.
    tree.git.git(["add", "--sparse", "--all"]);
    tree.git.git(["commit", "--quiet", "--message", "made in the tree"]);
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    stage.discard(&tree, source);
}

/// A clean tree, and one that carries, both with a repository of their own.
fn standalone(stage: &Stage, source: &Repository) {
    let expected = stage.create_as("linked", source, &[]);
    let tree = stage.create_as("standalone", source, &[]);
    tree.assert_clean();
    assert_same_patterns(&tree.git, source);
    assert_eq!(
        tree.git.git_bytes(["ls-files", "--stage", "-t", "-z"]),
        expected.git.git_bytes(["ls-files", "--stage", "-t", "-z"]),
        "the indexes' entries differ"
    );
    let [found, expected_files] =
        [&tree, &expected].map(|tree| fwt_tests::Snapshot::of(&tree.git.root));
    found.assert_same(&expected_files, fwt_tests::snapshot::Detail::Git, "the linked tree");
    stage.remove(&expected, source);
    stage.assert_no_debris(source, &[&tree]);
    stage.assert_independent(&tree, source);
    stage.discard(&tree, source);
    spoil(source);
    if is_not_sealable(stage, source) {
        return;
    }
    let tree = stage.check_carried(source, "dirty", "standalone");
    assert_same_patterns(&tree.git, source);
    stage.assert_independent(&tree, source);
    stage.discard(&tree, source);
}

/// Where only a part is checked out, it is the same part.
#[track_caller]
fn assert_same_patterns(tree: &Repository, source: &Repository) {
    let patterns = |it: &Repository| {
        let output = it.command(["sparse-checkout", "list"]).output().expect("git runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(patterns(tree), patterns(source));
}

/// It cannot have a repository of its own, and says so before anything is made.
fn refused(stage: &Stage, source: &Repository) {
    spoil(source);
    for more in [&[][..], &["--carry", "dirty"], &["--carry", "all", "--branch", "topic"]] {
        let untouched = crate::check::Untouched::look(source);
        let answer = stage.try_create_as("standalone", &source.root, more);
        let error = answer.failure(5, "unsupported-repository");
        assert!(error["message"].to_string().contains("reftable"), "{answer}");
        untouched.assert_unchanged();
        stage.assert_no_debris(source, &[]);
    }
}

/// Work of each sort, in files that every source here has. What is in progress or unmerged stays.
fn spoil(source: &Repository) {
    source.write("run.sh", "#!/bin/sh\n# staged\n");
    source.git(["add", "run.sh"]);
    source.write("run.sh", "#!/bin/sh\n# staged, and more\n");
    source.write("link-too/deep", "untracked\n");
    source.write(".gitignore", "ignored/\n");
    source.write("ignored/file", "ignored\n");
    fs::remove_file(source.path("empty")).expect("it is there");
}

fn linked_worktree(stage: &Stage) -> Repository {
    let main = stage.small_source();
    main.write("only-on-main", "bytes\n");
    main.commit("second");
    let linked = main.reference(&stage.sandbox.path("linked"), "HEAD~1");
    linked.write("file", "of the linked one\n");
    linked.commit("third");
    linked.settle();
    linked
}

/// What [`Stage::small_source`] makes, somewhere else.
fn fill(source: &Repository) {
    source.write("file", "a file\n");
    source.write("run.sh", "#!/bin/sh\n");
    source.chmod("run.sh", 0o755);
    source.link("link", "file");
    source.write("empty", "");
    source.write("directory/below/other", "another file\n");
    source.commit("first");
    source.settle();
}

fn with_init(stage: &Stage, arguments: &[&str]) -> Repository {
    let source = stage.sandbox.repository_with("source", arguments);
    fill(&source);
    source
}

fn separate_git_dir(stage: &Stage) -> Repository {
    let git_dir = stage.sandbox.path("elsewhere.git");
    with_init(stage, &["--separate-git-dir", git_dir.to_str().expect("it is UTF-8")])
}

fn linked_git_dir(stage: &Stage) -> Repository {
    let source = stage.small_source();
    let elsewhere = stage.sandbox.path("elsewhere.git");
    fs::rename(source.path(".git"), &elsewhere).expect("both are ours");
    source.link(".git", &elsewhere);
    source
}

/// The repository says where its files are, as with a separate one for dotfiles.
fn core_worktree(stage: &Stage) -> Repository {
    let source = separate_git_dir(stage);
    source.git(["config", "core.worktree", &source.root.to_string_lossy()]);
    assert_eq!(source.top_level(""), source.root);
    source
}

fn worktree_config(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.git(["config", "extensions.worktreeConfig", "true"]);
    source.git(["config", "--worktree", "test.value", "of the source"]);
    source.settle();
    source
}

fn library(stage: &Stage) -> String {
    let library = stage.sandbox.repository("library");
    fill(&library);
    library.root.to_string_lossy().into_owned()
}

fn submodule(stage: &Stage, name: &str) -> Repository {
    let library = library(stage);
    let source = stage.sandbox.repository(name);
    fill(&source);
    source.git(["submodule", "--quiet", "add", &library, "libs/sub"]);
    source.commit("with a submodule");
    source.settle();
    source
}

fn uninitialised_submodule(stage: &Stage) -> Repository {
    let origin = submodule(stage, "origin");
    let path = stage.sandbox.path("source");
    origin.git(["clone", "--quiet", ".", &path.to_string_lossy()]);
    let source = stage.sandbox.existing(path);
    source.settle();
    assert!(!source.path("libs/sub/file").exists());
    source
}

fn inside_submodule(stage: &Stage) -> Repository {
    let outer = submodule(stage, "source");
    let source = stage.sandbox.existing("source/libs/sub");
    source.settle();
    assert_ne!(source.common_dir(), outer.common_dir());
    source
}

fn sparse(stage: &Stage, arguments: &[&str]) -> Repository {
    let source = stage.small_source();
    source.write("inside/deep/file", "bytes\n");
    source.write("outside/deep/file", "bytes\n");
    source.commit("second");
    source.git([&["sparse-checkout", "set"], arguments].concat());
    source.settle();
    assert!(!source.path("outside").exists() && source.path("run.sh").exists());
    source
}

fn detached(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.write("file", "second\n");
    source.commit("second");
    // On no branch, and ahead of all.
    source.git(["checkout", "--quiet", "--detach"]);
    source.write("file", "third\n");
    source.commit("third");
    source.settle();
    source
}

fn shallow(stage: &Stage) -> Repository {
    let origin = stage.sandbox.repository("origin");
    fill(&origin);
    origin.write("file", "second\n");
    origin.commit("second");
    let (url, path) = (format!("file://{}", origin.root.display()), stage.sandbox.path("source"));
    origin.git(["clone", "--quiet", "--depth=1", &url, &path.to_string_lossy()]);
    let source = stage.sandbox.existing(path);
    source.settle();
    source
}

fn with_index(stage: &Stage, command: &[&str]) -> Repository {
    let source = stage.small_source();
    source.git(command);
    source.git(["status"]);
    source
}

/// Two histories that meet in conflict.
fn diverged(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.git(["checkout", "--quiet", "-b", "other"]);
    source.write("file", "theirs\n");
    source.write("came", "theirs\n");
    source.commit("theirs");
    source.git(["checkout", "--quiet", "main"]);
    source.write("file", "ours\n");
    source.commit("ours");
    source.settle();
    source
}

fn mid_merge(stage: &Stage) -> Repository {
    let source = diverged(stage);
    assert!(!source.command(["merge", "other"]).output().expect("git runs").status.success());
    assert!(source.git_dir().join("MERGE_HEAD").exists());
    source
}

fn mid_rebase(stage: &Stage) -> Repository {
    let source = diverged(stage);
    assert!(!source.command(["rebase", "other"]).output().expect("git runs").status.success());
    assert!(source.git_dir().join("rebase-merge").exists());
    source
}

fn attributes(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.git(["config", "filter.upper.smudge", "tr a-z A-Z"]);
    source.git(["config", "filter.upper.clean", "tr A-Z a-z"]);
    source.git(["config", "filter.upper.required", "true"]);
    let rules = "*.crlf text eol=crlf\n*.auto text=auto\n*.upper filter=upper\n*.id ident\n\
        *.utf16 working-tree-encoding=UTF-16LE\n";
    source.write(".gitattributes", rules);
    source.write("a.crlf", "one\r\ntwo\r\n");
    source.write("a.auto", "one\r\ntwo\r\n");
    source.write("a.upper", "UPPER\n");
    source.write("a.id", "$Id$\n");
    source.write("a.utf16", b"a\0\n\0");
    source.git(["-c", "core.safecrlf=false", "add", "--all"]);
    source.commit("second");
    source.settle();
    // What git would write now may differ from what is there: `a.auto`, and `$Id$` unexpanded.
    source
}

fn unborn(stage: &Stage) {
    let source = stage.sandbox.repository("source");
    source.write("file", "not committed\n");
    source.git(["add", "file"]);
    for mode in ["linked", "standalone"] {
        for carry in ["clean", "dirty", "all"] {
            let untouched = crate::check::Untouched::look(&source);
            let answer = stage.try_create_as(mode, &source.root, &["--carry", carry]);
            answer.failure(5, "unborn-head");
            untouched.assert_unchanged();
            stage.assert_no_debris(&source, &[]);
        }
    }
}

fn bare(stage: &Stage) {
    let origin = stage.small_source();
    origin.write("file", "second\n");
    origin.commit("second");
    let path = stage.sandbox.path("bare.git");
    origin.git(["clone", "--quiet", "--bare", ".", &path.to_string_lossy()]);
    let source = stage.sandbox.existing(path);
    // Not `create_as`: there is no working tree to be looked at.
    let words: [&[&str]; 2] = [&["--rev", "main~1"], &["--rev", "main", "--branch", "topic"]];
    for (more, content) in words.into_iter().zip(["a file\n", "second\n"]) {
        let refs = source.git(["for-each-ref"]);
        let answer = stage.try_create_as("standalone", &source.root, more);
        let made = fwt_tests::binary::Made { json: answer.success() };
        let tree = stage.take_over(made);
        assert_eq!(source.git(["for-each-ref"]), refs, "the branch is the tree's alone");
        tree.assert_clean();
        assert_eq!(fs::read(tree.path("file")).expect("checked out"), content.as_bytes());
        assert_eq!(tree.git.top_level(""), tree.git.root);
        let away = stage.sandbox.path("away.git");
        fs::rename(&source.root, &away).expect("both are ours");
        tree.git.git(["fsck", "--strict", "--no-dangling"]);
        tree.git.git(["checkout", "--quiet", "main"]);
        fs::rename(&away, &source.root).expect("both are ours");
        stage.discard(&tree, &source);
    }
    for mode in ["linked", "standalone"] {
        for carry in ["dirty", "all"] {
            let answer = stage.try_create_as(mode, &source.root, &["--carry", carry]);
            answer.failure(2, "bad-request");
        }
    }
    stage.assert_no_debris(&source, &[]);
    assert!(Path::new(&source.root).join("HEAD").exists());
}
