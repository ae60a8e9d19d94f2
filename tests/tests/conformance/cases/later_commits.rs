//! One commit after another: sealed as what differs, each is what git makes of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use fwt_tests::Repository;

use crate::check::entries;
use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};
use crate::trace;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b1_every_kind_of_change_between_two_commits", every_change),
    Case::new("case_b1_a_directory_that_went_comes_back_without_what_was_in_it", comes_back),
    Case::new("case_b1_a_file_becomes_a_directory_and_a_directory_a_file", kinds_change),
    Case::new("case_c34_attributes_change_between_two_commits", attributes),
    Case::needing("case_b1_a_hundred_commits_apart", Needs::SealedParent, hundred_commits),
    Case::new("case_g15_a_sparse_checkout_goes_on_to_the_next_commit", sparse),
    Case::new("case_b3_directories_keep_mode_and_time", directories),
];

/// Enough files for a change of some of them to be the smaller part.
fn large_source(stage: &Stage) -> Repository {
    let source = stage.small_source();
    for number in 0..40 {
        source.write(format!("many/{}/file-{number}", number % 4), format!("number {number}\n"));
    }
    source.commit("many");
    source.settle();
    source
}

/// Commits what is in the source; a tree of it is all that it should be.
fn check_next(stage: &Stage, source: &Repository) -> Tree {
    source.commit("next");
    source.settle();
    let tree = check(stage, source, "HEAD");
    let opens = trace_status(stage, &tree);
    assert_eq!(opens, Vec::<PathBuf>::new(), "git status read files");
    tree
}

/// Makes a tree beside others, and compares it with what git makes.
fn check(stage: &Stage, source: &Repository, revision: &str) -> Tree {
    let tree = stage.create(&source.root, &["--rev", revision]);
    tree.assert_clean();
    stage.assert_like_git(&tree, source, revision);
    tree
}

/// Files of the tree that `git status` reads, where that can be seen.
fn trace_status(stage: &Stage, tree: &Tree) -> Vec<PathBuf> {
    if !fwt_tests::environment::has_program("strace") {
        return Vec::new();
    }
    let status = tree.git.command(["--no-optional-locks", "status", "--porcelain"]);
    let opens = trace::opens(&stage.sandbox, &status).into_iter();
    let paths = opens.filter(|open| !open.flags.contains("O_DIRECTORY")).map(|open| open.path);
    // `.git`, `.gitignore`, `.gitmodules`: git looks for its own rules.
    let is_content = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.starts_with(&tree.git.root) && !name.starts_with(".git")
    };
    paths.filter(is_content).collect()
}

/// Removes a tree; none that is left has it any more.
fn done(stage: &Stage, source: &Repository, trees: &[Tree]) {
    for tree in trees {
        stage.remove(tree, source);
    }
    stage.assert_no_debris(source, &[]);
}

/// How many layers the newest sealed tree has; none where nothing is sealed.
fn layers(stage: &Stage) -> Vec<usize> {
    let sealed = entries(&stage.sandbox.state().join("sealed"));
    let records = sealed.iter().filter_map(|path| fs::read(path.join("sealed.json")).ok());
    let mut counts: Vec<usize> = records
        .map(|json| {
            let record: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
            record["layers"].as_array().expect("a list").len()
        })
        .collect();
    counts.sort_unstable();
    counts
}

fn every_change(stage: &Stage) {
    let source = large_source(stage);
    source.write("deep/er/still/file", "deep\n");
    source.write("deep/er/other", "other\n");
    source.link("many/link", "file-0");
    let inner = stage.sandbox.repository("inner");
    inner.write("inner-file", "bytes\n");
    inner.commit("first");
    source.git(["submodule", "--quiet", "add", &inner.root.to_string_lossy(), "libs/one"]);
    let mut trees = vec![check_next(stage, &source)];
    source.write("file", "modified\n");
    source.chmod("many/0/file-0", 0o755);
    source.chmod("run.sh", 0o644);
    source.git(["mv", "many/1", "moved"]);
    source.git(["rm", "-r", "--quiet", "deep"]);
    fs::remove_file(source.path("many/2/file-2")).expect("it is tracked");
    fs::remove_file(source.path("link")).expect("it is tracked");
    source.link("link", "elsewhere");
    fs::remove_file(source.path("many/link")).expect("it is tracked");
    source.write("many/link", "a file by now\n");
    fs::remove_file(source.path("empty")).expect("it is tracked");
    source.link("empty", "run.sh");
    source.write("brand/new/file", "new\n");
    source.chmod("brand", 0o750);
    source.git(["rm", "--quiet", "libs/one"]);
    source.git(["submodule", "--quiet", "add", &inner.root.to_string_lossy(), "libs/two"]);
    trees.push(check_next(stage, &source));
    if stage.is_mounted() {
        assert_eq!(layers(stage), [1, 2]);
    }
    // The first is as it was.
    trees[0].assert_clean();
    stage.assert_like_git(&trees[0], &source, "HEAD~1");
    // And back again, over the second: the sealed tree is the first one's.
    source.git(["revert", "--no-edit", "HEAD"]);
    source.settle();
    trees.push(check(stage, &source, "HEAD"));
    done(stage, &source, &trees);
}

fn comes_back(stage: &Stage) {
    let source = large_source(stage);
    source.write("area/inner/one", "one\n");
    source.write("area/two", "two\n");
    let mut trees = vec![check_next(stage, &source)];
    fs::remove_dir_all(source.path("area")).expect("it is there");
    trees.push(check_next(stage, &source));
    assert!(!trees[1].path("area").exists());
    source.write("area/inner/three", "three\n");
    trees.push(check_next(stage, &source));
    assert_eq!(entries(&trees[2].path("area")), [trees[2].path("area/inner")]);
    // In one step what was in it goes, and something else comes.
    fs::remove_file(source.path("area/inner/three")).expect("it is there");
    source.write("area/inner/four/five", "five\n");
    trees.push(check_next(stage, &source));
    assert_eq!(entries(&trees[3].path("area/inner")), [trees[3].path("area/inner/four")]);
    source.write("area/inner/one", "one again\n");
    trees.push(check_next(stage, &source));
    done(stage, &source, &trees);
}

fn kinds_change(stage: &Stage) {
    let source = large_source(stage);
    source.write("place/below/file", "in a directory\n");
    source.write("place/other", "in a directory\n");
    source.write("thing", "a file\n");
    let mut trees = vec![check_next(stage, &source)];
    for round in 0..2 {
        fs::remove_dir_all(source.path("place")).expect("it is a directory");
        source.write("place", format!("a file, {round}\n"));
        fs::remove_file(source.path("thing")).expect("it is a file");
        source.write("thing/below/file", format!("in a directory, {round}\n"));
        trees.push(check_next(stage, &source));
        fs::remove_file(source.path("place")).expect("it is a file");
        source.write("place/new", format!("in a directory, {round}\n"));
        fs::remove_dir_all(source.path("thing")).expect("it is a directory");
        source.link("thing", "place");
        trees.push(check_next(stage, &source));
        assert_eq!(entries(&trees.last().expect("pushed").path("place")).len(), 1);
    }
    let tree = trees.last().expect("there are some");
    // What is made in such a directory, and removed with it, is gone.
    fs::remove_dir_all(tree.path("place")).expect("ours");
    fs::create_dir(tree.path("place")).expect("ours");
    assert_eq!(entries(&tree.path("place")), Vec::<PathBuf>::new());
    tree.git.git(["checkout", "--quiet", "--", "place"]);
    done(stage, &source, &trees);
}

/// The same blob is checked out with other line ends.
fn attributes(stage: &Stage) {
    let source = large_source(stage);
    source.write("lines.txt", "one\ntwo\n");
    let mut trees = vec![check_next(stage, &source)];
    for attributes in ["*.txt text eol=crlf\n", "*.txt -text\n", "*.txt eol=crlf\n"] {
        source.write(".gitattributes", attributes);
        source.commit("attributes");
        // The source has its files checked out as they are.
        trees.push(check(stage, &source, "HEAD"));
        source.write("many/0/file-0", attributes);
        source.commit("another file");
        trees.push(check(stage, &source, "HEAD"));
    }
    let crlf = fs::read(trees.last().expect("pushed").path("lines.txt")).expect("tracked");
    assert_eq!(crlf, b"one\r\ntwo\r\n");
    done(stage, &source, &trees);
}

fn hundred_commits(stage: &Stage) {
    let source = large_source(stage);
    let first = check_next(stage, &source);
    let before = sealed(stage);
    import(&source, &hundred());
    source.git(["reset", "--quiet", "--hard"]);
    source.settle();
    let last = check(stage, &source, "HEAD");
    assert_eq!(trace_status(stage, &last), Vec::<PathBuf>::new());
    let mut trees = vec![first, last];
    // One after the other, more than a stack may be high.
    for step in (1..=36).rev().step_by(2) {
        let revision = format!("HEAD~{step}");
        let tree = stage.create(&source.root, &["--rev", &revision]);
        tree.assert_clean();
        if step % 6 == 0 {
            stage.assert_like_git(&tree, &source, &revision);
        }
        trees.push(tree);
    }
    assert!(layers(stage).iter().all(|count| (1..=16).contains(count)), "{:?}", layers(stage));
    trees[0].assert_clean();
    for tree in &trees {
        drop(fs::write(tree.path("file"), "work\n"));
        tree.git.git(["checkout", "--quiet", "--", "file"]);
    }
    done(stage, &source, &trees);
    let after = sealed(stage);
    for (path, found) in &before {
        assert_eq!(after.get(path), Some(found), "{} has changed", path.display());
    }
}

/// A hundred commits, each with changes, new files and deletions, as `git fast-import` takes them.
fn hundred() -> String {
    let mut stream = String::new();
    let mut edit = |line: String| {
        stream.push_str(&line);
        stream.push('\n');
    };
    for number in 0..100 {
        let (file, next) = (number % 40, (number + 1) % 40);
        edit("commit HEAD".to_owned());
        edit(format!("committer A <a@b> {} +0000\ndata 4\nnext", 1_700_000_000 + number));
        if number == 0 {
            edit("from HEAD^0".to_owned());
        }
        let text = format!("at {number}\n");
        for path in
            [format!("many/{}/file-{file}", file % 4), format!("grown/{}/{number}", number % 7)]
        {
            edit(format!("M 100644 inline {path}\ndata {}\n{text}", text.len()));
        }
        if number % 3 == 0 {
            edit(format!("D many/{}/file-{next}", next % 4));
        }
        if number % 10 == 9 {
            edit(format!("D grown/{}", number % 7));
        }
    }
    stream
}

fn import(source: &Repository, stream: &str) {
    let mut child = source
        .command(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(stream.as_bytes()).expect("git reads");
    drop(input);
    assert!(child.wait().expect("git ends").success());
}

/// What is sealed, with the times that no program can set.
fn sealed(stage: &Stage) -> BTreeMap<PathBuf, (u64, u64, u32, i64, i64, i64)> {
    let mut pending: Vec<PathBuf> = entries(&stage.sandbox.state().join("sealed"))
        .into_iter()
        .map(|directory| directory.join("tree"))
        .filter(|tree| tree.exists())
        .collect();
    let mut found = BTreeMap::new();
    while let Some(path) = pending.pop() {
        let stat = fs::symlink_metadata(&path).expect("it was listed");
        if stat.is_dir() {
            pending.extend(entries(&path));
        }
        let times = (stat.mtime(), stat.ctime(), stat.ctime_nsec());
        found.insert(path, (stat.ino(), stat.nlink(), stat.mode(), times.0, times.1, times.2));
    }
    found
}

fn sparse(stage: &Stage) {
    let source = large_source(stage);
    source.git(["sparse-checkout", "set", "--cone", "many/0", "directory"]);
    let mut trees = Vec::new();
    for number in 0..3 {
        source.write("many/0/file-0", format!("round {number}\n"));
        source.write(format!("many/0/new-{number}"), "new\n");
        trees.push(check_next(stage, &source));
    }
    assert!(!trees[2].path("many/1").exists());
    done(stage, &source, &trees);
}

fn directories(stage: &Stage) {
    let source = large_source(stage);
    source.chmod("many/0", 0o700);
    source.chmod("many/1", 0o751);
    let first = check_next(stage, &source);
    source.write("many/0/file-0", "modified\n");
    source.write("many/1/new/file", "new\n");
    fs::remove_file(source.path("many/1/file-1")).expect("it is tracked");
    fs::remove_dir_all(source.path("many/3")).expect("it is there");
    source.chmod("many/1/new", 0o750);
    let second = check_next(stage, &source);
    let mode = |tree: &Tree, path: &str| {
        fs::metadata(tree.path(path)).expect("it is there").permissions().mode() & 0o7777
    };
    let time = |tree: &Tree, path: &str| {
        let stat = fs::metadata(tree.path(path)).expect("it is there");
        (stat.mtime(), stat.mtime_nsec())
    };
    if stage.is_over_sealed() {
        for path in ["", "many", "many/0", "many/1", "many/2", "directory/below"] {
            assert_eq!(mode(&second, path), mode(&first, path), "{path}");
            let is_top = Path::new(path).as_os_str().is_empty();
            // A tree's own `.git` is made in its topmost directory.
            assert!(is_top || time(&second, path) == time(&first, path), "{path}");
        }
        assert_eq!((mode(&second, "many/0"), mode(&second, "many/1/new")), (0o700, 0o750));
        assert_eq!(mode(&second, "many/1"), 0o751);
    }
    done(stage, &source, &[first, second]);
}
