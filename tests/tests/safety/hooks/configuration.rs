//! `fwt.toml`: which file counts, and for what.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{named, trusted};
use crate::scene::Scene;

#[test]
fn a_file_that_is_not_trusted_runs_nothing_and_says_so() {
    let scene = named("touch \"$HOME/ran\"", "touch \"$HOME/ran\"");
    let ran = scene.sandbox.home().join("ran");
    let made = scene.fwt().create(scene.root(), &["t"]);
    assert_eq!(made.json["hooks"][0]["outcome"], "not-trusted", "{}", made.json);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    assert!(!ran.exists());

    // From anywhere in the source; and a changed file is another file.
    scene.fwt().run(&scene.source.path("dir"), ["trust"]).success();
    scene.fwt().create(scene.root(), &["t"]);
    assert!(ran.exists());
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    fs::remove_file(&ran).expect("it is there");
    scene.source.write("fwt.toml", "[hooks]\nsetup = 'touch \"$HOME/ran\" # changed'\n");
    scene.fwt().create(scene.root(), &["t"]);
    assert!(!ran.exists());
    scene.fwt().run(scene.root(), ["rm", "t"]).success();

    // Trust can be taken back.
    scene.fwt().run(scene.root(), ["trust"]).success();
    let revoked = scene.fwt().run(scene.root(), ["trust", "--revoke"]).success();
    assert_eq!(revoked["is_trusted"], false);
    scene.fwt().create(scene.root(), &["t"]);
    assert!(!ran.exists());
}

#[test]
fn another_repository_with_the_same_file_is_not_trusted() {
    let scene = trusted("touch \"$HOME/ran\"", "");
    let other = scene.sandbox.repository("other");
    other.write("fwt.toml", fs::read(scene.source.path("fwt.toml")).expect("it is there"));
    other.commit("hooks");
    scene.fwt().create(&other.root, &["t"]);
    assert!(!scene.sandbox.home().join("ran").exists());
}

#[test]
fn the_users_own_file_needs_no_trust_and_gives_way_to_the_sources() {
    let scene = trusted("", "echo source >> \"$HOME/log\"");
    let config = scene.sandbox.home().join(".config/fwt");
    fs::create_dir_all(&config).expect("the home is ours");
    let own =
        "[hooks]\nsetup = 'echo user >> \"$HOME/log\"'\ncleanup = 'echo wrong >> \"$HOME/log\"'";
    fs::write(config.join("fwt.toml"), own).expect("it is ours");
    scene.create(&["t"]);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    let log = fs::read_to_string(scene.sandbox.home().join("log")).expect("the hooks ran");
    assert_eq!(log, "user\nsource\n");
}

#[test]
fn a_store_is_chosen_by_the_user_and_must_be_private() {
    let scene = Scene::anywhere();
    let store = scene.sandbox.path("chosen");
    let text = format!("store = '{}'\n", store.display());
    scene.source.write("fwt.toml", &text);
    let made = scene.fwt().create(scene.root(), &["t"]);
    assert!(!made.path().starts_with(&store), "an untrusted file chose {}", made.path().display());
    scene.fwt().run(scene.root(), ["rm", "t"]).success();

    scene.fwt().run(scene.root(), ["trust"]).success();
    let made = scene.fwt().create(scene.root(), &["t"]);
    assert!(made.path().starts_with(&store), "{}", made.path().display());
    scene.fwt().run(scene.root(), ["rm", "t"]).success();

    fs::set_permissions(&store, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let error = scene.fwt().run(scene.root(), ["create", "t"]).failure(2, "bad-config");
    assert!(error["message"].to_string().contains("chosen"), "{error}");
}

#[test]
fn the_order_of_backends_is_the_configurations() {
    let scene = Scene::anywhere();
    scene.source.write("fwt.toml", "backends = ['checkout', 'copy']\n");
    let made = scene.fwt().create(scene.root(), &["t"]);
    assert_eq!(made.json["backend"], "checkout");
    assert!(made.passed_over().is_empty(), "{}", made.json);
    // What is asked for by name is used whatever the file says.
    scene.source.write("fwt.toml", "backends = ['checkout']\n");
    let made = scene.fwt().create(scene.root(), &["u", "--backend", "copy"]);
    assert_eq!(made.json["backend"], "copy");
}

#[test]
fn a_file_that_cannot_be_meant_stops_the_create() {
    let scene = Scene::anywhere();
    for text in ["[hooks]\nsetpu = 'x'\n", "backends = 7\n", "store = 'relative'\n", "\u{0}"] {
        scene.source.write("fwt.toml", text);
        let error = scene.fwt().run(scene.root(), ["create", "t"]).failure(2, "bad-config");
        assert!(error["message"].to_string().contains("fwt.toml"), "{error}");
        scene.assert_nothing(text);
    }
    fs::remove_file(scene.source.path("fwt.toml")).expect("it is there");
    scene.fwt().run(scene.root(), ["trust"]).failure(3, "no-such-source");
}
