//! Trees from trees: a child is what its parent was, and from then on neither sees the other.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fwt_tests::snapshot::Detail;
use fwt_tests::{Answer, Filesystem, Repository, Sandbox, Snapshot};

use crate::crash::faults::count;
use crate::eviction::{configure, doctor, let_a_second_pass, sealed};
use crate::mount::can_mount;
use crate::scene::Scene;
use crate::sealed::overlay_scenes;

/// A scene for each way to make a tree from a tree.
pub(crate) fn scenes() -> Vec<(Scene, &'static str)> {
    let overlay = overlay_scenes().into_iter().map(|scene| (scene, "overlay"));
    let on = |filesystem| Sandbox::on(filesystem).map(Scene::within);
    let btrfs = on(Filesystem::Btrfs).map(|scene| (scene, "btrfs"));
    let reflink = on(Filesystem::Xfs).map(|scene| (scene, "reflink"));
    overlay.chain(btrfs).chain(reflink).collect()
}

/// A tree of a source with some directories and a file of two names.
pub(crate) fn parent(scene: &Scene, backend: &str, carry: &str) -> Repository {
    let source = &scene.source;
    for name in ["pkg/a", "pkg/deep/b", "old/one", "old/two", "many/1", "many/2", "many/3"] {
        source.write(name, format!("{name}\n"));
    }
    fs::hard_link(source.path("many/1"), source.path("many/other-name")).expect("one file system");
    source.commit("more");
    // git tells times apart by the second: what is touched twice in one keeps its first in the index.
    let_a_second_pass();
    source.settle();
    scene.create(&["parent", "--backend", backend, "--carry", carry])
}

/// Changes of every kind.
pub(crate) fn work_in(tree: &Repository) {
    let path = |name: &str| tree.path(name);
    // A directory under another name, and entries of it.
    fs::rename(path("pkg"), path("library")).expect("it is tracked");
    fs::remove_file(path("library/a")).expect("it is tracked");
    // One that is replaced.
    fs::remove_dir_all(path("old")).expect("it is tracked");
    tree.write("old/three", "three\n");
    fs::remove_file(path("many/2")).expect("it is tracked");
    tree.write("many/1", "of one name, seen by both where they are one file\n");
    tree.write("file", "edited\n");
    tree.chmod("many/3", 0o755);
    fs::set_permissions(path("many"), fs::Permissions::from_mode_of(0o700)).expect("it is ours");
    tree.write("staged", "staged\n");
    tree.git(["add", "staged"]);
    tree.write("untracked/file", "untracked\n");
    tree.link("untracked/link", "nowhere");
    tree.write("target/out", "ignored\n");
    tree.write("a.log", "ignored\n");
}

/// `PermissionsExt` by a name of its own.
trait FromMode {
    fn from_mode_of(mode: u32) -> Self;
}

impl FromMode for fs::Permissions {
    fn from_mode_of(mode: u32) -> Self {
        std::os::unix::fs::PermissionsExt::from_mode(mode)
    }
}

fn is_ignored(path: &Path) -> bool {
    path.starts_with("target") || path == Path::new("a.log")
}

/// What a child of a tree is to hold.
fn expected(tree: &Repository, carry: &str) -> Snapshot {
    Snapshot::filtered(&tree.root, |path| {
        path != Path::new(".git") && (carry == "all" || !is_ignored(path))
    })
}

#[track_caller]
fn assert_like(child: &Repository, parent: &Repository, carry: &str, what: &str) {
    let (found, wanted) = (Snapshot::of(&child.root), expected(parent, carry));
    found.assert_same(&wanted, Detail::Full, what);
    let status = |tree: &Repository| tree.git(["--no-optional-locks", "status", "--porcelain"]);
    assert_eq!(status(child), status(parent), "{what}");
    assert_eq!(child.git(["diff", "HEAD"]), parent.git(["diff", "HEAD"]), "{what}");
}

fn fork(scene: &Scene, name: &str, of: &Repository, how: &[&str]) -> Repository {
    let words = [&[name], how].concat();
    scene.sandbox.existing(scene.fwt().create(&of.root, &words).path())
}

#[test]
fn a_child_is_what_its_parent_was() {
    for (scene, backend) in scenes() {
        let parent = parent(&scene, backend, "dirty");
        work_in(&parent);
        for carry in ["dirty", "all", "clean"] {
            let what = format!("{backend}, {carry}");
            let how = ["--carry", carry, "--backend", backend];
            let child = fork(&scene, carry, &parent, &how);
            if carry == "clean" {
                assert_eq!(child.git(["status", "--porcelain"]), "", "{what}");
                continue;
            }
            // Before git has written what it found out: only what was carried differs by its times.
            let differing = child.git(["diff-files", "--name-only"]);
            let changed = ["file", "many/", "pkg/", "old/", "staged"];
            let is_carried = |path: &str| changed.iter().any(|start| path.starts_with(start));
            assert!(differing.lines().all(is_carried), "{what}: {differing}");
            assert_like(&child, &parent, carry, &what);
            // What is one file in the parent is one in the child.
            let inode = |path: &str| fs::metadata(child.path(path)).expect("it came").ino();
            assert_eq!(inode("many/1"), inode("many/other-name"), "{what}");
        }
        scene.assert_sound();
    }
}

#[test]
fn parent_and_child_see_nothing_of_each_other() {
    for (scene, backend) in scenes() {
        let parent = parent(&scene, backend, "all");
        work_in(&parent);
        let how = ["--carry", "all", "--backend", backend];
        let child = fork(&scene, "child", &parent, &how);
        let (before, source) = (Snapshot::of(&child.root), Snapshot::of(scene.root()));
        parent.write("file", "later\n");
        parent.write("library/deep/b", "later\n");
        parent.write("dir/new", "later\n");
        fs::remove_file(parent.path("untracked/file")).expect("it is there");
        fs::rename(parent.path("library"), parent.path("again")).expect("it is there");
        parent.git(["commit", "--quiet", "--message", "staged"]);
        Snapshot::of(&child.root).assert_same(&before, Detail::Full, backend);
        let before = Snapshot::of(&parent.root);
        child.write("file", "of the child\n");
        fs::remove_dir_all(child.path("library")).expect("it is there");
        child.git(["add", "--all"]);
        child.git(["commit", "--quiet", "--message", "of the child"]);
        Snapshot::of(&parent.root).assert_same(&before, Detail::Full, backend);
        Snapshot::of(scene.root()).assert_same(&source, Detail::Full, backend);
    }
}

/// Each generation changes something, and has all that those before have changed.
#[test]
fn children_of_children() {
    for (scene, backend) in scenes() {
        let mut last = parent(&scene, backend, "dirty");
        work_in(&last);
        let mut trees = Vec::new();
        for number in 0..4 {
            let name = format!("child-{number}");
            let how = ["--carry", "dirty", "--backend", backend];
            let child = fork(&scene, &name, &last, &how);
            assert_like(&child, &last, "dirty", &name);
            let (from, to) = (format!("directory-{number}"), format!("directory-{}", number + 1));
            if number == 0 {
                fs::rename(child.path("library"), child.path(&to)).expect("it came");
            } else {
                fs::rename(child.path(from), child.path(&to)).expect("it came");
            }
            child.write(format!("{to}/of-{number}"), "bytes\n");
            fs::remove_file(child.path(format!("many/{}", if number == 0 { 1 } else { 3 }))).ok();
            trees.push((name, std::mem::replace(&mut last, child)));
        }
        // Those between can go, and what is left of them is all in the last one.
        let before = Snapshot::of(&last.root);
        for (name, _) in &trees[1..] {
            let parent_of = trees.iter().position(|(other, _)| other == name).expect("it is there");
            if parent_of + 1 < trees.len() {
                scene.fwt().run(scene.root(), ["rm", name, "--discard"]).success();
            }
        }
        scene.fwt().run(scene.root(), ["rm", "parent", "--discard"]).success();
        Snapshot::of(&last.root).assert_same(&before, Detail::Full, backend);
        assert_eq!(doctor(&scene), [], "{backend}");
    }
}

#[test]
fn what_a_child_alone_has_by_now_is_not_removed() {
    for (scene, backend) in scenes() {
        let parent = parent(&scene, backend, "dirty");
        work_in(&parent);
        let how = ["--carry", "dirty", "--backend", backend];
        fork(&scene, "one", &parent, &how);
        fork(&scene, "two", &parent, &how);
        // All of it is in the parent.
        scene.fwt().run(scene.root(), ["rm", "one"]).success();
        scene.fwt().run(scene.root(), ["rm", "parent", "--discard"]).success();
        scene.fwt().run(scene.root(), ["rm", "two"]).failure(4, "unsaved-work");
        scene.fwt().run(scene.root(), ["rm", "two", "--discard"]).success();
        scene.assert_nothing(backend);
    }
}

/// Rules that changed, files that git knows no more, what is in a directory under another name.
#[test]
fn what_the_rules_hide_stays_behind() {
    for (scene, backend) in scenes() {
        scene.source.write("dir/kept.log", "tracked though ignored\n");
        scene.source.write("dir/other.log", "tracked though ignored\n");
        scene.source.git(["add", "--force", "dir/kept.log", "dir/other.log"]);
        let parent = parent(&scene, backend, "all");
        let dirty = ["--carry", "dirty", "--backend", backend];
        let has = |tree: &Repository, path: &str| tree.path(path).exists();
        // The parent has what is ignored from its source, the first child has none of it.
        parent.write("target/out", "ignored\n");
        let first = fork(&scene, "first", &parent, &dirty);
        assert!(!has(&first, "target") && has(&first, "dir/kept.log"), "{backend}");
        first.git(["rm", "--quiet", "--cached", "dir/other.log"]);
        first.write("x.log", "ignored\n");
        let second = fork(&scene, "second", &first, &dirty);
        assert!(!has(&second, "x.log") && !has(&second, "dir/other.log"), "{backend}");
        assert!(has(&second, "dir/kept.log"), "{backend}");
        // Neither of the two is tracked at its new place.
        fs::rename(first.path("dir"), first.path("moved")).expect("it is there");
        let third = fork(&scene, "third", &first, &dirty);
        assert!(has(&third, "moved/script") && !has(&third, "dir"), "{backend}");
        assert!(!has(&third, "moved/kept.log") && !has(&third, "moved/other.log"), "{backend}");
        // A new rule hides what was there before.
        third.write("visible", "bytes\n");
        third.write(".gitignore", "visible\n");
        let fourth = fork(&scene, "fourth", &third, &dirty);
        assert!(!has(&fourth, "visible") && has(&fourth, "moved/script"), "{backend}");
    }
}

#[test]
fn a_repository_in_the_parent_is_not_the_childs() {
    for (scene, backend) in scenes() {
        let parent = parent(&scene, backend, "clean");
        parent.git(["init", "--quiet", "dir/inner"]);
        parent.write("dir/inner/file", "theirs\n");
        parent.git(["init", "--quiet", "target/inner"]);
        let made =
            scene.fwt().create(&parent.root, &["child", "--carry", "all", "--backend", backend]);
        let child = scene.sandbox.existing(made.path());
        assert!(!child.path("dir/inner").exists() && child.path("dir/script").exists());
        assert!(!child.path("target/inner").exists());
        let skipped = made.json["skipped"].as_array().expect("a list");
        let reasons: Vec<_> = skipped.iter().map(|one| one["reason"].as_str()).collect();
        assert_eq!(reasons, [Some("nested-repository"); 2], "{backend}");
    }
}

/// Writes the next number to one file and then to the other, over and over.
fn count_up(tree: &Repository, is_done: &AtomicBool) {
    let mut number = 0_u64;
    while !is_done.load(Ordering::Relaxed) {
        number += 1;
        for name in ["first", "second"] {
            tree.write("new", number.to_string());
            fs::rename(tree.path("new"), tree.path(name)).expect("it is ours");
        }
        // At times it rests.
        let rest_ms = if number.is_multiple_of(500) { 20 } else { 0 };
        std::thread::sleep(std::time::Duration::from_millis(rest_ms));
    }
}

/// Panics unless the child has both files as they were at one instant, or there is none.
#[track_caller]
fn assert_instant(answer: &Answer) {
    if answer.code != Some(0) {
        answer.failure(1, "keeps-changing");
        return;
    }
    let path = answer.success()["path"].as_str().expect("text").to_owned();
    let read = |name: &str| -> u64 {
        let text = fs::read_to_string(Path::new(&path).join(name));
        text.expect("it came").parse().expect("a number")
    };
    let (first, second) = (read("first"), read("second"));
    assert!(first == second || first == second + 1, "{first} and {second}");
}

/// Two files, the second always written after the first: whoever sees an instant sees at most one step
/// between them.
#[test]
fn a_parent_that_is_written_to_gives_an_instant_or_a_clear_failure() {
    if !can_mount() {
        return;
    }
    for scene in overlay_scenes() {
        let parent = parent(&scene, "overlay", "dirty");
        for name in ["first", "second"] {
            parent.write(name, "0");
        }
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| count_up(&parent, &is_done));
            for number in 0..6 {
                let name = format!("child-{number}");
                let words = ["create", &name, "--carry", "dirty", "--backend", "overlay"];
                assert_instant(&scene.fwt().run(&parent.root, words));
            }
            is_done.store(true, Ordering::Relaxed);
        });
        fork(&scene, "calm", &parent, &["--carry", "dirty", "--backend", "overlay"]);
        assert_eq!(doctor(&scene), []);
    }
}

/// What a parent stands on stays as long as a child of it does.
#[test]
fn the_layers_of_a_child_are_not_evicted() {
    for scene in overlay_scenes() {
        configure(&scene, "[sealed]\nmax_age = '0s'\n");
        let parent = parent(&scene, "overlay", "dirty");
        work_in(&parent);
        let child = fork(&scene, "child", &parent, &["--carry", "dirty", "--backend", "overlay"]);
        let before = Snapshot::of(&child.root);
        scene.fwt().run(scene.root(), ["rm", "parent", "--discard"]).success();
        let_a_second_pass();
        assert_eq!(doctor(&scene), []);
        Snapshot::of(&child.root).assert_same(&before, Detail::Full, "after an eviction");
        scene.fwt().run(scene.root(), ["rm", "child", "--discard"]).success();
        let_a_second_pass();
        assert_eq!(doctor(&scene), []);
        assert!(sealed(&scene).is_empty());
        scene.assert_nothing("at the end");
    }
}

/// The same work in a repository that is much larger: not a call more for what did not change.
#[test]
fn a_fork_costs_what_was_changed() {
    let calls = |files: usize, carry: &str| -> Option<u64> {
        let scene = overlay_scenes().into_iter().next()?;
        for number in 0..files {
            scene.source.write(format!("large/{}/{number}", number % 20), "bytes\n");
        }
        let parent = parent(&scene, "overlay", "dirty");
        work_in(&parent);
        let words = ["create", "child", "--carry", carry, "--backend", "overlay"];
        // The first may find something out that the next one knows.
        scene.fwt().run(&parent.root, words).success();
        scene.fwt().run(&parent.root, ["rm", "child"]).success();
        Some(count(&scene.sandbox.fwt_with_faults(), &parent.root, &words))
    };
    for carry in ["dirty", "all"] {
        let (Some(small), Some(large)) = (calls(20, carry), calls(1000, carry)) else { return };
        assert!(large < small + 20, "{carry}: {small} calls, and {large} where there is more");
    }
}
