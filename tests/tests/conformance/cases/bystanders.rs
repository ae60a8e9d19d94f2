//! What stands by while a tree is made: the repository's hooks, and whoever watches the source.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use fwt_tests::{Answer, Repository, environment};

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b50_no_hook_runs_and_none_can_fail_a_create", hooks),
    Case::new("case_b50_standard_output_is_the_path_alone", output),
    Case::new("case_b53_whoever_watches_the_source_sees_nothing", watched),
];

/// What a cell can make: plain git carries nothing.
fn ways(stage: &Stage) -> Vec<[&'static str; 4]> {
    let mut ways = Vec::new();
    for mode in ["linked", "standalone"] {
        for carry in if stage.carries() { &["clean", "dirty", "all"][..] } else { &["clean"] } {
            ways.push(["--mode", mode, "--carry", carry]);
        }
    }
    ways
}

fn create(stage: &Stage, source: &Repository, way: [&str; 4], more: &[&str]) -> Answer {
    let mode = way[1];
    stage.try_create_as(mode, &source.root, &[&way[2..], more].concat())
}

/// Every hook that git knows leaves a note of where it ran, talks, and fails: in the repository, and at
/// a place that the configuration names by an absolute path.
fn hooks(stage: &Stage) {
    const NAMES: [&str; 12] = [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "post-commit",
        "pre-commit",
        "post-merge",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "prepare-commit-msg",
        "update",
        "post-update",
    ];
    let source = stage.small_source();
    let note = stage.sandbox.path("note");
    let script = format!("#!/bin/sh\npwd >> '{}'\necho talk\nexit 1\n", note.display());
    let own = source.git_dir().join("hooks");
    let elsewhere = stage.sandbox.path("hooks");
    for directory in [&own, &elsewhere] {
        fs::create_dir_all(directory).expect("it is ours");
        for name in NAMES {
            environment::write_script(&directory.join(name), &script);
        }
    }
    for path in [None, Some(&elsewhere)] {
        if let Some(path) = path {
            // By hand: git itself would run a hook.
            let config = source.git_dir().join("config");
            let text = fs::read_to_string(&config).expect("it is there");
            let setting = format!("{text}[core]\n\thooksPath = {}\n", path.display());
            fs::write(config, setting).expect("it is ours");
        }
        for way in ways(stage) {
            let made = create(stage, &source, way, &["--branch", "topic"]).success();
            assert!(!note.exists(), "{way:?}: a hook ran in {:?}", fs::read_to_string(&note));
            let id = made["id"].as_str().expect("it is text");
            stage.fwt().run(&source.root, ["rm", id]).success();
            assert!(!note.exists(), "{way:?}: a hook ran in {:?}", fs::read_to_string(&note));
            source.git(["-c", "core.hooksPath=/dev/null", "pack-refs", "--all"]);
            if way[1] == "linked" {
                let words = ["-c", "core.hooksPath=/dev/null", "branch", "-D", "topic"];
                source.git(words);
            }
        }
    }
    stage.assert_no_debris(&source, &[]);
}

fn output(stage: &Stage) {
    let source = stage.small_source();
    for way in ways(stage) {
        let mut words = vec!["create"];
        words.extend(stage.cell.backend.iter().flat_map(|kind| ["--backend", kind.name()]));
        words.extend(way);
        let answer = Answer::of(&mut stage.fwt().command(&source.root, words));
        assert_eq!(answer.code, Some(0), "{answer}");
        let text = String::from_utf8(answer.stdout.clone()).expect("it is text");
        let path = text.strip_suffix('\n').expect("a line");
        assert!(!path.contains('\n') && PathBuf::from(path).is_absolute(), "{answer}");
        assert_eq!(stage.sandbox.existing(path).top_level("").to_str(), Some(path));
        stage.fwt().run(&source.root, ["rm", path]).success();
    }
    // What fails says so elsewhere.
    let words = ["create", "--rev", "nothing"];
    let answer = Answer::of(&mut stage.fwt().command(&source.root, words));
    assert_eq!((answer.code, &*answer.stdout), (Some(3), &b""[..]), "{answer}");
    assert!(!answer.stderr.is_empty(), "{answer}");
}

/// Inode, change and modification time of everything but git's own: whatever a watcher could be told
/// of, short of being read, moves one of them.
fn seen(source: &Repository) -> BTreeMap<PathBuf, (u64, [i64; 4])> {
    let all = fwt_tests::Snapshot::of(&source.root);
    let mut paths: Vec<PathBuf> = all.paths().map(|path| source.path(path)).collect();
    paths.push(source.root.clone());
    let look = |path: PathBuf| {
        let it = fs::symlink_metadata(&path).expect("it is there");
        let times = [it.ctime(), it.ctime_nsec(), it.mtime(), it.mtime_nsec()];
        (path, (it.ino(), times))
    };
    paths.into_iter().map(look).collect()
}

fn watched(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", "ignored/\n");
    source.write("ignored/file", "ignored\n");
    source.write("untracked", "u\n");
    source.write("file", "edited\n");
    let status = |source: &Repository| {
        source.git(["--no-optional-locks", "status", "--porcelain", "--ignored", "-uall"])
    };
    let (before, told) = (seen(&source), status(&source));
    for way in ways(stage) {
        let made = create(stage, &source, way, &[]).success();
        let path = PathBuf::from(made["path"].as_str().expect("it is text"));
        assert!(!path.starts_with(&source.root), "{way:?}");
        assert_eq!(seen(&source), before, "{way:?}");
        assert_eq!(status(&source), told, "{way:?}");
        let id = made["id"].as_str().expect("it is text");
        stage.fwt().run(&source.root, ["rm", id]).success();
        assert_eq!(seen(&source), before, "rm {way:?}");
    }
}
