//! Repository formats, index formats and settings that are less common.

use std::fs;

use fwt_tests::{Repository, environment};

use crate::matrix::Case;
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g15_sha256", |stage| with_init(stage, &["--object-format=sha256"])),
    Case::new("case_g15_reftable", |stage| with_init(stage, &["--ref-format=reftable"])),
    Case::new("case_g15_untracked_cache", |stage| {
        with_index(stage, |source| {
            source.git(["update-index", "--force-untracked-cache"]);
            source.git(["status"]);
        });
    }),
    Case::new("case_g15_split_index", |stage| {
        with_index(stage, |source| {
            source.git(["update-index", "--split-index"]);
            source.write("after-the-split", "bytes\n");
            source.commit("after the split");
            source.settle();
        });
    }),
    Case::new("case_g15_split_index_by_setting", |stage| {
        with_index(stage, |source| {
            source.git(["config", "core.splitIndex", "true"]);
            source.settle();
        });
    }),
    Case::new("case_g15_index_version_4", |stage| {
        with_index(stage, |source| {
            source.git(["update-index", "--index-version", "4"]);
        });
    }),
    Case::new("case_g15_index_without_hash", |stage| {
        with_index(stage, |source| {
            source.git(["config", "index.skipHash", "true"]);
            source.git(["update-index", "--force-write-index"]);
        });
    }),
    Case::new("case_g15_index_of_many_blocks", |stage| {
        with_index(stage, |source| {
            source.git(["config", "index.threads", "4"]);
            source.git(["update-index", "--force-write-index"]);
        });
    }),
    Case::new("case_g15_shallow_clone", shallow_clone),
    Case::new("case_g15_worktree_configuration", worktree_config),
    Case::new("case_g15_built_in_monitor", |stage| {
        with_index(stage, |source| {
            source.git(["config", "core.fsmonitor", "true"]);
        });
    }),
    Case::new("case_g15_monitor_hook_is_never_run", monitor_hook),
    Case::new("case_g15_hooks_are_never_run", hooks),
    Case::new("case_g15_packed_refs_and_objects", |stage| {
        with_index(stage, |source| {
            source.git(["pack-refs", "--all"]);
            source.git(["gc", "--quiet"]);
        });
    }),
    Case::new("case_g15_many_files_setting", |stage| {
        with_index(stage, |source| {
            source.git(["config", "feature.manyFiles", "true"]);
            source.git(["status"]);
            source.settle();
        });
    }),
    Case::new("case_g15_checked_stat_is_minimal", |stage| {
        with_index(stage, |source| {
            source.git(["config", "core.checkStat", "minimal"]);
            source.git(["config", "core.trustctime", "false"]);
            source.settle();
        });
    }),
];

fn with_init(stage: &Stage, arguments: &[&str]) {
    let source = stage.sandbox.repository_with("source", arguments);
    source.write("file", "bytes\n");
    source.write("directory/other", "bytes\n");
    source.write("gone", "bytes\n");
    source.commit("first");
    source.write("file", "other bytes\n");
    source.commit("second");
    source.settle();
    fs::remove_file(source.path("gone")).expect("it is there");
    check_and_use(stage, &source);
    let older = stage.create(&source.root, &["--rev", "HEAD~1", "--branch", "older"]);
    stage.assert_like_git(&older, &source, "HEAD~1");
    stage.remove(&older, &source);
    stage.assert_no_debris(&source, &[]);
}

fn with_index(stage: &Stage, prepare: impl FnOnce(&Repository)) {
    let source = stage.small_source();
    source.write("gone", "bytes\n");
    source.commit("second");
    source.settle();
    prepare(&source);
    fs::remove_file(source.path("gone")).expect("it is there");
    check_and_use(stage, &source);
}

/// A tree is made, committed in, and removed.
fn check_and_use(stage: &Stage, source: &Repository) -> Tree {
    let tree = stage.check(source, "HEAD");
    let git = &tree.git;
    git.git(["checkout", "--quiet", "-b", "used"]);
    git.write("file", "written in the tree\n");
    git.write("new", "written in the tree\n");
    assert_eq!(git.git(["status", "--porcelain"]), " M file\n?? new");
    git.commit("in the tree");
    assert_eq!(git.git(["status", "--porcelain"]), "");
    git.git(["fsck", "--full"]);
    let config = fs::read(source.common_dir().join("config")).expect("it is there");
    stage.remove(&tree, source);
    stage.assert_no_debris(source, &[]);
    assert_eq!(fs::read(source.common_dir().join("config")).expect("it is there"), config);
    assert_eq!(source.git(["log", "--format=%s", "-1", "used"]), "in the tree");
    tree
}

fn shallow_clone(stage: &Stage) {
    let origin = stage.small_source();
    origin.write("file", "second\n");
    origin.commit("second");
    let url = format!("file://{}", origin.root.display());
    let path = stage.sandbox.path("shallow");
    origin.git(["clone", "--quiet", "--depth=1", &url, &path.to_string_lossy()]);
    let source = stage.sandbox.existing("shallow");
    source.settle();
    assert_eq!(source.git(["rev-parse", "--is-shallow-repository"]), "true");
    check_and_use(stage, &source);
    stage.check_refused(&source, &["--rev", "HEAD~1"], (3, "no-such-revision"));
    let tree = stage.create(&source.root, &["--rev", "origin/main"]);
    assert_eq!(tree.made.json["base"]["from"], "remote-tracking-ref");
}

/// What one worktree is told, another is not.
fn worktree_config(stage: &Stage) {
    let source = stage.small_source();
    source.git(["config", "extensions.worktreeConfig", "true"]);
    source.git(["config", "--worktree", "test.value", "of the source"]);
    source.settle();
    let tree = check_and_use(stage, &source);
    assert!(!tree.git.root.exists());
    let again = stage.create(&source.root, &[]);
    let reference = source.reference(&stage.sandbox.path("reference"), "HEAD");
    let value = |repository: &Repository| {
        let output = repository.command(["config", "--get", "test.value"]).output();
        output.expect("git runs").stdout
    };
    assert_eq!(value(&again.git), value(&reference), "what git makes of it");
    assert_eq!(value(&source), b"of the source\n");
}

/// A hook that leaves a note, and then fails.
fn write_hook(stage: &Stage, path: &std::path::Path) {
    let note = stage.sandbox.path("hook-was-run");
    environment::write_script(path, &format!("#!/bin/sh\n: > '{}'\nexit 1\n", note.display()));
}

fn monitor_hook(stage: &Stage) {
    let source = stage.small_source();
    let hook = stage.sandbox.path("monitor");
    write_hook(stage, &hook);
    source.git(["config", "core.fsmonitor", &hook.to_string_lossy()]);
    let tree = stage.create(&source.root, &[]);
    assert!(!stage.sandbox.path("hook-was-run").exists());
    source.git(["config", "--unset", "core.fsmonitor"]);
    tree.assert_clean();
}

fn hooks(stage: &Stage) {
    let source = stage.small_source();
    let directory = stage.sandbox.path("hooks");
    fs::create_dir(&directory).expect("it is ours");
    let names = ["post-checkout", "post-index-change", "reference-transaction", "post-commit"];
    for name in names {
        write_hook(stage, &directory.join(name));
    }
    let own = source.git_dir().join("hooks");
    fs::create_dir_all(&own).expect("it is ours");
    for name in names {
        write_hook(stage, &own.join(name));
    }
    for setting in [Some(&directory), None] {
        match setting {
            Some(path) => source.git(["config", "core.hooksPath", &path.to_string_lossy()]),
            None => source.git(["config", "--unset", "core.hooksPath"]),
        };
        fs::remove_file(stage.sandbox.path("hook-was-run")).unwrap_or_default();
        fs::remove_file(source.path("file")).unwrap_or_default();
        let tree = stage.create(&source.root, &["--branch", "topic"]);
        assert!(!stage.sandbox.path("hook-was-run").exists(), "a hook was run by create");
        let dirty = tree.git.git(["--no-optional-locks", "diff-files", "--name-only"]);
        assert_eq!(dirty, "");
        stage.remove(&tree, &source);
        assert!(!stage.sandbox.path("hook-was-run").exists(), "a hook was run by rm");
        fs::remove_dir_all(&own).unwrap_or_default();
        fs::create_dir(&own).expect("it is ours");
        write_hook(stage, &own.join("post-checkout"));
        source.git(["-c", "core.hooksPath=/dev/null", "branch", "-D", "topic"]);
    }
}
