//! Names that mislead, and names that only look alike.

use std::collections::HashSet;

use fwt_tests::Answer;

use super::{assert_clean, refused};
use crate::scene::Scene;

#[test]
fn case_b45_unsafe_names() {
    let scene = Scene::anywhere();
    let long = "x".repeat(201);
    for name in ["", ".", "..", "../x", "a/../b", "/a", "a/", "a//b", "a\nb", "\u{7f}", &long] {
        refused(&scene, &[name], 2, "bad-name");
    }
    let mut command = scene.fwt().command(scene.root(), ["--json", "create", "--", "-x"]);
    assert_clean(&Answer::of(&mut command), 2, "bad-name");
    scene.assert_nothing("a name like a flag");
}

#[test]
fn case_b45_each_name_has_a_directory_and_is_found_by_every_verb() {
    let scene = Scene::anywhere();
    let fwt = scene.fwt();
    let long = "y".repeat(200);
    let names = [
        "a/b", "a-b", "A-B", "a b", "\u{fc}", "u\u{308}", "a", "A", "...", "$x", "'", "*", "@{1}",
        "a.lock", &long,
    ];
    let mut places = HashSet::new();
    for name in names {
        let made = fwt.create(scene.root(), &[name]);
        assert_eq!(made.json["name"], name);
        let path = made.path();
        assert!(path.is_dir(), "{name}");
        // Some file systems fold case and Unicode forms: the directories differ even so.
        assert!(places.insert(path.to_str().expect("it is text").to_lowercase()), "{name}");
    }
    assert!(places.iter().all(|path| path.is_ascii()), "{places:?}");
    let listed: HashSet<String> = fwt
        .list_all(scene.root())
        .iter()
        .map(|row| row["name"].as_str().expect("it is text").to_owned())
        .collect();
    assert_eq!(listed, names.map(str::to_owned).into());
    for name in names {
        fwt.run(scene.root(), ["create", name]).failure(4, "name-taken");
        assert_eq!(fwt.run(scene.root(), ["show", name]).success()["name"], name);
        assert_eq!(fwt.run(scene.root(), ["rm", name]).success()["name"], name);
    }
    scene.assert_nothing("at the end");
}

#[test]
fn case_b45_branches_are_called_as_was_asked() {
    let scene = Scene::anywhere();
    for branch in ["a/b", "A-B", "\u{fc}", "u\u{308}"] {
        let tree = scene.create(&["--branch", branch]);
        assert_eq!(tree.git(["symbolic-ref", "--short", "HEAD"]), branch);
    }
}

#[test]
fn case_b45_a_source_with_an_odd_path() {
    let scene = Scene::anywhere();
    let fwt = scene.fwt();
    for (number, path) in ["a b", "a\nb", "-x", "'\"$(x)", "\u{fc}:\\"].iter().enumerate() {
        let source = scene.sandbox.repository(path);
        source.write("file", "one\n");
        source.commit("one");
        let name = format!("t{number}");
        let made = fwt.create(&source.root, &[&name, "--branch", "made"]);
        assert_eq!(made.json["source"], source.root.to_str().expect("it is text"));
        let tree = scene.sandbox.existing(made.path());
        assert_eq!(tree.git(["status", "--porcelain"]), "", "{path:?}");
        // Here, and from where nothing but the name says which repository is meant.
        fwt.run(&source.root, ["show", &name]).success();
        fwt.run(&scene.sandbox.path(""), ["rm", &name]).success();
    }
}
