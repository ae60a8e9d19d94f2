//! What cannot be done is refused by a typed error, and nothing is left of the attempt.

mod branches;
mod destination;
mod environment;
mod home;
mod limits;
mod meanwhile;
mod names;
mod sources;
mod surroundings;
mod ways;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use fwt_tests::Answer;

use crate::scene::Scene;

/// Panics unless `create` with these arguments is refused so, and nothing has changed.
#[track_caller]
fn refused(scene: &Scene, arguments: &[&str], exit: i32, code: &str) -> String {
    let before = scene.state();
    let mut words = vec!["create"];
    words.extend(arguments);
    let answer = scene.fwt().run(scene.root(), words);
    assert_clean(&answer, exit, code);
    before.assert_unchanged(&format!("{arguments:?}"));
    scene.assert_nothing(&format!("{arguments:?}"));
    answer.json()["error"]["message"].as_str().expect("there is a message").to_owned()
}

/// Panics unless it failed so, with one document and a message that a person can read.
#[track_caller]
fn assert_clean(answer: &Answer, exit: i32, code: &str) {
    let error = answer.failure(exit, code);
    let message = error["message"].as_str().expect("there is a message");
    assert!(!message.is_empty() && !message.contains("panicked"), "{answer}");
    assert_eq!(String::from_utf8_lossy(&answer.stderr), "", "{answer}");
}

/// Writes until no more than `free` bytes are left.
pub(crate) fn fill(path: &Path, free: usize) {
    let mut file = File::create(path).expect("the file system is ours");
    let block = vec![1; 1 << 20];
    while file.write_all(&block).is_ok() {}
    let size = file.metadata().expect("it is open").len();
    file.set_len(size.saturating_sub(free as u64)).expect("it is ours");
    file.sync_all().expect("what fits can be written");
}
