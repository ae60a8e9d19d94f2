//! A worktree from `create` to `rm`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::sandbox::{Sandbox, line};

#[test]
fn a_worktree_is_made_listed_shown_and_removed() {
    let sandbox = Sandbox::new();
    let at = sandbox.path("trees/fix");
    let made = sandbox
        .fwt(&["create", "fix", "--branch", "work", "--backend", "copy", "--at", "../trees/fix"])
        .output()
        .unwrap();
    assert_eq!((made.status.code(), made.stdout), (Some(0), line(&at)));
    assert!(String::from_utf8_lossy(&made.stderr).starts_with("made fix by copy in "));
    assert_eq!(fs_sys::read_file(&at.join("dir/file")).unwrap(), b"hello\n");

    let list = sandbox.json(&["list"]);
    let listed = &list["worktrees"][0];
    assert_eq!((&listed["name"], &listed["branch"]), (&"fix".into(), &"work".into()));
    let id = listed["id"].as_str().unwrap();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let table =
        sandbox.see(&["list"]).replace(id, "IIIIIIIIIIIII").replace(&head[..10], "HHHHHHHHHH");
    let table: Vec<_> = table.lines().collect();
    assert_eq!(table[1], "NAME  ID             STATE  BACKEND  HEAD        BRANCH  AGE  PATH");
    let row = "fix   IIIIIIIIIIIII  held   copy     HHHHHHHHHH  work    ";
    assert!(table[2].starts_with(row) && table[2].ends_with("/ROOT/trees/fix"), "{table:?}");

    for by in [id, "fix", "../trees/fix/dir", at.to_str().unwrap()] {
        assert_eq!(sandbox.json(&["show", by])["id"], id, "{by}");
        let shown = sandbox.see(&["show", by]);
        assert!(shown.contains("\nname         fix\n"), "{shown}");
    }
    insta::assert_snapshot!(sandbox.see(&["rm", "fix"]), @r"
        stderr:
        removed fix (/ROOT/trees/fix)
        its branch work stays
        exit: 0
        ");
    assert!(!fs_sys::exists(&at).unwrap());
    insta::assert_snapshot!(sandbox.see(&["list"]), @r"
        stderr:
        no worktrees
        exit: 0
        ");
    assert_eq!(sandbox.see(&["list", "-q"]), "exit: 0");
    insta::assert_snapshot!(sandbox.see(&["rm", "fix"]), @r#"
        stderr:
        error: no worktree goes by "fix"

        hint: fwt list --all names them
        exit: 3
        "#);
}

#[test]
fn a_worktree_has_a_place_and_a_name_of_its_own() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["create"]);
    assert_eq!(made["name"], made["id"]);
    assert!(made["elapsed_ms"].is_u64() && made["stats"]["files"] == 1, "{made}");
    let trees = sandbox.path("state/worktrees");
    assert!(made["path"].as_str().unwrap().starts_with(trees.to_str().unwrap()), "{made}");
}

#[test]
fn mode_checkout_is_a_backend() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["create", "--mode", "checkout"]);
    assert_eq!((&made["mode"], &made["backend"]), (&"linked".into(), &"checkout".into()));
}

#[test]
fn unsaved_work_is_kept_until_it_is_discarded() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["create", "fix", "--at", "../fix"]);
    let path = made["path"].as_str().unwrap();
    fs_sys::write_new(&sandbox.path("fix/new"), b"work", fs_sys::Mode(0o644)).unwrap();
    let refused = sandbox.fwt(&["rm", "fix"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    assert_eq!(sandbox.json(&["rm", "fix"])["error"]["code"], "unsaved-work");
    assert_eq!(sandbox.json(&["rm", "fix", "--discard"])["path"], path);
}

#[test]
fn list_looks_around_where_there_is_no_repository() {
    let sandbox = Sandbox::new();
    sandbox.json(&["create", "fix"]);
    let outside = |arguments: &[&str]| {
        let mut fwt = sandbox.fwt(arguments);
        sandbox.show(&fwt.current_dir(sandbox.path("")).output().unwrap())
    };
    let all = outside(&["list"]);
    assert!(all.contains("\nfix ") && all.contains("note: not in a repository"), "{all}");
    assert!(!outside(&["list", "--all"]).contains("note:"));
    // Whoever names a directory means it.
    insta::assert_snapshot!(outside(&["-C", ".", "list"]), @r"
        stderr:
        error: /ROOT is in no git repository

        hint: name a directory of one with --source
        exit: 3
        ");
    let inside = outside(&["-C", "repo/dir", "list", "-q"]);
    assert!(inside.contains("\nfix "), "{inside}");
}

#[test]
fn a_path_of_any_bytes_is_printed_as_it_is_and_understood() {
    let sandbox = Sandbox::new();
    let at = sandbox.path("").join(OsStr::from_bytes(b"odd\xff\x1b"));
    let made = sandbox.fwt(&[OsStr::new("create"), OsStr::new("--at"), at.as_os_str()]).output();
    let made = made.unwrap();
    if !made.status.success() && !fs_sys::exists(&at).unwrap() {
        // Some file systems keep names in UTF-8 only.
        assert_eq!(made.status.code(), Some(1), "{made:?}");
        return;
    }
    assert_eq!(made.stdout, line(&at));
    let below = at.join("dir");
    let shown = sandbox.fwt(&[OsStr::new("show"), below.as_os_str()]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("/odd\\xff\\u{1b}\n"), "{shown:?}");
}

#[test]
fn a_current_directory_that_is_gone_matters_only_where_it_is_needed() {
    let sandbox = Sandbox::new();
    let gone = "mkdir ../gone && cd ../gone && rmdir ../gone && exec \"$0\"";
    insta::assert_snapshot!(sandbox.show(&sandbox.shell(&format!("{gone} create"))), @r"
        stderr:
        error: cannot tell the current directory: No such file or directory (os error 2)

        hint: go to a directory that exists, or name one with -C
        exit: 3
        ");
    let repository = sandbox.path("repo");
    let elsewhere = sandbox.shell(&format!("{gone} -q -C '{}' create", repository.display()));
    assert_eq!(elsewhere.status.code(), Some(0), "{elsewhere:?}");
}
