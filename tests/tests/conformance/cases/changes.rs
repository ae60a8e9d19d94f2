//! Each kind of uncommitted change, carried by each mode: git says the same of source and tree.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fwt_tests::Repository;

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

macro_rules! changes {
    ($($name:literal $change:expr,)+) => {
        pub(crate) const CASES: &[Case] = &[$(
            Case::needing(concat!("case_g11_carried_", $name), Needs::Carries, |stage| {
                check(stage, $change);
            }),
        )+];
    };
}

changes! {
    "nothing_changed" |_| {},
    "staged" staged,
    "unstaged" unstaged,
    "partially_staged" partially_staged,
    "untracked" untracked,
    "deleted" deleted,
    "renamed" renamed,
    "mode_only" mode_only,
    "mode_only_where_modes_do_not_count" |source| {
        source.git(["config", "core.fileMode", "false"]);
        mode_only(source);
    },
    "intent_to_add" intent_to_add,
    "conflicted" conflicted,
    "other_kinds" other_kinds,
    "looked_away_from" looked_away_from,
    "line_ends_that_were_edited" line_ends,
    "an_edited_index_only" index_only,
}

/// Every file of the source, as often as a change needs one.
const FILES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "deep/g", "deep/er/h"];

fn check(stage: &Stage, change: impl Fn(&Repository)) {
    let source = stage.small_source();
    for name in FILES {
        // Long enough to be known again after a rename.
        source.write(name, format!("{name}\n").repeat(20));
    }
    source.commit("second");
    source.settle();
    change(&source);
    for (carry, mode) in [("dirty", "linked"), ("all", "linked"), ("dirty", "standalone")] {
        let tree = stage.check_carried(&source, carry, mode);
        if mode == "standalone" {
            tree.git.git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
        }
        // Nothing is in it that its source has not: it goes without a question.
        stage.remove(&tree, &source);
    }
    stage.assert_no_debris(&source, &[]);
}

fn staged(source: &Repository) {
    source.write("a", "edited\n");
    source.write("new", "new\n");
    source.write("new-deep/new", "new\n");
    source.write("new-empty", "");
    source.link("new-link", "nowhere");
    source.git(["rm", "--quiet", "b"]);
    source.git(["add", "a", "new", "new-deep", "new-empty", "new-link"]);
}

fn unstaged(source: &Repository) {
    source.write("a", "edited\n");
    source.write("deep/er/h", "");
    source.link("link-too", "file");
    fs::remove_file(source.path("link")).expect("it is there");
    source.link("link", "elsewhere");
}

fn partially_staged(source: &Repository) {
    source.write("a", "staged\n");
    source.write("new", "staged\n");
    source.write("gone", "staged\n");
    source.write("b", "staged\n");
    source.write("c", "staged\n");
    source.git(["add", "a", "b", "c", "new", "gone"]);
    source.write("a", "staged, and more\n");
    source.write("new", "staged, and more\n");
    fs::remove_file(source.path("gone")).expect("it is there");
    fs::remove_file(source.path("b")).expect("it is there");
    // Staged, and then taken back in the file alone.
    source.write("c", "c\n".repeat(20));
}

fn untracked(source: &Repository) {
    for name in [&b"plain"[..], b"new\nline", b"\xff\xfe", b" ", b"-x", b"caf\xc3\xa9", b"\"q\""] {
        source.write(Path::new("untracked").join(OsStr::from_bytes(name)), name);
        source.write(OsStr::from_bytes(&[b"top", name].concat()), name);
    }
    source.write("deep/untracked/er/file", "u\n");
    source.link("deep/dangling", "/nowhere/at/all");
    source.link("deep/to-itself", "to-itself");
    fs::create_dir_all(source.path("empty-directory/deeper")).expect("the source is ours");
    source.write("private/file", "u\n");
    source.chmod("private/file", 0o600);
    source.chmod("private", 0o700);
    source.write("tool", "u\n");
    source.chmod("tool", 0o751);
}

fn deleted(source: &Repository) {
    fs::remove_file(source.path("a")).expect("it is there");
    fs::remove_dir_all(source.path("deep")).expect("it is there");
    source.git(["rm", "--quiet", "b"]);
    source.git(["rm", "--quiet", "--cached", "c"]);
    // Deleted from the index, and another file is in its place.
    source.git(["rm", "--quiet", "--cached", "d"]);
    source.write("d", "another one\n");
}

fn renamed(source: &Repository) {
    source.git(["mv", "a", "renamed"]);
    source.git(["mv", "b", "renamed-and-edited"]);
    let path = source.path("renamed-and-edited");
    let text = fs::read_to_string(&path).expect("it is there") + "more\n";
    fs::write(path, text).expect("it is ours");
    source.git(["mv", "deep", "moved"]);
    // Not told to git.
    fs::rename(source.path("c"), source.path("renamed-in-silence")).expect("it is ours");
    // Two that change places.
    for (from, to) in [("e", "x"), ("f", "e"), ("x", "f")] {
        fs::rename(source.path(from), source.path(to)).expect("they are ours");
    }
}

fn mode_only(source: &Repository) {
    source.chmod("a", 0o755);
    source.chmod("run.sh", 0o644);
    source.git(["update-index", "--chmod=+x", "b"]);
    source.git(["update-index", "--chmod=+x", "c"]);
    source.chmod("c", 0o755);
    // None of git's business, and carried even so.
    source.chmod("d", 0o640);
}

fn intent_to_add(source: &Repository) {
    source.write("intended", "u\n");
    source.write("intended-empty", "");
    source.write("intended-tool", "u\n");
    source.chmod("intended-tool", 0o755);
    source.write("deep/intended-gone", "u\n");
    source.link("intended-link", "file");
    source.git(["add", "--intent-to-add", "--all"]);
    fs::remove_file(source.path("deep/intended-gone")).expect("it is there");
}

/// All seven kinds that git knows, and one with a file that was resolved and not added.
fn conflicted(source: &Repository) {
    let blob = |text: &str| {
        source.write("scratch", text);
        let id = source.git(["hash-object", "-w", "scratch"]);
        fs::remove_file(source.path("scratch")).expect("it is there");
        id
    };
    let ids = [blob("base\n"), blob("ours\n"), blob("theirs\n")];
    let stages: [(&str, &[usize]); 7] = [
        ("both-deleted", &[1]),
        ("added-by-us", &[2]),
        ("deleted-by-them", &[1, 2]),
        ("added-by-them", &[3]),
        ("deleted-by-us", &[1, 3]),
        ("both-added", &[2, 3]),
        ("both-modified", &[1, 2, 3]),
    ];
    let mut lines = Vec::new();
    for (name, present) in stages {
        lines.extend(present.iter().map(|stage| {
            let id = &ids[stage - 1];
            format!("100644 {id} {stage}\tconflict/{name}\n")
        }));
        if name != "both-deleted" {
            source.write(format!("conflict/{name}"), "<<<<<<< ours\n=======\n>>>>>>> theirs\n");
        }
    }
    let list = source.common_dir().join("stages");
    fs::write(&list, lines.concat()).expect("the source is ours");
    let input = File::open(&list).expect("it is there");
    let mut command = source.command(["update-index", "--index-info"]);
    assert!(command.stdin(input).status().expect("git runs").success());
    fs::remove_file(list).expect("it is there");
    source.write("conflict/both-added", "resolved, and not yet added\n");
    let status = source.git(["status", "--porcelain"]);
    for code in ["DD", "AU", "UD", "UA", "DU", "AA", "UU"] {
        assert!(status.lines().any(|line| line.starts_with(code)), "no {code} in {status}");
    }
}

fn other_kinds(source: &Repository) {
    for name in ["a", "b", "link"] {
        fs::remove_file(source.path(name)).expect("it is there");
    }
    fs::remove_dir_all(source.path("deep")).expect("it is there");
    source.link("a", "b");
    source.write("b/now/a/directory", "u\n");
    source.write("link", "now a file\n");
    source.write("deep", "now a file\n");
}

fn looked_away_from(source: &Repository) {
    source.git(["update-index", "--assume-unchanged", "a", "b"]);
    source.git(["update-index", "--skip-worktree", "c", "d"]);
    for name in ["a", "c"] {
        source.write(name, "edited in secret\n");
    }
    fs::remove_file(source.path("d")).expect("it is there");
}

/// Bytes come as they are, whatever a checkout would make of them.
fn line_ends(source: &Repository) {
    source.git(["config", "core.safecrlf", "false"]);
    source.write(".gitattributes", "*.txt text\n*.crlf text eol=crlf\n*.id ident\n");
    for name in ["x.txt", "x.crlf", "x.id"] {
        source.write(name, "one\r\n$Id$\ntwo\n");
    }
    source.git(["add", "--all"]);
    source.git(["commit", "--quiet", "--message", "attributes"]);
    source.settle();
    source.write("x.txt", "one\r\ntwo\r\n");
    source.write("y.crlf", "lf\n");
    source.write(".gitattributes", "*.txt text eol=crlf\n");
}

/// The index has what neither a commit nor a file has.
fn index_only(source: &Repository) {
    source.write("scratch", "in the index alone\n");
    let id = source.git(["hash-object", "-w", "scratch"]);
    fs::remove_file(source.path("scratch")).expect("it is there");
    for (path, mode) in [("a", "100755"), ("b", "120000"), ("only/here", "100644")] {
        source.git(["update-index", "--add", "--cacheinfo", &format!("{mode},{id},{path}")]);
    }
}
