//! Prompts recorded, listed and compared.

use fs_sys::Mode;
use serde_json::json;

use crate::sandbox::Sandbox;

/// Runs a shell in the repository, which must succeed.
fn shell(sandbox: &Sandbox, script: &str) {
    let output = sandbox.shell(script);
    assert!(output.status.success(), "{script}: {output:?}");
}

/// What a person sees, without what the clock says.
fn see(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let text = sandbox.see(arguments);
    let words = text.split_inclusive(char::is_whitespace).map(|word| {
        let bare = word.trim_end();
        let is_time = bare.len() == 20 && bare.ends_with('Z') && bare.contains('T');
        if is_time { word.replace(bare, "TIME") } else { word.to_owned() }
    });
    let text: String = words.collect();
    let (mut shown, mut rest) = (String::new(), text.as_str());
    while let Some((before, after)) = rest.split_once(" in ") {
        let digits = after.trim_start_matches(|c: char| c.is_ascii_digit());
        shown += before;
        shown += " in ";
        shown += if digits.len() < after.len() { "N" } else { "" };
        rest = digits;
    }
    shown + rest
}

#[test]
fn a_prompt_is_recorded_listed_shown_and_compared() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(see(&sandbox, &["checkpoint", "list"]), @r"
        stderr:
        no checkpoints
        exit: 0
        ");
    insta::assert_snapshot!(
        see(&sandbox, &["checkpoint", "begin", "--prompt", "1", "--summary", "make it\nwork"]),
        @r"
        stderr:
        checkpoint 1 is open in N ms
        exit: 0
        "
    );
    shell(&sandbox, "echo new > new; sed -i s/hello/bye/ dir/file; mkdir -p deep; mkfifo pipe");
    insta::assert_snapshot!(see(&sandbox, &["checkpoint", "record", "dir/file"]), @r"
        stderr:
        checkpoint 1 is open
        exit: 0
        ");
    insta::assert_snapshot!(see(&sandbox, &["checkpoint", "end", "--prompt", "1"]), @r"
        stderr:
        checkpoint 1 is complete in N ms; 4 paths changed; 1 path is not kept
        exit: 0
        ");
    let begun = sandbox.fwt(&["checkpoint", "begin", "--prompt", "2", "-q"]).output().unwrap();
    assert_eq!((begun.status.code(), begun.stdout, begun.stderr), (Some(0), vec![], vec![]));
    let table = sandbox.see(&["checkpoint", "list"]);
    let table: Vec<_> = table.lines().collect();
    assert_eq!(table[1], "PROMPT  SESSION  STATE     OUTCOME    FILES  NOT KEPT  AGE  SUMMARY");
    assert!(
        table[2].starts_with("1       -        complete  completed  4      1         "),
        "{table:?}"
    );
    assert!(table[2].ends_with("s   make it\\nwork"), "{table:?}");
    insta::assert_snapshot!(see(&sandbox, &["checkpoint", "show", "1"]), @r"
        stdout:
        prompt   1
        summary  make it\nwork
        state    complete
        outcome  completed
        started  TIME
        ended    TIME
        root     /ROOT/repo
        added         deep
        modified      dir/file  (recorded)
        added         new
        added         pipe
        not kept: pipe  (special)
        exit: 0
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "diff", "1..2"]), @r"
        stdout:
        added         deep
        modified      dir/file
        added         new
        added         pipe
        exit: 0
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "diff", "2..1", "--stat"]), @r"
        stdout:
        deleted       deep  (not-text)
        modified      dir/file  +1 -1
        deleted       new  +0 -1
        deleted       pipe  (not-kept)
        exit: 0
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "diff", "1..", "-p"]), @r"
        stdout:
        diff --git a/dir/file b/dir/file
        --- a/dir/file
        +++ b/dir/file
        @@ -1 +1 @@
        -hello
        +bye
        diff --git a/new b/new
        new file mode 100644
        --- /dev/null
        +++ b/new
        @@ -0,0 +1 @@
        +new
        exit: 0
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "diff", "2..2"]), @r"
        stderr:
        no differences
        exit: 0
        ");
}

#[test]
fn programs_get_every_field() {
    let sandbox = Sandbox::new();
    let begun =
        sandbox.json(&["checkpoint", "begin", "--prompt", "3", "--session", "s", "--parent", ":1"]);
    assert!(begun["elapsed_ms"].is_u64(), "{begun}");
    shell(&sandbox, "rm dir/file");
    sandbox.json(&[
        "checkpoint",
        "end",
        "--prompt",
        "3",
        "--session",
        "s",
        "--outcome",
        "cancelled",
    ]);
    let mut list = sandbox.json(&["checkpoint", "list", "--session", "s"]);
    let point = &mut list["checkpoints"][0];
    for time in ["started_at", "ended_at"] {
        assert!(point[time].take().as_str().unwrap().ends_with('Z'));
    }
    let expected = json!({
        "prompt": 3, "session": "s", "summary": null,
        "parent": { "session": "", "prompt": 1 },
        "outcome": "cancelled", "state": "complete", "started_at": null, "ended_at": null,
        "files": 1, "uncovered": [], "uncovered_total": 0, "elapsed_ms": null,
    });
    assert_eq!(*point, expected);
    assert_eq!(
        sandbox.json(&["checkpoint", "list", "--session", "t"]),
        json!({ "checkpoints": [] })
    );
    let shown = sandbox.json(&["checkpoint", "show", "3", "--session", "s"]);
    let change = &shown["changes"][0];
    assert_eq!((&change["path"], &change["change"]), (&json!("dir/file"), &json!("deleted")));
    assert_eq!((&change["before"]["mode"], &change["after"]), (&json!("0644"), &json!(null)));
    assert_eq!(change["before"]["content"].as_str().unwrap().len(), 64);
    let diff = sandbox.json(&["checkpoint", "diff", "3..", "--session", "s", "-p"]);
    assert_eq!(
        (&diff["from"], &diff["to"], &diff["truncated"]),
        (&json!(3), &json!(null), &json!(false))
    );
    assert_eq!((&diff["files"][0]["added"], &diff["files"][0]["deleted"]), (&json!(0), &json!(1)));
}

#[test]
fn what_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "end", "--prompt", "1"]), @r"
        stderr:
        error: prompt 1 has not begun

        hint: fwt checkpoint list names them
        exit: 3
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "record", "a"]), @r"
        stderr:
        error: no prompt has begun, or its end was recorded

        hint: fwt checkpoint list names them
        exit: 3
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "show", "7", "--session", "s"]), @r"
        stderr:
        error: prompt 7 of the session s has not begun

        hint: fwt checkpoint list names them
        exit: 3
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "diff", "7"]), @r"
        stderr:
        error: invalid value '7' for '<A..B>': two numbers are needed, like 3..5, or one, like 3..

        hint: `fwt --help` and `fwt COMMAND --help` say more
        exit: 2
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "begin", "--prompt", "1", "--session", "a\nb"]), @r#"
        stderr:
        error: "a\nb" cannot be the name of a session

        hint: at most 200 bytes, without control characters
        exit: 2
        "#);
    sandbox.json(&["checkpoint", "begin", "--prompt", "1"]);
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "record", "../outside"]), @r"
        stderr:
        error: /ROOT/repo/../outside is not in /ROOT/repo
        exit: 2
        ");
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "begin", "--prompt", "1", "-C", "/"]), @r"
        stderr:
        error: / is too much for checkpoints

        hint: go to a project's directory, or name one with -C
        exit: 2
        ");
    fs_sys::make_dirs(&sandbox.path("home"), Mode(0o755)).unwrap();
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "begin", "--prompt", "1", "-C", "../home"]), @r"
        stderr:
        error: /ROOT/home is too much for checkpoints

        hint: go to a project's directory, or name one with -C
        exit: 2
        ");
    assert_eq!(sandbox.json(&["checkpoint", "list"])["checkpoints"].as_array().unwrap().len(), 1);
}

#[test]
fn a_damaged_store_is_told_from_an_empty_one() {
    let sandbox = Sandbox::new();
    sandbox.json(&["checkpoint", "begin", "--prompt", "1"]);
    shell(&sandbox, "echo 'fwt-checkpoint-store 9' > ../state/checkpoints/objects/format");
    let list = sandbox.fwt(&["checkpoint", "list", "--json"]).output().unwrap();
    assert_eq!(list.status.code(), Some(1));
    let error: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(error["error"]["code"], "store-damaged");
}

#[test]
fn a_collection_frees_what_no_checkpoint_needs_in_its_own_time() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.see(&["checkpoint", "gc"]), @r"
        stderr:
        gave up 0 checkpoints; freed 0 B
        exit: 0
        ");
    sandbox.json(&["checkpoint", "begin", "--prompt", "1"]);
    shell(&sandbox, "rm dir/file; echo half > ../state/checkpoints/objects/tmp/dead");
    sandbox.json(&["checkpoint", "end", "--prompt", "1"]);
    let expected = json!({ "expired": 0, "bytes_removed": 5, "condemned": 0, "deferred": [] });
    assert_eq!(sandbox.json(&["checkpoint", "gc"]), expected);
    let diff = sandbox.json(&["checkpoint", "diff", "1..", "-p"]);
    assert!(diff["files"][0]["patch"].as_str().unwrap().ends_with("-hello\n"), "{diff}");
}

/// CASES C46: from a subdirectory it is the same tree.
#[test]
fn case_c46_the_root_is_found_from_any_directory_of_a_repository() {
    let sandbox = Sandbox::new();
    sandbox.json(&["checkpoint", "begin", "--prompt", "1", "-C", "dir"]);
    sandbox.json(&["checkpoint", "record", "file", "-C", "dir"]);
    shell(&sandbox, "echo x > sibling; echo y > dir/file");
    sandbox.json(&["checkpoint", "end", "--prompt", "1"]);
    let shown = sandbox.json(&["checkpoint", "show", "1", "-C", "dir"]);
    let paths: Vec<_> =
        shown["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, ["dir/file", "sibling"]);
    assert_eq!(shown["recorded"], json!(["dir/file"]));
}

/// CASES C38, C40: no repository is needed.
#[test]
fn case_c38_a_plain_directory_has_checkpoints_too() {
    let sandbox = Sandbox::new();
    fs_sys::make_dirs(&sandbox.path("plain/sub"), Mode(0o755)).unwrap();
    sandbox.json(&["checkpoint", "begin", "--prompt", "1", "-C", "../plain"]);
    shell(&sandbox, "echo x > ../plain/sub/a");
    // From below it is the same tree, now that it has checkpoints.
    let ended = sandbox.json(&["checkpoint", "end", "--prompt", "1", "-C", "../plain/sub"]);
    assert_eq!(ended["files"], 1);
    // Its place does not matter, and another directory in its place is another tree (CASES C11).
    shell(&sandbox, "mv ../plain ../moved; mkdir ../plain");
    let count = |directory: &str| {
        let list = sandbox.json(&["checkpoint", "list", "-C", directory]);
        list["checkpoints"].as_array().unwrap().len()
    };
    assert_eq!((count("../moved"), count("../plain")), (1, 0));
}

#[test]
fn a_worktree_has_checkpoints_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.json(&["create", "fix", "--at", "../fix"]);
    sandbox.json(&["checkpoint", "begin", "--prompt", "1", "-C", "../fix"]);
    shell(&sandbox, "echo x > ../fix/dir/file");
    let ended = sandbox.json(&["checkpoint", "end", "--prompt", "1", "-C", "../fix"]);
    assert_eq!((&ended["files"], &ended["uncovered"]), (&json!(1), &json!([])));
    assert_eq!(sandbox.json(&["checkpoint", "list"]), json!({ "checkpoints": [] }));
}

/// CASES C53, C67: nothing of it is ever in the repository; what only reads writes nothing at all.
#[test]
fn case_c67_the_repository_and_what_only_reads_stay_as_they_are() {
    let sandbox = Sandbox::new();
    let everything = |directory: &str| {
        let script = format!("cd '{directory}' && find . -printf '%p %i %m %s %T@ %C@\\n' | sort");
        sandbox.shell(&script).stdout
    };
    let repository = everything(".");
    sandbox.json(&["checkpoint", "list"]);
    assert!(!fs_sys::exists(&sandbox.path("state")).unwrap());
    for prompt in ["1", "2"] {
        sandbox.json(&["checkpoint", "begin", "--prompt", prompt]);
        sandbox.json(&["checkpoint", "record", "dir/file"]);
        sandbox.json(&["checkpoint", "end", "--prompt", prompt]);
    }
    let state = everything("../state");
    sandbox.json(&["checkpoint", "list"]);
    sandbox.json(&["checkpoint", "show", "1"]);
    sandbox.json(&["checkpoint", "diff", "1..2", "-p"]);
    assert_eq!(everything("../state"), state);
    assert_eq!(everything("."), repository);
}

/// CASES C55: a git directory in the environment is somebody else's.
#[test]
fn case_c55_a_git_directory_in_the_environment_does_not_matter() {
    let sandbox = Sandbox::new();
    shell(&sandbox, "git init --quiet ../other");
    let mut begin = sandbox.fwt(&["checkpoint", "begin", "--prompt", "1", "--json"]);
    let output = begin.env("GIT_DIR", sandbox.path("other/.git")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(sandbox.json(&["checkpoint", "list"])["checkpoints"][0]["prompt"], 1);
}

/// The patch makes the old state the new one, by git's own reading of it.
#[test]
fn git_applies_the_patch() {
    let sandbox = Sandbox::new();
    shell(
        &sandbox,
        "seq 100 > lines; printf 'a\\nb' > tail; ln -s lines link; cp lines 'odd \"name'; cp -a . ../copy",
    );
    sandbox.json(&["checkpoint", "begin", "--prompt", "1"]);
    shell(
        &sandbox,
        "sed -i '3d;50s/$/x/;99a more' lines; printf 'a\\nc\\n' > tail; chmod +x dir/file; rm 'odd \"name'; echo n > 'new ü'",
    );
    sandbox.json(&["checkpoint", "end", "--prompt", "1"]);
    shell(
        &sandbox,
        "$0 checkpoint diff 1.. -p > ../patch && cd ../copy && git apply --whitespace=nowarn ../patch",
    );
    shell(&sandbox, "diff -r --exclude=.git . ../copy && test -x ../copy/dir/file");
}

/// CASES C43, C61: what was acknowledged is there for the next process, whoever runs beside it.
#[test]
fn case_c61_two_sessions_in_one_directory_lose_nothing() {
    let sandbox = Sandbox::new();
    let script = |session: &str| {
        format!(
            "for n in 1 2 3 4 5 6; do \
             $0 checkpoint begin --prompt $n --session {session} -q && echo $n > {session} && \
             $0 checkpoint end --prompt $n --session {session} -q || exit 1; done"
        )
    };
    let both =
        format!("({}) & a=$!; ({}) & b=$!; wait $a && wait $b", script("one"), script("two"));
    shell(&sandbox, &both);
    let list = sandbox.json(&["checkpoint", "list"]);
    let points = list["checkpoints"].as_array().unwrap();
    assert_eq!(points.len(), 12);
    for point in points {
        assert_eq!((&point["state"], &point["outcome"]), (&json!("complete"), &json!("completed")));
        let prompt = point["prompt"].to_string();
        let session = point["session"].as_str().unwrap();
        let shown = sandbox.json(&["checkpoint", "show", &prompt, "--session", session]);
        let changes = shown["changes"].as_array().unwrap();
        assert!(changes.iter().any(|change| change["path"] == session), "{shown}");
    }
}
