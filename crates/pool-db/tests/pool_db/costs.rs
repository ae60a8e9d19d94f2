//! What opening, inserting and listing cost.

use std::time::Instant;

use pool_db::Registry;

use crate::common::{registry, worktree};

/// Prints what it costs; run with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement, not a check"]
fn what_it_costs() {
    let (home, registry) = registry();
    for number in 0..100 {
        registry.insert(&worktree(&format!("tree-{number}"))).unwrap();
    }
    drop(registry);
    let time = |what: &str, act: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..50 {
            act();
        }
        println!("{what}: {:?}", start.elapsed() / 50);
    };
    let mut number = 1000;
    time("open, insert, close", &mut || {
        number += 1;
        let registry = Registry::open(home.path()).unwrap();
        registry.insert(&worktree(&format!("tree-{number}"))).unwrap();
    });
    time("open, list 150 rows, close", &mut || {
        let registry = Registry::open_existing(home.path()).unwrap().unwrap();
        assert_eq!(registry.list_all().unwrap().len(), 150);
    });
    let registry = Registry::open(home.path()).unwrap();
    time("list 150 rows", &mut || assert_eq!(registry.list_all().unwrap().len(), 150));
    time("open beside another, insert, close", &mut || {
        number += 1;
        let registry = Registry::open(home.path()).unwrap();
        registry.insert(&worktree(&format!("tree-{number}"))).unwrap();
    });
    time("make a registry", &mut || {
        let home = tempfile::tempdir().unwrap();
        Registry::open(home.path()).unwrap();
    });
}
