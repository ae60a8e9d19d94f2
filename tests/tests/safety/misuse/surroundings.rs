//! The caller's environment, other programs' locks and the limits of the process, in every way of making.

use std::process::{Command, Stdio};

use fwt_tests::snapshot::Detail;
use fwt_tests::{Answer, Snapshot};

use crate::scene::{Scene, State};
use crate::ways::{Way, spoil, with_mounted};

const WAYS: [Way; 4] = [
    Way::new("dirty", "linked", "copy").on_branch("made"),
    Way::new("all", "linked", "copy"),
    Way::new("clean", "standalone", "checkout").on_branch("made"),
    Way::new("dirty", "standalone", "copy"),
];

/// Checks what was made, and takes it away.
#[track_caller]
fn check_and_remove(scene: &Scene, way: Way, answer: &Answer, before: &State) {
    let when = format!("{way:?}");
    let made = answer.success();
    let tree = scene.sandbox.existing(made["path"].as_str().expect("it is text"));
    way.assert_whole(scene, &tree, &when);
    before.assert_unchanged(&when);
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    if way.is_linked() && way.branch.is_some() {
        // git itself does not delete a branch while some of the locks here are there.
        std::fs::remove_file(scene.common_dir.join("refs/heads/made")).expect("it is there");
    }
    scene.assert_nothing(&when);
}

#[test]
fn case_b33_variables_that_point_at_another_repository_in_every_way() {
    let scene = Scene::in_memory();
    spoil(&scene.source);
    let other = scene.sandbox.repository("other");
    other.write("other", "one\n");
    other.commit("one");
    let git_dir = other.path(".git");
    let (before, others) = (scene.state(), Snapshot::filtered(&other.root, |_| true));
    for way in with_mounted(&WAYS) {
        let mut command = scene.fwt().command(scene.root(), way.arguments());
        command
            .env("GIT_DIR", &git_dir)
            .env("GIT_WORK_TREE", &other.root)
            .env("GIT_INDEX_FILE", git_dir.join("index"))
            .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", git_dir.join("objects"))
            .env("GIT_COMMON_DIR", &git_dir)
            .env("GIT_NAMESPACE", "other")
            .env("GIT_CEILING_DIRECTORIES", scene.root())
            .env("GIT_DISCOVERY_ACROSS_FILESYSTEM", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_PREFIX", "dir/")
            .env("GIT_TEMPLATE_DIR", other.path(".git/hooks"))
            .env("GIT_DEFAULT_HASH", "sha256")
            .env("GIT_EXTERNAL_DIFF", "/nowhere/diff")
            .env("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
            .env("GIT_CONFIG_GLOBAL", "/nowhere/config")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "core.worktree")
            .env("GIT_CONFIG_VALUE_0", &other.root);
        let answer = Answer::of(command.arg("--json"));
        check_and_remove(&scene, way, &answer, &before);
    }
    let now = Snapshot::filtered(&other.root, |_| true);
    now.assert_same(&others, Detail::Full, "the repository that the variables name");
}

/// By a process that lives, and after it has died.
#[test]
fn case_b42_locks_that_somebody_holds_in_every_way() {
    let scene = Scene::in_memory();
    spoil(&scene.source);
    let names = ["index.lock", "config.lock", "HEAD.lock", "packed-refs.lock", "shallow.lock"];
    let held: Vec<_> = names.iter().map(|name| scene.common_dir.join(name)).collect();
    let mut holder = Command::new("sh");
    holder.args(["-c", "for lock; do exec 3>\"$lock\"; done; echo; exec sleep 60", "sh"]);
    let mut holder = holder.args(&held).stdout(Stdio::piped()).spawn().expect("there is a shell");
    let mut ready = [0];
    let stdout = holder.stdout.as_mut().expect("it is a pipe");
    std::io::Read::read_exact(stdout, &mut ready).expect("it says that it is ready");
    assert!(held.iter().all(|lock| lock.exists()));
    let before = scene.state();
    let check = || {
        for way in with_mounted(&WAYS) {
            let answer = scene.fwt().run(scene.root(), way.arguments());
            check_and_remove(&scene, way, &answer, &before);
        }
    };
    check();
    holder.kill().expect("a child can be killed");
    holder.wait().expect("it ends");
    check();
}

#[test]
fn case_b47_few_descriptors_in_every_way() {
    const DIRECTORIES: usize = 150;
    const FILES: usize = 20;
    let scene = Scene::in_memory();
    // Loose objects and a pack.
    for number in 0..400 {
        scene.source.write(format!("many/{}/{number}", number % 40), format!("{number}\n"));
    }
    scene.source.commit("packed");
    scene.source.git(["gc", "--quiet"]);
    for number in 0..400 {
        scene.source.write(format!("more/{}/{number}", number % 40), format!("{number}\n"));
    }
    scene.source.commit("loose");
    scene.source.settle();
    spoil(&scene.source);
    for directory in 0..DIRECTORIES {
        for number in 0..FILES {
            let place = ["untracked", "target"][number % 2];
            let path = format!("{place}/{directory}/deep/{number}");
            scene.source.write(path, format!("{directory} {number}\n"));
        }
    }
    let before = scene.state();
    for limit in [8, 16, 24, 32, 48, 64] {
        for way in with_mounted(&WAYS) {
            let when = format!("{limit} descriptors, {way:?}");
            let prelude = format!("ulimit -n {limit}");
            let answer = scene.fwt().run_after(&prelude, scene.root(), &way.arguments());
            if answer.code == Some(0) {
                check_and_remove(&scene, way, &answer, &before);
                continue;
            }
            assert!(limit < 64, "64 are enough: {answer}");
            // Too few even for what must be open before anything can be said.
            assert!(matches!(answer.code, Some(6 | 127) | None), "{when}: {answer}");
            scene.assert_nothing(&when);
            before.assert_unchanged(&when);
        }
    }
}

#[test]
fn case_b47_files_may_not_grow_in_any_way() {
    let scene = Scene::in_memory();
    spoil(&scene.source);
    scene.source.write("untracked/big", vec![7; 3 << 20]);
    let before = scene.state();
    for way in with_mounted(&WAYS).into_iter().filter(|way| way.carry != "clean") {
        let prelude = "trap '' XFSZ; ulimit -f 2048";
        let answer = scene.fwt().run_after(prelude, scene.root(), &way.arguments());
        answer.failure(6, "no-space");
        scene.assert_nothing(&format!("{way:?}"));
        before.assert_unchanged(&format!("{way:?}"));
    }
}
