//! What programs do in a tree: for databases, mappings, package managers and builds it is a directory like
//! any other.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use fwt_tests::environment::succeed;
use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::matrix::{Case, Needs};
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b12_a_database_stays_sound", database),
    Case::needing("case_b12_writes_through_a_mapping", Needs::Compiler, mapped),
    Case::new("packages_are_installed_again_and_again", packages),
    Case::needing("a_warm_build_builds_nothing", Needs::CarriesAndCargo, build),
];

const ROWS: u32 = 400;

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("the database opens");
    connection.pragma_update(None, "mmap_size", 1 << 30).expect("it may be mapped");
    connection
}

#[track_caller]
fn assert_sound(path: &Path, rows: u32, what: &str) {
    let connection = open(path);
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it answers");
    assert_eq!(check, "ok", "{what}");
    let count: u32 = connection
        .query_row("SELECT count(*) FROM t WHERE length(bytes) = 8192", [], |row| row.get(0))
        .expect("it answers");
    assert_eq!(count, rows, "{what}");
}

fn insert(connection: &mut Connection, rows: u32) {
    let transaction = connection.transaction().expect("nobody else writes");
    for _ in 0..rows {
        transaction.execute("INSERT INTO t VALUES (randomblob(8192))", []).expect("there is room");
    }
    transaction.commit().expect("there is room");
}

/// A database that is tracked, and so is below the tree's own layer, is worked on with its log beside it: the
/// log's index is memory that two connections share.
fn database(stage: &Stage) {
    let source = stage.small_source();
    let mut connection = open(&source.path("data.db"));
    connection.execute_batch("CREATE TABLE t (bytes BLOB)").expect("it is new");
    insert(&mut connection, ROWS);
    drop(connection);
    source.commit("a database");
    source.settle();
    let [tree, other] = ["one", "two"].map(|name| stage.create(&source.root, &[name]));
    let path = tree.path("data.db");
    let mut writer = open(&path);
    let mode: String = writer
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .expect("it answers");
    assert_eq!(mode, "wal");
    // What is committed stays in the log.
    writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("it knows that");
    let reader = open(&path);
    let count = || -> u32 {
        reader.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).expect("it answers")
    };
    for round in 1..=4 {
        insert(&mut writer, ROWS / 4);
        assert_eq!(count(), ROWS + round * ROWS / 4);
        writer
            .execute("UPDATE t SET bytes = randomblob(8192) WHERE rowid % 3 = 0", [])
            .expect("ok");
    }
    reader.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("it knows that");
    drop((reader, writer));
    assert!(fs::metadata(tree.path("data.db-wal")).expect("the log stays").len() > 1 << 20);
    stage.remount(&tree, &source);
    assert_sound(&path, 2 * ROWS, "with its log");
    stage.remount(&tree, &source);
    assert_sound(&path, 2 * ROWS, "without a log");
    assert_eq!(tree.git.git(["status", "--porcelain"]), " M data.db");
    for (git, what) in [(&other.git, "the other tree"), (&source, "the source")] {
        assert_sound(&git.path("data.db"), ROWS, what);
        assert_eq!(git.git(["status", "--porcelain"]), "", "{what}");
    }
    stage.fwt().run(&source.root, ["rm", tree.made.id()]).failure(4, "unsaved-work");
}

/// Writes into every page of a file through a mapping, says so, and writes once more when it may go on.
const WRITER: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
int main(int count, char **words) {
    struct stat found;
    int file = open(words[1], O_RDWR);
    if (count != 2 || file < 0 || fstat(file, &found)) return 1;
    char *bytes = mmap(0, found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) return 2;
    for (off_t at = 0; at < found.st_size; at += 4096) bytes[at] = 'm';
    puts("written");
    fflush(stdout);
    getchar();
    for (off_t at = 1; at < found.st_size; at += 4096) bytes[at] = 'n';
    return 0;
}
"#;

fn mapped(stage: &Stage) {
    const PAGES: usize = 64;
    let source = stage.small_source();
    source.write("pages", vec![b'.'; PAGES * 4096]);
    source.commit("pages");
    source.settle();
    let [tree, other] = ["one", "two"].map(|name| stage.create(&source.root, &[name]));
    let program = stage.sandbox.path("writer");
    fs::write(stage.sandbox.path("writer.c"), WRITER).expect("the sandbox is ours");
    succeed(stage.sandbox.command("cc").args(["-o", "writer", "writer.c"]));
    let mut writer = Command::new(program)
        .arg(tree.path("pages"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was compiled");
    let mut said = String::new();
    let output = writer.stdout.take().expect("it is a pipe");
    BufReader::new(output).read_line(&mut said).expect("it says so");
    assert_eq!(said, "written\n");
    let expected = |mark: &[u8]| -> Vec<u8> {
        let mut page = vec![b'.'; 4096];
        page[..mark.len()].copy_from_slice(mark);
        page.repeat(PAGES)
    };
    let read = |git: &Repository| fs::read(git.path("pages")).expect("it is tracked");
    assert!(read(&tree.git) == expected(b"m"), "what is written is read at once");
    assert_eq!(tree.git.git(["status", "--porcelain"]), " M pages");
    writer.stdin.take().expect("it is a pipe").write_all(b"\n").expect("it reads");
    assert!(writer.wait().expect("it ends").success());
    stage.remount(&tree, &source);
    assert!(read(&tree.git) == expected(b"mn"), "what was written stays");
    for git in [&other.git, &source] {
        assert!(read(git) == expected(b""), "{} has changed", git.root.display());
        assert_eq!(git.git(["status", "--porcelain"]), "");
    }
    tree.git.commit("mapped");
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
}

/// Replaces `node_modules` as `npm ci` does: the old is moved aside, the new grows elsewhere and is moved
/// into place part by part, with links and tools, and the old is removed.
fn install(root: &Path, version: usize) {
    let modules = root.join("node_modules");
    let old = root.join(format!(".node_modules-{version}"));
    if modules.exists() {
        fs::rename(&modules, &old).expect("a directory can be renamed");
    }
    let staging = modules.join(".staging");
    fs::create_dir_all(&staging).expect("it is ours");
    fs::create_dir_all(modules.join("@scope")).expect("it is ours");
    fs::create_dir_all(modules.join(".bin")).expect("it is ours");
    for number in 0..30 {
        let package = staging.join(format!("p-{number}"));
        fs::create_dir_all(package.join("lib/deep")).expect("it is ours");
        let text = format!("{{\"version\":\"{version}.{number}\"}}\n");
        for file in ["package.json", "lib/index.js", "lib/deep/tool.js"] {
            fs::write(package.join(file), &text).expect("it is ours");
        }
        fs::hard_link(package.join("lib/index.js"), package.join("lib/again.js")).expect("ours");
        let tool = package.join("lib/deep/tool.js");
        fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let scope = if number % 5 == 0 { "@scope/" } else { "" };
        let place = modules.join(format!("{scope}p{number}"));
        fs::rename(&package, &place).expect("a directory can be renamed");
        let target = format!("../{scope}p{number}/lib/deep/tool.js");
        let link = modules.join(".bin").join(format!("tool-{number}"));
        std::os::unix::fs::symlink(target, link).expect("it is ours");
    }
    fs::remove_dir(&staging).expect("it is empty");
    let lock = modules.join(".package-lock.json");
    for round in 0..2 {
        let new = modules.join(".package-lock.json.new");
        fs::write(&new, format!("{version} {round}\n")).expect("it is ours");
        fs::rename(new, &lock).expect("a file can be replaced");
    }
    if old.exists() {
        fs::remove_dir_all(&old).expect("it is ours");
    }
    // And one package by itself, in the place of the old.
    let package = modules.join("p1");
    fs::remove_dir_all(&package).expect("it is there");
    fs::create_dir(&package).expect("it is free");
    fs::write(package.join("index.js"), format!("{version}\n")).expect("it is ours");
}

fn packages(stage: &Stage) {
    let source = stage.small_source();
    source.write(".gitignore", "node_modules/\n.node_modules-*/\n");
    source.commit("rules");
    source.settle();
    install(&source.root, 0);
    let carry = if stage.carries() { "all" } else { "clean" };
    let tree = stage.create(&source.root, &["--carry", carry]);
    let plain = stage.sandbox.path("plain");
    succeed(stage.sandbox.command("cp").arg("-a").arg(&tree.git.root).arg(&plain));
    let before = Snapshot::of(&source.root);
    for version in 1..=2 {
        for root in [&plain, &tree.git.root] {
            install(root, version);
        }
        let expected = Snapshot::of(&plain);
        Snapshot::of(&tree.git.root).assert_same(&expected, Detail::Git, "after an install");
        stage.remount(&tree, &source);
        Snapshot::of(&tree.git.root).assert_same(&expected, Detail::Git, "mounted anew");
    }
    Snapshot::of(&source.root).assert_same(&before, Detail::Full, "the source");
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    // It can all be installed again.
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}

/// `cargo` with its compiler, where both run in an environment of their own.
pub(crate) fn cargo() -> Option<&'static [PathBuf; 2]> {
    static FOUND: OnceLock<Option<[PathBuf; 2]>> = OnceLock::new();
    let look = || {
        let cargo = PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Beside it, the compiler is not one that looks in a home which it is.
        let beside = cargo.with_file_name("rustc");
        let compiler = if beside.is_file() { beside } else { "rustc".into() };
        let runs = |program: &PathBuf| {
            let mut command = fwt_tests::environment::command(program, Path::new("/nowhere"));
            command.arg("--version").output().is_ok_and(|output| output.status.success())
        };
        let both = [cargo, compiler];
        both.iter().all(runs).then_some(both)
    };
    FOUND.get_or_init(look).as_ref()
}

/// What of the library is built, as cargo tells it in JSON; the rest was there.
fn built(stage: &Stage, directory: &Path) -> Vec<bool> {
    let [cargo, compiler] = cargo().expect("it was looked for");
    let mut command = stage.sandbox.command(cargo);
    command.current_dir(directory).env("RUSTC", compiler);
    command.env("CARGO_HOME", stage.sandbox.path("cargo-home"));
    let output = succeed(command.args(["build", "--offline", "--message-format", "json"]));
    let text = String::from_utf8(output.stdout).expect("it is JSON");
    let messages = text.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).expect("each line is a document")
    });
    let artifacts = messages.filter(|message| message["reason"] == "compiler-artifact");
    artifacts.map(|artifact| artifact["fresh"] == false).collect()
}

/// Times are kept, and so is what depends on them: a tree with a `target` has nothing to build.
fn build(stage: &Stage) {
    let source = stage.small_source();
    let manifest =
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    source.write("Cargo.toml", manifest);
    source.write("src/lib.rs", "pub mod other;\n");
    source.write("src/other.rs", "pub fn one() -> u32 {\n    1\n}\n");
    source.write(".gitignore", "target/\n");
    assert_eq!(built(stage, &source.root), [true], "it is built once");
    source.commit("a library");
    assert_eq!(built(stage, &source.root), [false], "and then it is there");
    for mode in ["linked", "standalone"] {
        let tree = stage.create_as(mode, &source, &["--carry", "all"]);
        assert_eq!(built(stage, &tree.git.root), [false], "{mode}");
        stage.remount(&tree, &source);
        assert_eq!(built(stage, &tree.git.root), [false], "{mode}, mounted anew");
        tree.git.write("src/other.rs", "pub fn one() -> u32 {\n    2\n}\n");
        assert_eq!(built(stage, &tree.git.root), [true], "{mode}: an edit is seen");
        assert_eq!(built(stage, &source.root), [false], "{mode}: the source has nothing of it");
        stage.discard(&tree, &source);
    }
}
