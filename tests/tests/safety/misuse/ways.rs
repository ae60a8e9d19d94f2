//! What is refused is refused in every way of making a worktree, with nothing left of the attempt.

use std::fs;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Filesystem, Sandbox, Snapshot};

use super::{assert_clean, refused};
use crate::mount::{Bind, can_mount, is_root};
use crate::scene::Scene;
use crate::ways::{Way, spoil, with_mounted};

const WAYS: [Way; 4] = [
    Way::new("dirty", "linked", "copy"),
    Way::new("all", "linked", "copy"),
    Way::new("clean", "standalone", "checkout"),
    Way::new("dirty", "standalone", "copy"),
];

fn ways() -> Vec<Way> {
    with_mounted(&WAYS)
}

/// A scene with work in its source.
fn spoiled() -> Scene {
    let scene = Scene::in_memory();
    spoil(&scene.source);
    scene
}

/// Panics unless each way is refused so.
#[track_caller]
fn refused_in_all(scene: &Scene, more: &[&str], exit: i32, code: &str) {
    for way in ways() {
        let words = [&way.arguments()[1..], more].concat();
        refused(scene, &words, exit, code);
    }
}

/// Panics unless each way works, with these arguments too, and goes away again.
#[track_caller]
fn works_in_all(scene: &Scene, more: &[&str]) {
    for way in ways() {
        let words = [&way.arguments()[..], more].concat();
        let made = scene.fwt().run(scene.root(), words).success();
        let tree = scene.sandbox.existing(made["path"].as_str().expect("it is text"));
        way.assert_whole(scene, &tree, &format!("{way:?} {more:?}"));
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing(&format!("{way:?} {more:?}"));
    }
}

#[test]
fn case_g3_what_is_at_the_destination_stays_in_every_way() {
    let scene = spoiled();
    let taken = scene.sandbox.repository("taken");
    taken.write("file", "mine");
    taken.write("full/file", "mine");
    fs::create_dir(taken.path("empty")).expect("the sandbox is ours");
    taken.link("dangling", "nowhere");
    taken.link("to-empty", "empty");
    let before = Snapshot::of(&taken.root);
    for name in ["file", "full", "empty", "dangling", "to-empty", "file/t", "dangling/t"] {
        let at = taken.path(name);
        let at = at.to_str().expect("it is text");
        refused_in_all(&scene, &["--at", at], 4, "destination-exists");
        Snapshot::of(&taken.root).assert_same(&before, Detail::Full, name);
    }
}

#[test]
fn case_b53_never_inside_the_source_in_any_way() {
    let scene = spoiled();
    scene.source.link("../way-in", "src/dir");
    for at in ["t", "dir/t", "target/t", ".git/t", "../way-in/t"] {
        refused_in_all(&scene, &["--at", at], 2, "destination-inside-source");
    }
    // Nor inside the repository of a source whose files are elsewhere.
    let linked = scene.source.reference(&scene.sandbox.path("linked"), "HEAD");
    for way in ways() {
        let at = scene.common_dir.join("t");
        let words = [&way.arguments()[..], &["--at", at.to_str().expect("it is text")]].concat();
        let answer = scene.fwt().run(&linked.root, words);
        assert_clean(&answer, 2, "destination-inside-source");
        assert!(!at.exists());
    }
}

#[test]
fn no_such_revision_name_or_branch_in_any_way() {
    let scene = spoiled();
    for rev in ["nothing", "-x", "", "HEAD~5", "HEAD:file"] {
        refused_in_all(&scene, &[&format!("--rev={rev}")], 3, "no-such-revision");
    }
    for branch in ["-x", "a..b", "a b", "", "a.lock"] {
        refused_in_all(&scene, &[&format!("--branch={branch}")], 2, "bad-name");
    }
    for way in ways() {
        for name in ["", "..", "../x", "a\nb", "/a"] {
            refused(&scene, &way.arguments_for(name)[1..], 2, "bad-name");
        }
    }
}

#[test]
fn case_b42_branches_that_are_in_the_way_in_every_way() {
    let scene = spoiled();
    for branch in ["there", "a", "b/c"] {
        scene.source.git(["branch", branch]);
    }
    for branch in ["there", "main", "a/b", "b"] {
        refused_in_all(&scene, &["--branch", branch], 4, "branch-exists");
    }
    // Packed, they are no files any more.
    scene.source.git(["pack-refs", "--all"]);
    for branch in ["there", "a/b", "b"] {
        refused_in_all(&scene, &["--branch", branch], 4, "branch-exists");
    }
}

#[test]
fn a_branch_that_is_checked_out_elsewhere() {
    let scene = spoiled();
    scene.source.git(["worktree", "add", "--quiet", "-b", "busy", "../busy"]);
    let before = scene.state();
    for way in ways() {
        let words = [&way.arguments()[..], &["--branch", "busy"]].concat();
        let answer = scene.fwt().run(scene.root(), words);
        assert_clean(&answer, 4, "branch-exists");
        assert!(answer.to_string().contains("busy"), "{answer}");
        before.assert_unchanged("a branch that is checked out elsewhere");
        assert_eq!(scene.fwt().list_all(scene.root()), Vec::<serde_json::Value>::new());
    }
    scene.source.git(["worktree", "remove", "../busy"]);
    scene.assert_nothing("a branch that is checked out elsewhere");
}

#[test]
fn a_name_that_is_taken_in_every_way() {
    let scene = spoiled();
    let first = scene.create(&["t"]);
    let before = Snapshot::of(&first.root);
    for way in ways() {
        let answer = scene.fwt().run(scene.root(), way.arguments());
        assert_clean(&answer, 4, "name-taken");
        assert_eq!(scene.fwt().list_all(scene.root()).len(), 1);
    }
    Snapshot::of(&first.root).assert_same(&before, Detail::Full, "the first tree");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("at the end");
}

#[test]
fn a_read_only_destination_in_every_way() {
    if !can_mount() {
        return;
    }
    let scene = spoiled();
    let place = scene.sandbox.path("place");
    fs::create_dir(&place).expect("the sandbox is ours");
    let bind = Bind::read_only(&place);
    refused_in_all(&scene, &["--at", "../place/t"], 5, "read-only");
    refused_in_all(&scene, &["--at", "../place/a/b/t"], 5, "read-only");
    drop(bind);
    works_in_all(&scene, &["--at", "../place/t"]);
}

/// A tree with a repository of its own asks nothing of its source but to be read.
#[test]
fn a_read_only_source_in_every_way() {
    if !can_mount() {
        return;
    }
    let scene = spoiled();
    let before = scene.state();
    let bind = Bind::read_only(scene.root());
    for way in ways() {
        let answer = scene.fwt().run(scene.root(), way.arguments());
        if way.is_linked() {
            assert_clean(&answer, 5, "read-only");
        } else {
            let made = answer.success();
            let tree = scene.sandbox.existing(made["path"].as_str().expect("it is text"));
            assert_eq!(tree.commit_of("HEAD"), scene.source.commit_of("HEAD"));
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
        }
    }
    drop(bind);
    before.assert_unchanged("read-only");
    scene.assert_nothing("at the end");
}

/// What is mounted in a source is not the source's: it does not come, that is said, and the tree can go again.
#[test]
fn case_b11_what_is_mounted_in_the_source_does_not_come() {
    if !can_mount() {
        return;
    }
    let scene = spoiled();
    let alien = scene.sandbox.path("alien");
    fs::create_dir(&alien).expect("the sandbox is ours");
    fs::write(alien.join("alien"), "elsewhere").expect("it is ours");
    fs::create_dir(scene.source.path("target/mounted")).expect("the source is ours");
    // Over something tracked, and over something ignored.
    let places = ["dir", "target/mounted"];
    let binds = places.map(|place| Bind::new(&alien, &scene.source.path(place)));
    let before = Snapshot::of(&alien);
    let clean = Way::new("clean", "linked", "overlay");
    for way in ways().into_iter().chain([clean]) {
        let made = scene.fwt().run(scene.root(), way.arguments()).success();
        let tree = scene.sandbox.existing(made["path"].as_str().expect("it is text"));
        let is_said = |place: &str| {
            let skipped = made["skipped"].as_array().expect("a list").iter();
            skipped.filter(|one| one["reason"] == "mount").any(|one| one["path"] == place)
        };
        match way.carry {
            "clean" => assert_eq!(tree.git(["status", "--porcelain"]), "", "{way:?}"),
            _ => assert!(is_said("dir") && !tree.path("dir").exists(), "{way:?}: {made}"),
        }
        assert_eq!(is_said("target/mounted"), way.carry == "all", "{way:?}: {made}");
        assert!(!tree.path("target/mounted").exists() && !tree.path("dir/alien").exists());
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing(&format!("{way:?}"));
        Snapshot::of(&alien).assert_same(&before, Detail::Full, "what is mounted");
    }
    drop(binds);
    works_in_all(&scene, &[]);
}

/// What is carried is too large; and then what a repository of its own takes.
#[test]
fn case_b47_a_full_file_system_in_every_way() {
    const BIG_BYTES: usize = 24 << 20;
    let Some(room) = Sandbox::on(Filesystem::Full) else { return };
    let scene = spoiled();
    let mut reader = blake3::Hasher::new().update(b"noise").finalize_xof();
    let mut noise = vec![0; BIG_BYTES];
    reader.fill(&mut noise);
    scene.source.write("untracked/big", &noise);
    let at = room.path("there/t");
    let at = at.to_str().expect("it is text");
    let filler = room.path("filler");
    let check = |ways: &[Way]| {
        let before = scene.state();
        super::fill(&filler, 6 << 20);
        for way in ways {
            let words = [&way.arguments()[..], &["--branch", "made", "--at", at]].concat();
            assert_clean(&scene.fwt().run(scene.root(), words), 6, "no-space");
            before.assert_unchanged(&format!("{way:?}"));
            scene.assert_nothing(&format!("{way:?}"));
            let names = fs::read_dir(room.path("")).expect("it is ours").count();
            assert_eq!(names, 2, "{way:?}: something but home and filler is there");
        }
        fs::remove_file(&filler).expect("it is ours");
    };
    check(&[WAYS[0], WAYS[1], WAYS[3]]);
    // Into the objects, of which a repository of its own gets a copy.
    scene.source.git(["config", "core.compression", "0"]);
    scene.source.git(["add", "untracked/big"]);
    check(&[WAYS[2]]);
    // Once there is room, the same works.
    scene.source.git(["rm", "--quiet", "--cached", "untracked/big"]);
    fs::remove_file(scene.source.path("untracked/big")).expect("it is there");
    works_in_all(&scene, &["--at", at]);
}

#[test]
fn a_source_of_another_owner_in_every_way() {
    if !is_root() {
        return;
    }
    let scene = Scene::in_memory();
    // The sandbox's own configuration trusts every directory.
    let config = scene.sandbox.home().join(".gitconfig");
    fs::write(config, "[user]\n\tname = a\n\temail = a@example.org\n").expect("it is ours");
    let chown = |owner| {
        for path in [scene.root(), &scene.common_dir] {
            std::os::unix::fs::chown(path, Some(owner), Some(owner)).expect("root may");
        }
    };
    chown(12_345);
    let answers = WAYS.map(|way| scene.fwt().run(scene.root(), way.arguments()));
    chown(0);
    for answer in answers {
        assert_clean(&answer, 5, "another-owner");
    }
    scene.assert_nothing("another owner");
}

#[test]
fn relative_paths_count_from_where_one_is_in_every_way() {
    let scene = spoiled();
    for way in ways() {
        for (directory, source, at) in [
            ("src/dir", ".", "../../t"),
            ("", "src", "./t"),
            ("home", "../src/dir", "../home/../t"),
        ] {
            let words = [&way.arguments()[..], &["--source", source, "--at", at]].concat();
            let made = scene.fwt().run(&scene.sandbox.path(directory), words).success();
            assert_eq!(made["path"], scene.sandbox.path("t").to_str().expect("it is text"));
            let tree = scene.sandbox.existing("t");
            way.assert_whole(&scene, &tree, &format!("{way:?} in {directory}"));
            scene.fwt().run(&scene.sandbox.path(""), ["rm", "./t"]).success();
            scene.assert_nothing(&format!("{way:?} in {directory}"));
        }
    }
}
