//! Large files kept elsewhere (LFS): pointers, content that the source has, and content nobody has.

use std::fs;

use fwt_tests::{Repository, environment};

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b52_pointers_where_no_filter_is_installed", without_filter),
    Case::new("case_b52_content_that_nobody_has_is_an_error_or_a_pointer", missing_content),
    Case::needing("case_b52_a_filter_that_is_not_there_is_not_missed", Needs::Donors, no_program),
    Case::needing("case_b52_carried_content_is_not_smudged", Needs::Donors, carried),
];

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

const RULES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

fn with_pointers(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.write(".gitattributes", RULES);
    source.write("a.bin", POINTER);
    source.write("deep/b.bin", POINTER);
    source.commit("pointers");
    source.settle();
    source
}

/// As after a clone where git-lfs was never installed.
fn without_filter(stage: &Stage) {
    let source = with_pointers(stage);
    let tree = stage.check(&source, "HEAD");
    stage.remove(&tree, &source);
    for lfs in ["reuse", "pointer"] {
        for mode in ["linked", "standalone"] {
            let tree = stage.create_as(mode, &source, &["--lfs", lfs]);
            tree.assert_clean();
            assert_eq!(fs::read(tree.path("a.bin")).expect("a pointer"), POINTER.as_bytes());
            stage.remove(&tree, &source);
        }
    }
    if stage.carries() {
        source.write("deep/b.bin", "content that was never added\n");
        let tree = stage.check_carried(&source, "dirty", "linked");
        stage.remove(&tree, &source);
    }
}

/// A store of content beside the source, and a filter that works like git-lfs: it counts its calls,
/// and fails for what the store does not have.
struct Store {
    calls: std::path::PathBuf,
    objects: std::path::PathBuf,
}

impl Store {
    fn install(stage: &Stage, source: &Repository) -> Self {
        let [calls, objects, script] =
            ["calls", "objects", "filter"].map(|name| stage.sandbox.path(name));
        fs::create_dir(&objects).expect("the sandbox is ours");
        let text = format!(
            "#!/bin/sh\n\
             echo \"$1\" >> '{calls}'\n\
             if [ \"$1\" = clean ]; then\n\
             cat > '{objects}/new'; name=$(cksum < '{objects}/new' | tr -d ' ')\n\
             mv '{objects}/new' \"{objects}/$name\"; echo \"pointer $name\"\n\
             else read -r _ name; cat \"{objects}/$name\"; fi\n",
            calls = calls.display(),
            objects = objects.display(),
        );
        environment::write_script(&script, &text);
        for verb in ["clean", "smudge"] {
            let setting = format!("'{}' {verb}", script.display());
            source.git(["config", &format!("filter.lfs.{verb}"), &setting]);
        }
        source.git(["config", "filter.lfs.required", "true"]);
        Self { calls, objects }
    }

    fn smudges(&self) -> usize {
        let calls = fs::read_to_string(&self.calls).unwrap_or_default();
        calls.lines().filter(|line| *line == "smudge").count()
    }

    fn forget(&self) {
        fs::remove_dir_all(&self.objects).expect("it is ours");
        fs::create_dir(&self.objects).expect("the sandbox is ours");
    }
}

fn with_content(stage: &Stage) -> (Repository, Store) {
    let source = stage.small_source();
    let store = Store::install(stage, &source);
    source.write(".gitattributes", RULES);
    source.write("a.bin", "content of a\n");
    source.write("deep/b.bin", "content of b\n");
    source.commit("content");
    source.settle();
    (source, store)
}

/// The store is empty, as without a network: what the source has is there, the rest is an error, or
/// a pointer where that is asked for; never half a file.
fn missing_content(stage: &Stage) {
    let (source, store) = with_content(stage);
    store.forget();
    fs::remove_file(source.path("a.bin")).expect("it is there");
    let answer = stage.check_refused(&source, &["--branch", "topic"], (1, "git-failed"));
    assert!(answer.json()["error"]["message"].to_string().contains("a.bin"), "{answer}");
    for mode in ["linked", "standalone"] {
        let answer = stage.try_create_as(mode, &source.root, &[]);
        answer.failure(1, "git-failed");
        stage.assert_no_debris(&source, &[]);
        let tree = stage.create_as(mode, &source, &["--lfs", "pointer"]);
        for path in ["a.bin", "deep/b.bin"] {
            let text = fs::read_to_string(tree.path(path)).expect("a pointer");
            assert!(text.starts_with("pointer "), "{path}: {text}");
        }
        let dirty = tree.git.git(["--no-optional-locks", "diff-files", "--name-only"]);
        assert_eq!(dirty, "", "{mode}");
        stage.remove(&tree, &source);
    }
}

/// The filter is required, and its program is gone; the source has all it takes.
fn no_program(stage: &Stage) {
    let (source, store) = with_content(stage);
    let before = store.smudges();
    for verb in ["clean", "smudge"] {
        source.git(["config", &format!("filter.lfs.{verb}"), "/nowhere/git-lfs"]);
    }
    source.git(["config", "filter.lfs.process", "/nowhere/git-lfs filter-process"]);
    for mode in ["linked", "standalone"] {
        let tree = stage.create_as(mode, &source, &[]);
        assert_eq!(fs::read(tree.path("a.bin")).expect("content"), b"content of a\n");
        tree.assert_clean();
        stage.remove(&tree, &source);
    }
    assert_eq!(store.smudges(), before);
}

fn carried(stage: &Stage) {
    let (source, store) = with_content(stage);
    source.write("a.bin", "content that was edited\n");
    source.write("new.bin", "content that is new\n");
    store.forget();
    let before = store.smudges();
    for mode in ["linked", "standalone"] {
        let tree = stage.create_as(mode, &source, &["--carry", "dirty"]);
        for path in ["a.bin", "new.bin", "deep/b.bin"] {
            let [here, there] = [tree.path(path), source.path(path)].map(fs::read);
            assert_eq!(here.expect("it was carried"), there.expect("it is there"), "{path}");
        }
        assert_eq!(store.smudges(), before, "{mode}");
        let status = tree.git.git(["status", "--porcelain"]);
        assert_eq!(status, source.git(["status", "--porcelain"]), "{mode}");
        stage.remove(&tree, &source);
    }
}
