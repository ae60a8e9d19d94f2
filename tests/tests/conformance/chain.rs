//! The choice of a backend: what is used, what is passed over and why, what is refused.

use fwt_tests::{Filesystem, environment};

use crate::matrix::{Case, is_root};
use crate::stage::Stage;

/// For the chain as a whole.
pub(crate) const CASES: &[Case] = &[
    Case::new("case_b4_the_first_that_works_is_used_and_the_rest_is_named", first_that_works),
    Case::new("case_b4_cow_require_shares_or_leaves_nothing", cow_require),
    Case::new("case_b4_cow_never_copies_and_passes_over_nobody", cow_never),
    Case::new("case_b4_two_file_systems_share_nothing", two_file_systems),
    Case::new("case_g15_sparse_patterns_of_another_revision_are_left_to_git", sparse_revision),
    Case::new("case_b4_an_empty_source_has_nothing_to_prove", empty_source),
    Case::new("case_b12_no_helper_of_fuse_is_ever_started", fuse_helpers),
    Case::new("case_b11_where_mounting_is_refused_the_next_is_taken", without_mounts),
];

/// For a backend that cannot work on its file system.
pub(crate) const IMPOSSIBLE_CASES: &[Case] = &[
    Case::new("case_b4_the_demanded_backend_is_refused_and_leaves_nothing", demanded),
    Case::new("case_b4_an_existing_store_is_left_as_it_was", demanded_beside_another),
];

/// For `--mode checkout`.
pub(crate) const SHORT_NAME_CASES: &[Case] =
    &[Case::new("case_b4_plain_git_makes_the_tree", |stage| {
        let source = stage.small_source();
        let tree = stage.check(&source, "HEAD");
        assert_eq!(tree.made.json["mode"], "linked");
    })];

/// Which backend the chain comes to for a commit, and what it passes over on the way.
fn expected(stage: &Stage) -> (&'static str, Vec<(&'static str, &'static str)>) {
    if is_root() {
        return ("overlay", Vec::new());
    }
    let mut passed_over = vec![("overlay", "no-capability")];
    if stage.cell.filesystem == Filesystem::Btrfs {
        return ("btrfs", passed_over);
    }
    passed_over.push(("btrfs", "not-btrfs"));
    if stage.cell.filesystem.has_reflinks() {
        return ("reflink", passed_over);
    }
    passed_over.push(("reflink", "no-reflink"));
    ("copy", passed_over)
}

fn first_that_works(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.check(&source, "HEAD");
    let (backend, passed_over) = expected(stage);
    assert_eq!(tree.made.json["backend"], backend);
    assert_eq!(tree.made.passed_over(), passed_over);
    let listed = &stage.fwt().list_all(&source.root)[0];
    assert_eq!(listed["backend"], tree.made.json["backend"], "what is listed later");
    assert_eq!(listed["passed_over"], tree.made.json["passed_over"], "what is listed later");
}

fn cow_require(stage: &Stage) {
    let source = stage.small_source();
    let (backend, _) = expected(stage);
    if backend != "copy" {
        let tree = stage.check_from(&source, &source.root, &["--cow=require"], "HEAD");
        assert_eq!(tree.made.json["backend"], backend);
        return;
    }
    let answer = stage.check_refused(&source, &["--cow=require"], (5, "backend-unavailable"));
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("reflink: no-reflink"), "{message}");
}

fn cow_never(stage: &Stage) {
    let source = stage.small_source();
    let tree = stage.check_from(&source, &source.root, &["--cow=never"], "HEAD");
    assert_eq!(tree.made.json["backend"], "copy");
    assert_eq!(tree.made.passed_over(), []);
    assert_eq!(tree.made.stat("bytes_cloned"), 0);
    let both = ["--cow=never", "--backend", "reflink"];
    stage.fwt().run(&source.root, [&["create"], &both[..]].concat()).failure(2, "bad-request");
}

/// One place to go to is on another file system than the source.
fn two_file_systems(stage: &Stage) {
    let other =
        if stage.cell.filesystem == Filesystem::Xfs { Filesystem::Btrfs } else { Filesystem::Xfs };
    let Some(elsewhere) = fwt_tests::Sandbox::on(other) else { return };
    let source = stage.small_source();
    let at = elsewhere.path("tree");
    let at = at.to_str().expect("it is UTF-8");
    stage.check_refused(&source, &["--backend", "reflink", "--at", at], (5, "backend-unavailable"));
    let made = stage.create(&source.root, &["--at", at]);
    if is_root() {
        // The tree's own layer stays in the store: only the mount point is elsewhere.
        assert_eq!(made.made.json["backend"], "overlay");
        assert_eq!(made.made.passed_over(), []);
    } else {
        let why = if other == Filesystem::Btrfs { "cross-filesystem" } else { "not-btrfs" };
        let passed_over =
            [("overlay", "no-capability"), ("btrfs", why), ("reflink", "cross-filesystem")];
        assert_eq!(made.made.json["backend"], "copy");
        assert_eq!(made.made.passed_over(), passed_over);
    }
    made.assert_clean();
    stage.assert_like_git(&made, &source, "HEAD");
    stage.remove(&made, &source);
    stage.assert_no_debris(&source, &[]);
}

fn sparse_revision(stage: &Stage) {
    let source = stage.small_source();
    source.write("directory/below/other", "it is different now\n");
    source.write("elsewhere/file", "it is left out\n");
    source.commit("second");
    source.git(["sparse-checkout", "set", "--cone", "directory"]);
    source.settle();
    let tree = stage.check(&source, "HEAD~1");
    assert_eq!(tree.made.json["backend"], "checkout");
    let passed_over =
        ["overlay", "btrfs", "reflink", "copy"].map(|backend| (backend, "sparse-checkout"));
    assert_eq!(tree.made.passed_over(), passed_over);
    let backend = ["--backend", "copy", "--rev", "HEAD~1"];
    let answer = stage.fwt().run(&source.root, [&["create"], &backend[..]].concat());
    let error = answer.failure(5, "backend-unavailable");
    assert!(error["message"].to_string().contains("copy: sparse-checkout"), "{error}");
}

fn empty_source(stage: &Stage) {
    let source = stage.sandbox.repository("source");
    source.commit("nothing in it");
    let tree = stage.check(&source, "HEAD");
    assert_eq!(tree.made.stat("files"), 0);
}

/// Programs that overlay by FUSE, or mount, are first in the search path, and are not asked.
fn fuse_helpers(stage: &Stage) {
    const NAMES: [&str; 7] =
        ["fuse-overlayfs", "unionfs", "mergerfs", "mount", "mount.fuse3", "fusermount3", "btrfs"];
    let source = stage.small_source();
    let (programs, note) = (stage.sandbox.path("programs"), stage.sandbox.path("note"));
    std::fs::create_dir(&programs).expect("the sandbox is ours");
    for name in NAMES {
        let script = format!("#!/bin/sh\necho \"$0\" >> '{}'\n", note.display());
        environment::write_script(&programs.join(name), &script);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = stage.fwt().command(&source.root, ["create", "t", "--json"]);
    command.env("PATH", format!("{}:{path}", programs.display()));
    let made = fwt_tests::Answer::of(&mut command).success();
    assert_eq!(made["backend"], expected(stage).0);
    assert!(!note.exists(), "{:?} ran", std::fs::read_to_string(&note));
    stage.fwt().run(&source.root, ["rm", "t"]).success();
}

/// In a mount namespace of one's own, which nobody else sees, and in a user namespace, where root is none.
fn without_mounts(stage: &Stage) {
    let source = stage.small_source();
    let mounts = || {
        let all = fs_sys::mounts().expect("they can be read").into_iter();
        all.filter(|mounted| mounted.point.starts_with(stage.sandbox.path(""))).count()
    };
    for (flags, reason) in [
        (&["--user", "--map-root-user", "--mount"][..], "private-mount-namespace"),
        (&["--user", "--map-root-user"], "no-overlay"),
        (&["--mount"], "private-mount-namespace"),
    ] {
        let namespaced = |words: &[&str]| {
            let inner = stage.fwt().command(&source.root, words);
            let mut command = stage.sandbox.command("unshare");
            command.args(flags).arg(inner.get_program()).args(inner.get_args());
            command.current_dir(&source.root).env("FWT_HOME", stage.sandbox.state());
            command
        };
        // Some machines allow no such namespace.
        let mut trial = stage.sandbox.command("unshare");
        if !trial.args(flags).arg("true").output().is_ok_and(|output| output.status.success()) {
            continue;
        }
        let answer = fwt_tests::Answer::of(&mut namespaced(&["create", "t", "--json"]));
        let made = fwt_tests::binary::Made { json: answer.success() };
        assert_eq!(made.passed_over()[0], ("overlay", reason), "{flags:?}");
        let tree = crate::stage::Tree { git: stage.sandbox.existing(made.path()), made };
        // In a user namespace owners have other numbers, so that git outside looks into each file.
        assert_eq!(tree.git.git(["status", "--porcelain"]), "", "{flags:?}");
        stage.assert_no_debris(&source, &[&tree]);
        stage.remove(&tree, &source);
        let demanded = ["create", "t", "--backend", "overlay", "--json"];
        let answer = fwt_tests::Answer::of(&mut namespaced(&demanded));
        answer.failure(5, "backend-unavailable");
        stage.assert_no_debris(&source, &[]);
        assert_eq!(mounts(), 0, "{flags:?}");
    }
}

fn demanded(stage: &Stage) {
    let source = stage.small_source();
    let answer = stage.check_refused(&source, &[], (5, "backend-unavailable"));
    let error = answer.json()["error"].clone();
    assert!(error["message"].to_string().contains(&stage.impossible()), "{error}");
    assert!(error["hints"].as_array().is_some_and(|hints| !hints.is_empty()), "{error}");
}

fn demanded_beside_another(stage: &Stage) {
    let source = stage.small_source();
    let other = stage.fwt().create(&source.root, &["other", "--backend", "copy"]);
    let before = fwt_tests::Snapshot::of(&other.path());
    stage.try_create(&source.root, &[]).failure(5, "backend-unavailable");
    let after = fwt_tests::Snapshot::of(&other.path());
    after.assert_same(&before, fwt_tests::snapshot::Detail::Full, "the other tree");
    let other = crate::stage::Tree { git: stage.sandbox.existing(other.path()), made: other };
    other.assert_clean();
    stage.assert_no_debris(&source, &[&other]);
}
