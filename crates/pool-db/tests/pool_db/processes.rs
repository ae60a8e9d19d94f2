//! Many processes, and processes that are killed. Children are this test binary again.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use pool_db::{Error, Registry, State, Worktree};
use rusqlite::Connection;

use crate::common::{NOW, worktree};

const ROLE: &str = "POOL_DB_TEST_ROLE";
const HOME: &str = "POOL_DB_TEST_HOME";
const GO: &str = "go";

fn start(role: &str, home: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture"])
        .env(ROLE, role)
        .env(HOME, home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a child said: the test harness's own words may stand before the first.
fn words(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| Some(line.split_once("took ")?.1.to_owned()))
}

#[test]
fn child() {
    let Some(role) = env::var_os(ROLE) else { return };
    let home = env::var_os(HOME).unwrap();
    let home = Path::new(&home);
    match role.to_str().unwrap() {
        "claim" => claim_names(home),
        "insert" => insert_for_ever(home),
        "hang" => hang_before_commit(home),
        other => panic!("{other}"),
    }
}

fn claim_names(home: &Path) {
    while !home.with_extension(GO).exists() {
        sleep(Duration::from_millis(1));
    }
    let registry = Registry::open(home).unwrap();
    for number in 0..5 {
        match registry.insert(&worktree(&number.to_string())) {
            Ok(()) => println!("took {number}"),
            Err(error) => assert!(matches!(error, Error::NameTaken(_)), "{error:?}"),
        }
    }
}

fn insert_for_ever(home: &Path) {
    let registry = Registry::open(home).unwrap();
    loop {
        let row = worktree("");
        let row = Worktree { name: row.id.to_string(), path: home.join(row.id.as_str()), ..row };
        registry.insert(&row).unwrap();
        println!("took {}", row.id);
    }
}

fn hang_before_commit(home: &Path) {
    let raw = Connection::open(home.join("fwt.db")).unwrap();
    // A small cache, so that pages of the transaction are on the disk when it is killed.
    raw.execute_batch(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE;
         UPDATE worktrees SET name = name || hex(zeroblob(40000)), epoch = 7;",
    )
    .unwrap();
    println!("took the lock");
    sleep(Duration::from_secs(60));
}

#[test]
fn thirty_two_processes_open_a_new_registry_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let mut children: Vec<_> = (0..32).map(|_| start("claim", &home)).collect();
    std::fs::write(home.with_extension(GO), "").unwrap();
    let mut taken = Vec::new();
    for child in &mut children {
        taken.extend(words(child));
        assert!(child.wait().unwrap().success());
    }
    taken.sort();
    assert_eq!(taken, ["0", "1", "2", "3", "4"]);
}

#[test]
fn what_a_killed_process_reported_is_there_and_at_most_one_more() {
    let home = tempfile::tempdir().unwrap();
    let mut reported = Vec::new();
    for kill_after in [1, 3, 10, 30] {
        let mut child = start("insert", home.path());
        let mut words = words(&mut child);
        reported.extend(words.by_ref().take(kill_after));
        child.kill().unwrap();
        child.wait().unwrap();
        reported.extend(words);
    }
    let registry = Registry::open(home.path()).unwrap();
    let rows = registry.list_all().unwrap();
    let found: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    assert!(reported.iter().all(|name| found.contains(&name.as_str())), "a reported row is lost");
    assert!(found.len() <= reported.len() + 4, "{} of {}", found.len(), reported.len());
}

#[test]
fn a_process_killed_before_its_commit_leaves_no_trace_and_no_lock() {
    let home = tempfile::tempdir().unwrap();
    let registry = Registry::open(home.path()).unwrap();
    let row = worktree("name");
    registry.insert(&row).unwrap();
    for is_open_meanwhile in [true, false] {
        let registry = is_open_meanwhile.then(|| Registry::open(home.path()).unwrap());
        let mut child = start("hang", home.path());
        assert_eq!(words(&mut child).next().as_deref(), Some("the lock"));
        if let Some(registry) = &registry {
            assert_eq!(registry.get(row.id).unwrap().as_ref(), Some(&row), "readers do not wait");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let after = Registry::open(home.path()).unwrap();
        assert_eq!(after.list_all().unwrap(), std::slice::from_ref(&row));
        after.touch_used(row.id, NOW).unwrap();
    }
    registry.transition(row.id, State::Making, State::Held, 0).unwrap();
}
