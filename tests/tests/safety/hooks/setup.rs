//! `setup`: in a new tree, before it is handed out.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{named, trusted};

#[test]
fn case_b50_a_setup_runs_in_the_new_tree_and_says_nothing_on_stdout() {
    let scene = trusted(
        "echo loud; pwd -P > where; env > variables; echo \"$FWT_NAME in $FWT_PATH\" > told",
        "",
    );
    let mut command = scene.fwt().command(scene.root(), ["create", "t"]);
    command.env("GIT_DIR", "/nonexistent").env("GIT_INDEX_FILE", "/nonexistent");
    let output = command.output().expect("fwt runs");
    assert!(output.status.success(), "{output:?}");
    let path = String::from_utf8(output.stdout).expect("the path is text");
    let path = path.strip_suffix('\n').expect("one line");
    assert!(!path.contains('\n'), "{path}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("loud"));
    let tree = scene.sandbox.existing(path);
    let read = |name: &str| fs::read_to_string(tree.path(name)).expect("the hook wrote it");
    assert_eq!(read("where").trim_end(), path);
    assert_eq!(read("told").trim_end(), format!("t in {path}"));
    assert!(!read("variables").lines().any(|line| line.starts_with("GIT_DIR=")));
    assert!(!scene.source.path("where").exists());
    // What the hook made can be made again; what somebody then does to it cannot.
    fs::write(tree.path("told"), "work").expect("it is ours");
    scene.fwt().run(scene.root(), ["rm", "t"]).failure(4, "unsaved-work");
    fs::remove_file(tree.path("told")).expect("it is there");
    scene.fwt().run(scene.root(), ["rm", "t"]).success();
    scene.assert_nothing("after the removal");
}

#[test]
fn case_b50_a_setup_that_fails_takes_everything_back() {
    let scene = trusted("echo why it failed >&2; touch made; exit 3", "echo ended >> ../../../log");
    let before = scene.state();
    let answer = scene.fwt().run(scene.root(), ["create", "t", "--branch", "made"]);
    let error = answer.failure(1, "hook-failed");
    assert!(error["message"].to_string().contains("why it failed"), "{error}");
    assert!(error["message"].to_string().contains("exit status: 3"), "{error}");
    scene.assert_nothing("after the failure");
    before.assert_unchanged("after the failure");
    assert!(scene.source.git(["branch", "--list", "made"]).is_empty());
    // What it had begun was ended.
    assert_eq!(fs::read_to_string(scene.sandbox.state().join("log")).unwrap(), "ended\n");
}

#[test]
fn a_setup_that_cannot_start_takes_everything_back() {
    let scene = named("", "");
    scene.source.write("fwt.toml", "[hooks]\nsetup = ['/nonexistent/program', 'x']\n");
    scene.fwt().run(scene.root(), ["trust"]).success();
    let error = scene.fwt().run(scene.root(), ["create", "t"]).failure(1, "hook-failed");
    assert!(error["hints"].to_string().contains("/nonexistent/program x"), "{error}");
    scene.assert_nothing("after the failure");
}

#[test]
fn a_setup_ends_with_the_create_that_is_interrupted() {
    let scene = trusted("echo $$ > \"$HOME/pid\"; trap '' INT; sleep 60", "");
    let mut command = scene.fwt().command(scene.root(), ["create", "t"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("fwt starts");
    let pid = scene.sandbox.home().join("pid");
    let start = Instant::now();
    let hook = loop {
        match fs::read_to_string(&pid).map(|text| text.trim().to_owned()) {
            Ok(text) if !text.is_empty() => break text,
            _ => assert!(start.elapsed() < Duration::from_secs(60), "the hook never started"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let kill = ["-TERM".to_owned(), child.id().to_string()];
    assert!(scene.sandbox.command("kill").args(kill).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("fwt ends");
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let is_there = scene.sandbox.command("kill").args(["-0", &hook]).output().expect("kill runs");
    assert!(!is_there.status.success(), "the hook still runs");
    scene.assert_nothing("after the interruption");
}

#[test]
fn a_background_process_of_a_setup_does_not_hold_the_create_up() {
    let scene = trusted("sleep 30 & echo $! > \"$HOME/pid\"", "");
    let start = Instant::now();
    scene.fwt().create(scene.root(), &["t"]);
    assert!(start.elapsed() < Duration::from_secs(25), "it waited for the background process");
    let pid = fs::read_to_string(scene.sandbox.home().join("pid")).expect("the hook wrote it");
    scene.sandbox.command("kill").arg(pid.trim()).status().expect("kill runs");
}
