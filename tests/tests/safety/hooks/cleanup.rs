//! `cleanup`: in a tree that still is, before its end, once.

use std::fs;

use fwt_tests::Answer;

use super::trusted;
use crate::scene::Scene;

/// Says where it runs, in a file that outlives the tree.
const LOGS: &str = "pwd -P >> \"$HOME/log\"; ls -A >> \"$HOME/log\"";

fn log(scene: &Scene) -> String {
    fs::read_to_string(scene.sandbox.home().join("log")).unwrap_or_default()
}

#[test]
fn case_b66_a_cleanup_runs_once_in_the_tree_before_its_end() {
    let scene = trusted("", LOGS);
    let tree = scene.create(&["t"]);
    let path = tree.root.to_string_lossy().into_owned();
    assert_eq!(log(&scene), "");
    // A removal that is refused at the first look has not begun to end anything.
    tree.write("new", "work");
    scene.fwt().run(scene.root(), ["rm", "t"]).failure(4, "unsaved-work");
    assert_eq!(log(&scene), "");
    fs::remove_file(tree.path("new")).expect("it is there");
    let removed = scene.fwt().run(scene.root(), ["rm", "t"]).success();
    assert_eq!(removed["hooks"][0]["hook"], "cleanup", "{removed}");
    assert_eq!(removed["hooks"][0]["outcome"], "done", "{removed}");
    let text = log(&scene);
    assert_eq!(text.lines().next(), Some(&*path));
    assert!(text.lines().any(|line| line == "file"), "{text}");
    assert_eq!(text.matches(&path).count(), 1, "{text}");
    scene.assert_nothing("after the removal");
}

#[test]
fn nobody_takes_over_a_removal_whose_process_lives() {
    let fwt = fwt_tests::binary();
    let scene = trusted("", &format!("{} doctor --fix --json >> \"$HOME/log\"", fwt.display()));
    scene.create(&["t"]);
    let removed = scene.fwt().run(scene.root(), ["rm", "t"]).success();
    assert_eq!(removed["hooks"][0]["outcome"], "done", "{removed}");
    let text = log(&scene);
    assert!(text.lines().count() == 1 && text.contains("\"debris\":[]"), "{text}");
    scene.assert_nothing("after the removal");
}

#[test]
fn no_directorys_end_hangs_on_a_cleanup() {
    let scene = trusted("", "echo broken >&2; exit 7");
    scene.create(&["t"]);
    let removed = scene.fwt().run(scene.root(), ["rm", "t"]).success();
    assert_eq!(removed["hooks"][0]["outcome"], "failed", "{removed}");
    let detail = removed["hooks"][0]["detail"].to_string();
    assert!(detail.contains("exit status: 7") && detail.contains("broken"), "{detail}");
    scene.assert_nothing("after the removal");
}

#[test]
fn what_a_cleanup_leaves_is_judged_like_everything_else() {
    let scene = trusted("", "echo report > report.txt");
    let tree = scene.create(&["t"]);
    scene.fwt().run(scene.root(), ["rm", "t"]).failure(4, "unsaved-work");
    assert_eq!(fs::read_to_string(tree.path("report.txt")).unwrap(), "report\n");
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    scene.assert_nothing("after the removal");
}

#[test]
fn case_b66_a_cleanup_runs_once_whenever_its_removal_is_killed() {
    let scene = trusted("", "echo end >> \"$HOME/log\"");
    let faulty = scene.sandbox.fwt_with_faults();
    let rm = |fault: &str| {
        let mut command = faulty.command(scene.root(), ["rm", "t", "--json"]);
        Answer::of(command.env("FWT_FAULTS", fault))
    };
    let mut nth = 1;
    loop {
        fs::write(scene.sandbox.home().join("log"), "").expect("it is ours");
        scene.create_directory(&["t"]);
        let killed = rm(&format!("abort:{nth}"));
        if killed.code == Some(0) {
            break;
        }
        let again = scene.fwt().run(scene.root(), ["rm", "t"]);
        assert!(matches!(again.code, Some(0 | 3)), "killed at call {nth}: {again}");
        assert_eq!(log(&scene), "end\n", "killed at call {nth}");
        scene.assert_nothing(&format!("killed at call {nth}"));
        // A sample: all calls of a removal are tried elsewhere.
        nth += 3;
    }
    assert!(nth > 10, "only {nth} calls were tried");
}

#[test]
fn the_command_is_the_one_that_was_trusted_when_the_tree_was_made() {
    let scene = trusted("", "echo first >> \"$HOME/log\"");
    let tree = scene.create(&["t"]);
    // Neither a later file in the source nor one that the tree's agent writes counts.
    let later = "[hooks]\ncleanup = 'echo second >> \"$HOME/log\"'\n";
    scene.source.write("fwt.toml", later);
    tree.write("fwt.toml", later);
    scene.fwt().run(scene.root(), ["rm", "t", "--discard"]).success();
    assert_eq!(log(&scene), "first\n");
}
