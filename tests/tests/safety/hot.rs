//! Over a sealed tree a worktree is made, and removed, without another program. Whatever is unusual goes
//! to git, and comes out the same.

use std::time::Duration;
use std::{fs, thread};

use fwt_tests::environment::succeed;
use fwt_tests::{Filesystem, Repository, Sandbox};

use crate::mount::can_mount;
use crate::scene::Scene;

/// What git reads is relied on once it is older than this.
const SETTLED: Duration = Duration::from_millis(3100);

/// A scene that overlays can be on; none where nothing can be mounted.
fn scene() -> Option<Scene> {
    let sandbox = || Filesystem::ROOMY.into_iter().find_map(Sandbox::on);
    if can_mount() { sandbox().map(Scene::within) } else { None }
}

/// Seals what HEAD is at, and has everything that can be remembered, remembered.
fn warm_up(scene: &Scene) {
    thread::sleep(SETTLED);
    for _ in 0..2 {
        create(scene, "warm");
        scene.fwt().run(scene.root(), ["rm", "warm"]).success();
    }
}

fn create(scene: &Scene, name: &str) -> Repository {
    scene.create(&[name, "--backend", "overlay"])
}

/// Runs `fwt` with these arguments, which must succeed, and counts the programs that it started.
fn programs(scene: &Scene, arguments: &[&str]) -> usize {
    let log = scene.sandbox.path("programs");
    let command = scene.fwt().command(scene.root(), arguments);
    let mut traced = scene.sandbox.command("strace");
    traced.args(["-f", "-qq", "-e", "trace=execve", "-o"]).arg(&log).arg("--");
    traced.arg(command.get_program()).args(command.get_args()).current_dir(scene.root());
    for (name, value) in command.get_envs() {
        traced.env(name, value.unwrap_or_default());
    }
    succeed(&mut traced);
    let text = fs::read_to_string(&log).expect("strace writes its log");
    let started = text.lines().filter(|line| line.contains("execve(") && line.ends_with("= 0"));
    // The first is fwt itself.
    started.count() - 1
}

/// Creates and removes a worktree without another program, and looks at it in between.
#[track_caller]
fn assert_alone(scene: &Scene, what: &str) {
    let arguments = ["create", "tree", "--backend", "overlay"];
    assert_eq!(programs(scene, &arguments), 0, "create {what}");
    let rows = scene.fwt().list_all(scene.root());
    let tree = scene.sandbox.existing(rows[0]["path"].as_str().expect("a path"));
    assert_eq!(tree.commit_of("HEAD"), scene.source.commit_of("HEAD"), "{what}");
    assert_eq!(tree.git(["diff-files", "--name-only"]), "", "{what}");
    assert_eq!(programs(scene, &["rm", "tree"]), 0, "rm {what}");
}

#[test]
fn no_program_is_started_over_a_sealed_tree() {
    let Some(scene) = scene() else { return };
    warm_up(&scene);
    assert_alone(&scene, "on a branch");
    scene.source.git(["pack-refs", "--all"]);
    assert_alone(&scene, "on a packed branch");
    scene.source.git(["checkout", "--quiet", "--detach"]);
    assert_alone(&scene, "detached");
    let before = scene.state();
    assert_alone(&scene, "again");
    before.assert_unchanged("after a tree came and went");
}

/// What somebody does in a tree.
type Work = fn(&Repository);

/// What an agent leaves there that nobody misses needs no git either, and what somebody may miss is kept.
#[test]
fn a_tree_that_was_worked_in_is_judged_as_by_git() {
    let Some(scene) = scene() else { return };
    warm_up(&scene);
    let kept = |what: &str| {
        scene.fwt().run(scene.root(), ["rm", "tree"]).failure(4, "unsaved-work");
        scene.fwt().run(scene.root(), ["rm", "tree", "--discard"]).success();
        scene.assert_nothing(what);
    };
    let tree = create(&scene, "tree");
    tree.write("target/debug/output", "made again");
    assert_eq!(programs(&scene, &["rm", "tree"]), 0);
    let works: &[(&str, Work)] = &[
        ("a staged file", |tree| {
            tree.write("file", "staged\n");
            tree.git(["add", "file"]);
            tree.write("file", "one\n");
        }),
        ("a staged removal", |tree| {
            tree.git(["rm", "--quiet", "--cached", "file"]);
        }),
        ("a staged file that is ignored", |tree| {
            tree.write("target/output", "staged\n");
            tree.git(["add", "--force", "target/output"]);
        }),
        ("a tracked file", |tree| tree.write("file", "other\n")),
        ("a file that is not tracked", |tree| tree.write("dir/new", "new\n")),
        ("a tracked file that is gone", |tree| {
            fs::remove_file(tree.path("file")).expect("it is tracked");
        }),
        ("a commit", |tree| {
            tree.write("file", "committed\n");
            tree.commit("on no branch");
        }),
        ("a commit that HEAD has left", |tree| {
            tree.write("file", "committed\n");
            tree.commit("on no branch");
            tree.git(["checkout", "--quiet", "--detach", "HEAD~1"]);
        }),
    ];
    for (what, work) in works {
        let tree = create(&scene, "tree");
        work(&tree);
        kept(what);
    }
    // On a branch that stays it is safe.
    let tree = create(&scene, "tree");
    tree.git(["checkout", "--quiet", "-b", "kept"]);
    tree.write("file", "committed\n");
    tree.commit("on a branch");
    scene.fwt().run(scene.root(), ["rm", "tree"]).success();
    scene.assert_nothing("on a branch");
}

/// Each is something that only git can answer, or that it may answer differently than before.
#[test]
fn what_is_unusual_is_what_git_says() {
    let Some(scene) = scene() else { return };
    warm_up(&scene);
    let check = |what: &str| {
        let tree = create(&scene, "tree");
        assert_eq!(tree.commit_of("HEAD"), scene.source.commit_of("HEAD"), "{what}");
        assert_eq!(tree.git(["status", "--porcelain"]), "", "{what}");
        scene.fwt().run(scene.root(), ["rm", "tree"]).success();
    };
    scene.source.git(["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    scene.source.git(["symbolic-ref", "HEAD", "refs/heads/alias"]);
    check("a branch that stands for another");
    scene.source.git(["checkout", "--quiet", "main"]);
    scene.source.git(["config", "extensions.worktreeConfig", "true"]);
    scene.source.git(["config", "--worktree", "core.abbrev", "12"]);
    check("configuration of a worktree's own");
    scene.source.git(["config", "includeIf.onbranch:main.path", "../elsewhere"]);
    check("configuration that depends on the branch");
    // The bytes of a checkout follow the configuration of this very moment.
    for (value, expected) in [("crlf", "one\r\n"), ("lf", "one\n")] {
        scene.source.write(".gitattributes", "file text\n");
        scene.source.git(["config", "core.eol", value]);
        scene.source.git(["add", "--all"]);
        scene.source.git(["commit", "--quiet", "--allow-empty", "--message", value]);
        let tree = create(&scene, "tree");
        assert_eq!(fs::read_to_string(tree.path("file")).expect("tracked"), expected);
        scene.fwt().run(scene.root(), ["rm", "tree"]).success();
    }
    let head = scene.source.path(".git/HEAD");
    let sound = fs::read(&head).expect("it is there");
    fs::write(&head, "nonsense\n").expect("it is ours");
    let answer = scene.fwt().run(scene.root(), ["create", "--backend", "overlay"]);
    assert_ne!(answer.code, Some(0), "{answer}");
    fs::write(&head, sound).expect("it is ours");
    scene.assert_nothing("after a HEAD that was broken");
}

/// A commit that is not there is refused, whatever has read HEAD.
#[test]
fn a_head_without_its_commit_is_refused() {
    let scene = Scene::anywhere();
    let missing = "0123456789abcdef0123456789abcdef01234567\n";
    fs::write(scene.source.path(".git/HEAD"), missing).expect("it is ours");
    for backend in ["overlay", "copy", "checkout"] {
        let answer = scene.fwt().run(scene.root(), ["create", "--backend", backend]);
        assert_ne!(answer.code, Some(0), "{answer}");
    }
    for carry in ["dirty", "all"] {
        let answer = scene.fwt().run(scene.root(), ["create", "--carry", carry]);
        answer.failure(5, "unborn-head");
    }
    scene.assert_nothing("after the refusals");
}
