//! Many at once, and others at work on the source, in every way of making.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use fwt_tests::snapshot::Detail;
use fwt_tests::{Filesystem, Repository, Sandbox, Snapshot};

use super::beside;
use super::creates::at_once;
use super::source::assert_clean_is_clean;
use crate::leftovers::id_of;
use crate::scene::Scene;
use crate::ways::{Way, spoil, with_mounted};

const WAYS: [Way; 4] = [
    Way::new("clean", "linked", "copy"),
    Way::new("dirty", "linked", "copy"),
    Way::new("clean", "standalone", "copy"),
    Way::new("dirty", "standalone", "copy"),
];

fn ways() -> Vec<Way> {
    with_mounted(&WAYS)
}

/// 32 at once, of any way, each on a branch of its own.
fn many_at_once(scene: &Scene, ways: &[Way]) {
    const COUNT: usize = 32;
    spoil(&scene.source);
    let before = scene.state();
    let answers = at_once(COUNT, |number| {
        let (name, branch) = (format!("t{number}"), format!("made/{number}"));
        let mut words = ways[number % ways.len()].arguments_for(&name);
        words.extend(["--branch", &branch]);
        scene.fwt().run(scene.root(), words)
    });
    before.assert_unchanged("32 at once");
    let ids: HashSet<String> = answers.iter().map(|answer| id_of(&answer.success())).collect();
    assert_eq!(ids.len(), COUNT);
    for (number, answer) in answers.iter().enumerate() {
        let way = ways[number % ways.len()];
        let tree = scene.sandbox.existing(answer.json()["path"].as_str().expect("it is text"));
        let branch = tree.git(["branch", "--show-current"]);
        assert_eq!(branch, format!("made/{number}"));
        assert_eq!(answer.json()["carry"], way.carry);
        tree.git(["checkout", "--quiet", "--detach"]);
        way.assert_whole(scene, &tree, &format!("tree {number} of 32"));
    }
    let config = scene.source.git(["config", "--local", "--list"]);
    assert!(!config.contains("branch."), "no upstream is set: {config}");
    let answers =
        at_once(COUNT, |number| scene.fwt().run(scene.root(), ["rm", &format!("t{number}")]));
    for answer in answers {
        answer.success();
    }
    scene.assert_nothing("at the end");
    scene.assert_sound();
}

#[test]
fn case_b42_many_creates_of_every_way() {
    many_at_once(&Scene::in_memory(), &ways());
}

#[test]
fn case_b42_many_creates_that_share_bytes() {
    let Some(sandbox) = Sandbox::on(Filesystem::Xfs) else { return };
    let ways = WAYS.map(|way| Way { backend: "reflink", ..way });
    many_at_once(&Scene::within(sandbox), &ways);
}

#[test]
fn case_b42_many_creates_of_snapshots() {
    let Some(sandbox) = Sandbox::on(Filesystem::Btrfs) else { return };
    let ways = WAYS.map(|way| Way { backend: "btrfs", ..way });
    many_at_once(&Scene::within(sandbox), &ways);
}

#[test]
fn case_b42_many_creates_of_one_name_in_every_way() {
    let scene = Scene::in_memory();
    spoil(&scene.source);
    for way in ways() {
        let answers = at_once(8, |_| scene.fwt().run(scene.root(), way.arguments()));
        let (won, lost): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer.code == Some(0));
        assert_eq!(won.len(), 1, "{way:?}");
        for answer in lost {
            assert_eq!(answer.code, Some(4), "{answer}");
        }
        let tree = scene.sandbox.existing(won[0].json()["path"].as_str().expect("it is text"));
        way.assert_whole(&scene, &tree, "one name");
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing("one name");
    }
}

/// Makes trees of each way, over and over, while something else is at work on the source.
fn beside_work(
    scene: &Scene,
    disturb: impl Fn(usize) + Send + Sync,
    check: impl Fn(Way, &Repository, &str),
) {
    const ROUNDS: usize = 6;
    beside(&disturb, || {
        for round in 0..ROUNDS {
            for way in ways() {
                let when = format!("{way:?} in round {round}");
                let made = scene.fwt().run(scene.root(), way.arguments());
                assert_eq!(made.code, Some(0), "{when}: {made}");
                let path = made.json()["path"].as_str().expect("it is text").to_owned();
                let tree = scene.sandbox.existing(path);
                let commit = made.json()["base"]["commit"].as_str().expect("it is text").to_owned();
                assert_eq!(tree.commit_of("HEAD"), commit, "{when}");
                check(way, &tree, &when);
                if !way.is_linked() {
                    tree.git(["fsck", "--no-progress", "--no-dangling"]);
                }
                scene.fwt().run(scene.root(), ["rm", "--discard", "t"]).success();
            }
        }
    });
    scene.assert_nothing("at the end");
    scene.assert_sound();
}

/// A source with so many committed files that a create takes its time.
fn many_files() -> Scene {
    let scene = Scene::in_memory();
    for number in 0..200 {
        scene.source.write(format!("many/{}/{number}", number % 9), format!("{number}\n"));
    }
    scene.source.commit("many");
    scene.source.settle();
    scene
}

/// Objects move from loose ones into packs, and from packs into others.
#[test]
fn case_g1_every_way_beside_housekeeping() {
    let scene = many_files();
    spoil(&scene.source);
    let is_not_ignored = |path: &Path| {
        !path.starts_with(".git") && !path.starts_with("target") && !path.ends_with("a.log")
            || path.ends_with(".gitignore")
    };
    let expected = Snapshot::filtered(scene.root(), is_not_ignored);
    let disturb = |round: usize| {
        let path = format!("target/{}", round % 7);
        scene.source.write(&path, format!("{round}\n"));
        scene.source.git(["hash-object", "-w", &path]);
        let words: &[&str] = match round % 3 {
            0 => &["-c", "gc.worktreePruneExpire=now", "gc", "--quiet", "--prune=now"],
            1 => &["repack", "-a", "-d", "--quiet", "--write-midx"],
            _ => &["pack-refs", "--all"],
        };
        // git itself fails if a worktree it has seen is removed before it has looked into it.
        drop(scene.source.command(words).output().expect("git runs"));
    };
    beside_work(&scene, disturb, |way, tree, when| {
        let found = match way.carry {
            "clean" => return assert_eq!(tree.git(["status", "--porcelain"]), "", "{when}"),
            "dirty" => Snapshot::of(&tree.root),
            _ => Snapshot::filtered(&tree.root, is_not_ignored),
        };
        found.assert_same(&expected, Detail::Full, when);
    });
}

/// HEAD moves on: a tree is at the commit that its answer names, and carries nothing that was not there.
#[test]
fn case_g1_every_way_beside_commits() {
    let scene = many_files();
    let disturb = |round: usize| {
        scene.source.write(format!("many/0/{}", round % 5 * 9), format!("version {round}\n"));
        let words = ["commit", "--quiet", "--all", "--allow-empty", "--message", "more"];
        scene.source.git(words);
    };
    beside_work(&scene, disturb, |way, tree, when| {
        if way.carry == "clean" {
            assert_eq!(tree.git(["status", "--porcelain"]), "", "{when}");
        }
        assert_clean_is_clean(tree);
    });
}

/// A build makes, replaces and deletes ignored and untracked files, and touches tracked ones.
#[test]
fn case_g1_every_way_beside_a_build() {
    let scene = many_files();
    spoil(&scene.source);
    let disturb = |round: usize| {
        let path = |name: &str| scene.source.path(format!("target/{}/{name}", round % 5));
        scene.source.write(path("out"), vec![7; 1 << (round % 16)]);
        scene.source.write(path("out.tmp"), format!("{round}\n"));
        fs::rename(path("out.tmp"), path("out.done")).expect("they are ours");
        scene.source.write(format!("untracked/{}", round % 11), format!("{round}\n"));
        // By a rename, as editors and formatters write.
        scene.source.write("many/1/1.new", format!("{}\n", round % 2));
        let renamed = fs::rename(scene.source.path("many/1/1.new"), scene.source.path("many/1/1"));
        renamed.expect("they are ours");
        if round % 4 == 3 {
            fs::remove_dir_all(scene.source.path("target")).expect("it is ours");
            fs::remove_file(scene.source.path(format!("untracked/{}", round % 11)))
                .expect("it is there");
        }
        // Even a build takes its time.
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    beside_work(&scene, disturb, |way, tree, when| {
        if way.carry == "clean" {
            assert_eq!(tree.git(["status", "--porcelain"]), "", "{when}");
        } else {
            let file = fs::read_to_string(tree.path("file")).expect("it was carried");
            assert_eq!(file, "edited\n", "{when}");
        }
        assert_clean_is_clean(tree);
    });
}
