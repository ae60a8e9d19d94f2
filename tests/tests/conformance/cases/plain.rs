//! Plain directories, and jj workspaces, as sources.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use fwt_tests::Snapshot;
use fwt_tests::binary::Made;
use fwt_tests::snapshot::Detail;

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::needing("a_plain_directory_is_copied_as_it_is", Needs::Donors, whole),
    Case::new("a_plain_directory_has_no_commits", no_commits),
    Case::new("plain_git_cannot_copy_a_directory", plain_git),
    Case::needing("case_b18_what_is_managed_is_left_out_of_a_directory", Needs::Donors, managed),
    Case::needing("a_copy_of_a_directory_keeps_unsaved_work", Needs::Donors, unsaved),
    Case::needing("a_copy_of_a_directory_can_be_a_source", Needs::Donors, copy_of_copy),
    Case::needing("a_successor_of_a_copy_is_never_removed", Needs::Donors, successor),
    Case::needing("a_jj_workspace_is_a_plain_directory", Needs::Donors, jj_workspace),
    Case::needing("a_colocated_jj_workspace_is_a_git_checkout", Needs::Donors, jj_colocated),
];

/// A change to a copy that loses or makes something, and the path it is about.
type Change = (&'static str, fn(&Path));

/// A directory without a repository, with something of every kind in it.
fn directory(stage: &Stage) -> PathBuf {
    let root = stage.sandbox.path("plain");
    fs::create_dir_all(root.join("below/deeper")).expect("the sandbox is empty");
    fs::write(root.join("file"), "a file\n").expect("it is ours");
    fs::write(root.join("below/deeper/odd\nname"), "odd\n").expect("it is ours");
    fs::write(root.join("below/secret"), "secret\n").expect("it is ours");
    fs::set_permissions(root.join("below/secret"), fs::Permissions::from_mode(0o600))
        .expect("it is ours");
    fs::set_permissions(root.join("below"), fs::Permissions::from_mode(0o750)).expect("it is ours");
    fs::write(root.join(".gitignore"), "*.log\nbuild/\n").expect("it is ours");
    fs::write(root.join("x.log"), "ignored\n").expect("it is ours");
    fs::create_dir(root.join("build")).expect("it is ours");
    fs::write(root.join("build/out"), "built\n").expect("it is ours");
    std::os::unix::fs::symlink("missing", root.join("link")).expect("it is ours");
    root
}

fn copy(stage: &Stage, directory: &Path) -> Made {
    let made = Made { json: stage.try_create(directory, &["--carry", "all"]).success() };
    if let Some(backend) = stage.cell.backend {
        assert_eq!(made.json["backend"], backend.name(), "{}", made.json);
    }
    made
}

fn remove(stage: &Stage, made: &Made) {
    stage.fwt().run(&stage.sandbox.path(""), ["rm", made.id()]).success();
    assert!(!made.path().exists());
    assert_nothing_kept(stage);
}

fn assert_nothing_kept(stage: &Stage) {
    let kept = stage.sandbox.state().join("plain");
    let count = fs::read_dir(&kept).map_or(0, Iterator::count);
    assert_eq!(count, 0, "{} is not empty", kept.display());
    assert_eq!(stage.fwt().list_all(&stage.sandbox.path("")), Vec::<serde_json::Value>::new());
}

fn whole(stage: &Stage) {
    let root = directory(stage);
    let before = Snapshot::of(&root);
    let made = copy(stage, &root);
    Snapshot::of(&made.path()).assert_same(&before, Detail::Full, "the copy");
    Snapshot::of(&root).assert_same(&before, Detail::Full, "the source");
    assert_eq!((&made.json["mode"], &made.json["head"]), (&"standalone".into(), &().into()));
    let (carried, base) = (&made.json["carried"], &made.json["base"]);
    assert_eq!((&carried["untracked"], &carried["ignored"]), (&5.into(), &2.into()), "{carried}");
    assert_eq!(base["from"], "directory");
    // Found from anywhere in the source, and from anywhere in the copy.
    let name = made.json["name"].as_str().expect("it has a name");
    for place in [&root, &root.join("below"), &made.path().join("below")] {
        let listed = stage.fwt().run(place, ["list"]).success();
        assert_eq!(listed["worktrees"][0]["id"], made.id(), "{}", place.display());
        let shown = stage.fwt().run(place, ["show", name]).success();
        assert_eq!((&shown["state"], &shown["id"]), (&"held".into(), &made.id().into()));
    }
    remove(stage, &made);
    Snapshot::of(&root).assert_same(&before, Detail::Full, "the source");
}

fn no_commits(stage: &Stage) {
    let root = directory(stage);
    for carry in ["clean", "dirty"] {
        let error = stage.try_create(&root, &["--carry", carry]).failure(3, "not-a-repository");
        assert!(error["hints"].to_string().contains("--carry all"), "{error}");
    }
    for flags in [&["--rev", "main"][..], &["--branch", "b"], &["--fetch"], &["--lfs", "pointer"]] {
        let mut arguments = vec!["--carry", "all"];
        arguments.extend(flags);
        let error = stage.try_create(&root, &arguments).failure(2, "bad-request");
        assert!(error["message"].to_string().contains(flags[0]), "{error}");
    }
    assert_nothing_kept(stage);
}

fn plain_git(stage: &Stage) {
    let root = directory(stage);
    let arguments = ["create", "--carry", "all", "--backend", "checkout"];
    let error = stage.fwt().run(&root, arguments).failure(5, "backend-unavailable");
    assert!(error["message"].to_string().contains("only-commits"), "{error}");
    for backend in ["overlay", "btrfs"] {
        let arguments = ["create", "--carry", "all", "--backend", backend];
        stage.fwt().run(&root, arguments).failure(5, "backend-unavailable");
    }
    assert_nothing_kept(stage);
}

fn managed(stage: &Stage) {
    let root = directory(stage);
    let at = root.join("below/tree");
    let elsewhere = stage.small_source();
    let inside = stage.fwt().create(&elsewhere.root, &["--at", &at.to_string_lossy()]);
    fs::create_dir(root.join(".fwt-61234")).expect("it is ours");
    fs::write(root.join(".fwt-61234/big"), "of a store").expect("it is ours");
    for name in ["nested", "nested-jj"] {
        fs::create_dir_all(root.join(name)).expect("it is ours");
    }
    fs::create_dir(root.join("nested/.git")).expect("it is ours");
    fs::create_dir(root.join("nested-jj/.jj")).expect("it is ours");

    let made = copy(stage, &root);
    for (path, reason) in [
        ("below/tree", "fwt-worktree"),
        (".fwt-61234", "fwt-worktree"),
        ("nested", "nested-repository"),
        ("nested-jj", "nested-repository"),
    ] {
        assert!(!made.path().join(path).exists(), "{path}");
        let skipped = made.json["skipped"].as_array().expect("it is a list");
        let is_listed = |one: &&serde_json::Value| one["path"] == path && one["reason"] == reason;
        assert!(skipped.iter().find(is_listed).is_some(), "{path}: {}", made.json["skipped"]);
    }
    stage.fwt().run(&elsewhere.root, ["rm", inside.id()]).success();
    remove(stage, &made);
}

fn unsaved(stage: &Stage) {
    let root = directory(stage);
    let changes: [Change; 4] = [
        ("below/new", |tree| fs::write(tree.join("below/new"), "new").expect("it is ours")),
        ("file", |tree| fs::write(tree.join("file"), "b file\n").expect("it is ours")),
        ("below/secret", |tree| fs::remove_file(tree.join("below/secret")).expect("it is there")),
        ("x.log", |tree| fs::write(tree.join("x.log"), "changed\n").expect("it is ours")),
    ];
    for (name, change) in changes {
        let made = copy(stage, &root);
        change(&made.path());
        let before = Snapshot::of(&made.path());
        let answer = stage.fwt().run(&root, ["rm", made.id()]);
        let error = answer.failure(4, "unsaved-work");
        assert!(error["message"].to_string().contains(name), "{name}: {error}");
        Snapshot::of(&made.path()).assert_same(&before, Detail::Full, "the kept tree");
        stage.fwt().run(&root, ["rm", made.id(), "--discard"]).success();
        assert_nothing_kept(stage);
    }
    // A directory that is ignored as a whole can be made again.
    let made = copy(stage, &root);
    fs::write(made.path().join("build/more"), "built").expect("it is ours");
    remove(stage, &made);
    // What the source has changed since is nowhere else.
    let made = copy(stage, &root);
    fs::write(root.join("file"), "changed in the source\n").expect("it is ours");
    stage.fwt().run(&root, ["rm", made.id()]).failure(4, "unsaved-work");
    fs::rename(&root, stage.sandbox.path("moved")).expect("it is ours");
    let anywhere = stage.sandbox.path("");
    stage.fwt().run(&anywhere, ["rm", made.id()]).failure(4, "unsaved-work");
    stage.fwt().run(&anywhere, ["rm", made.id(), "--discard"]).success();
    assert_nothing_kept(stage);
}

fn copy_of_copy(stage: &Stage) {
    let root = directory(stage);
    let first = copy(stage, &root);
    fs::write(first.path().join("file"), "changed in the first\n").expect("it is ours");
    let second = copy(stage, &first.path().join("below"));
    assert_eq!(second.json["source"], first.json["path"]);
    let expected = Snapshot::of(&first.path());
    Snapshot::of(&second.path()).assert_same(&expected, Detail::Full, "the copy of the copy");
    let listed = stage.fwt().run(&root, ["list"]).success();
    assert_eq!(listed["worktrees"].as_array().map(Vec::len), Some(2), "{listed}");
    fs::write(second.path().join("file"), "changed in the second\n").expect("it is ours");
    assert_eq!(
        fs::read(first.path().join("file")).expect("it is there"),
        b"changed in the first\n"
    );
    for made in [&second, &first] {
        stage.fwt().run(&root, ["rm", made.id(), "--discard"]).success();
    }
    assert_nothing_kept(stage);
}

fn successor(stage: &Stage) {
    let root = directory(stage);
    let made = copy(stage, &root);
    let away = stage.sandbox.path("away");
    fs::rename(made.path(), &away).expect("it is ours");
    fs::create_dir(made.path()).expect("it is free");
    fs::write(made.path().join("precious"), "somebody else's").expect("it is ours");
    for flag in [None, Some("--discard")] {
        let arguments = ["rm", made.id()].into_iter().chain(flag);
        stage.fwt().run(&root, arguments).failure(4, "not-ours");
    }
    assert!(made.path().join("precious").exists());
    fs::remove_dir_all(made.path()).expect("it is ours");
    fs::rename(&away, made.path()).expect("it is ours");
    remove(stage, &made);
}

fn jj_workspace(stage: &Stage) {
    let root = directory(stage);
    fs::create_dir_all(root.join(".jj/repo/store/git/objects")).expect("it is ours");
    fs::create_dir_all(root.join(".jj/working_copy")).expect("it is ours");
    fs::write(root.join(".jj/.gitignore"), "/*\n").expect("it is ours");
    stage.try_create(&root, &[]).failure(3, "not-a-repository");
    let made = copy(stage, &root);
    let is_jj = |one: &serde_json::Value| one["path"] == ".jj" && one["reason"] == "jj-repository";
    let skipped = made.json["skipped"].as_array().expect("it is a list");
    assert!(skipped.iter().any(is_jj), "{}", made.json);
    let expected = Snapshot::filtered(&root, |path| !path.starts_with(".jj"));
    Snapshot::of(&made.path()).assert_same(&expected, Detail::Full, "the copy");
    remove(stage, &made);
}

fn jj_colocated(stage: &Stage) {
    let source = stage.small_source();
    fs::create_dir_all(source.path(".jj/repo/store")).expect("it is ours");
    source.write(".jj/.gitignore", "/*\n");
    source.write(".jj/repo/store/git_target", "../../../.git");
    // jj leaves HEAD detached at the parent of its working copy.
    source.git(["checkout", "--quiet", "--detach"]);
    source.settle();
    source.write("file", "edited, and longer\n");
    let clean = stage.create(&source.root, &[]);
    clean.assert_clean();
    assert!(!clean.path(".jj").exists());
    for carry in ["dirty", "all"] {
        let tree = stage.create(&source.root, &["--carry", carry]);
        assert!(!tree.path(".jj").exists(), "{carry}");
        let status = |git: &fwt_tests::Repository| git.git_bytes(["status", "--porcelain", "-z"]);
        assert_eq!(status(&tree.git), status(&source), "{carry}");
        let skipped = tree.made.json["skipped"].to_string();
        assert!(skipped.contains("jj-repository"), "{skipped}");
        stage.remove(&tree, &source);
    }
    stage.remove(&clean, &source);
}
