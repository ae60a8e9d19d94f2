//! `--owner`: a tree that root makes for somebody else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use fwt_tests::environment::succeed;
use fwt_tests::{Answer, Repository};

use crate::mount::is_root;
use crate::scene::Scene;

/// Somebody who owns nothing else.
const UID: u32 = 61_235;
const OWNER: &str = "61235:61235";

/// A scene that others may look into; `None`, said, for who may give nothing away.
#[expect(clippy::print_stderr, reason = "a skipped test says what it lacks")]
fn open_scene() -> Option<Scene> {
    if !is_root() {
        eprintln!("skipped: only root can give files away");
        return None;
    }
    let scene = Scene::anywhere();
    let root = scene.sandbox.path("");
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).expect("it is ours");
    Some(scene)
}

/// git as the one whom the tree is for, in a home of their own.
fn git_as_owner(scene: &Scene, tree: &Path, arguments: &[&str]) -> String {
    let mut command = scene.sandbox.command("git");
    command.current_dir(tree).env("HOME", scene.sandbox.path("nobody")).uid(UID).gid(UID);
    let output = succeed(
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments),
    );
    String::from_utf8(output.stdout).expect("git says text")
}

fn assert_given(tree: &Path) {
    let mut pending = vec![tree.to_owned()];
    while let Some(path) = pending.pop() {
        let found = fs::symlink_metadata(&path).expect("it was listed");
        let is_fwts_own = path
            .extension()
            .is_some_and(|_| ["fwt.json", "fwt.manifest"].iter().any(|name| path.ends_with(name)));
        let expected = if is_fwts_own { 0 } else { UID };
        assert_eq!((found.uid(), found.gid()), (expected, expected), "{}", path.display());
        if found.is_dir() {
            pending.extend(
                fs::read_dir(&path).expect("ours").map(|entry| entry.expect("ours").path()),
            );
        }
    }
}

fn create(scene: &Scene, name: &str, more: &[&str]) -> PathBuf {
    let at = scene.sandbox.path(name);
    let at = at.to_string_lossy();
    let mut arguments = vec![name, "--owner", OWNER, "--at", &at];
    arguments.extend(more);
    scene.fwt().create(scene.root(), &arguments).path()
}

#[test]
fn a_tree_is_given_away_whole_and_git_finds_it_clean() {
    let Some(scene) = open_scene() else { return };
    scene.source.chmod("dir/script", 0o4755);
    let before = scene.state();
    let linked = create(&scene, "linked", &[]);
    before.assert_unchanged("after it was given away");
    assert_given(&linked);
    assert_eq!(git_as_owner(&scene, &linked, &["status", "--porcelain"]), "");
    // Nothing is compared again.
    let changed = git_as_owner(&scene, &linked, &["diff-files", "--name-only"]);
    assert_eq!(changed, "");
    let carried = {
        scene.source.write("file", "edited\n");
        scene.source.write("untracked", "new\n");
        create(&scene, "carried", &["--carry", "dirty"])
    };
    assert_given(&carried);
    let status = git_as_owner(&scene, &carried, &["status", "--porcelain"]);
    assert_eq!(status, " M file\n?? untracked\n");
    for name in ["linked", "carried"] {
        scene.fwt().run(scene.root(), ["rm", name]).success();
    }
    scene.assert_nothing("after the removals");
}

#[test]
fn in_a_standalone_tree_its_owner_can_commit() {
    let Some(scene) = open_scene() else { return };
    let tree = create(&scene, "own", &["--mode", "standalone"]);
    assert_given(&tree);
    fs::write(tree.join("file"), "theirs\n").expect("root may");
    git_as_owner(&scene, &tree, &["commit", "--quiet", "--all", "--message", "theirs"]);
    // Their commits are nowhere else.
    scene.fwt().run(scene.root(), ["rm", "own"]).failure(4, "unsaved-work");
    scene.fwt().run(scene.root(), ["rm", "own", "--discard"]).success();
}

#[test]
fn hooks_run_as_the_owner() {
    let Some(scene) = open_scene() else { return };
    let log = scene.sandbox.path("log");
    fs::write(&log, "").expect("it is ours");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o666)).expect("it is ours");
    let command = format!("id -u >> '{0}'; id -G >> '{0}'", log.display());
    let text = format!("[hooks]\nsetup = \"{command}\"\ncleanup = \"{command}\"\n");
    scene.source.write("fwt.toml", text);
    scene.fwt().run(scene.root(), ["trust"]).success();
    create(&scene, "hooked", &[]);
    scene.fwt().run(scene.root(), ["rm", "hooked"]).success();
    assert_eq!(fs::read_to_string(&log).unwrap(), format!("{UID}\n{UID}\n").repeat(2));
}

#[test]
fn a_plain_directory_can_be_given_away() {
    let Some(scene) = open_scene() else { return };
    let plain = scene.sandbox.path("plain");
    fs::create_dir_all(plain.join("below")).expect("it is ours");
    fs::write(plain.join("below/file"), "bytes\n").expect("it is ours");
    let at = scene.sandbox.path("copy");
    let arguments = ["--carry", "all", "--owner", OWNER, "--at", &at.to_string_lossy()];
    let made = scene.fwt().create(&plain, &arguments);
    assert_given(&at);
    scene.fwt().run(&plain, ["rm", made.id()]).success();
}

#[test]
fn who_may_give_nothing_away_is_told_so() {
    let scene = Scene::anywhere();
    if !is_root() {
        let before = scene.state();
        let answer = scene.fwt().run(scene.root(), ["create", "t", "--owner", "0:0"]);
        let error = answer.failure(5, "permission-denied");
        assert!(error["message"].to_string().contains("user 0"), "{error}");
        before.assert_unchanged("after the refusal");
        scene.assert_nothing("after the refusal");
        return;
    }
    // Root, to whom everybody is allowed: as somebody who is not.
    let root = scene.sandbox.path("");
    succeed(scene.sandbox.command("chown").args(["-R", OWNER]).arg(&root));
    let fwt = scene.fwt();
    let mut command = fwt.command(scene.root(), ["create", "t", "--owner", "0:0", "--json"]);
    let answer = Answer::of(command.uid(UID).gid(UID));
    answer.failure(5, "permission-denied");
    let tree = Repository::at(&scene.sandbox.home(), scene.root());
    assert_eq!(tree.git(["worktree", "list"]).lines().count(), 1);
}
