//! SIGINT and SIGTERM in the middle of a large create.

use std::process::{Command, Stdio};
use std::time::Instant;

use fwt_tests::Answer;

use crate::scene::Scene;

const FILES: usize = 5_000;
const PER_DIRECTORY: usize = 100;
/// A signal is sent at so many different moments of a run, over and over until it has come in time
/// often enough.
const MOMENTS: u32 = 9;
const ROUNDS: u32 = 6;
const HITS: u32 = 2;

#[expect(clippy::print_stderr, reason = "a skipped test says what it lacks")]
fn interrupted(backend: &str, signal: &str, exit: i32) {
    // What we ignore, as a shell's background jobs ignore SIGINT, our children ignore too.
    if is_ignored(exit - 128) {
        eprintln!("skipped: this process was started with SIG{signal} ignored");
        return;
    }
    let scene = Scene::anywhere();
    for number in 0..FILES {
        let path = format!("many/{}/{number}", number / PER_DIRECTORY);
        scene.source.write(path, format!("file {number}\n"));
    }
    scene.source.commit("many");
    scene.source.settle();
    let (fwt, before) = (scene.fwt(), scene.state());
    let arguments = ["create", "t", "--backend", backend];
    let start = Instant::now();
    fwt.run(scene.root(), arguments).success();
    let duration = start.elapsed();
    fwt.run(scene.root(), ["rm", "t"]).success();
    let mut hits = 0;
    for attempt in 0..MOMENTS * ROUNDS {
        let mut command = fwt.command(scene.root(), arguments);
        command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("fwt runs");
        let after = duration * (attempt % MOMENTS + 1) / (MOMENTS + 1);
        std::thread::sleep(after);
        send(signal, child.id());
        let output = child.wait_with_output().expect("it ends");
        let answer = Answer::from_output(format!("{signal} {after:?} after the start"), output);
        match answer.code {
            // All was done.
            Some(0) => drop(fwt.run(scene.root(), ["rm", "t"]).success()),
            // Before it was there to catch it, or when nothing was left to clean up.
            None => drop(fwt.run(scene.root(), ["rm", "t"])),
            Some(_) => {
                answer.failure(exit, "interrupted");
                hits += 1;
            }
        }
        scene.assert_nothing(&answer.command);
        before.assert_unchanged(&answer.command);
        if hits == HITS {
            break;
        }
    }
    assert!(hits > 0, "no signal came in time");
    fwt.create(scene.root(), &["t"]);
}

/// Whether this process ignores a signal, as far as `/proc` says so.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// One that has ended already is no failure.
fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.args([format!("-{signal}"), process.to_string()]).stderr(Stdio::null());
    kill.status().expect("there is kill");
}

#[test]
fn case_b15_an_interrupted_create_leaves_nothing() {
    interrupted("copy", "INT", 130);
}

#[test]
fn case_b15_a_terminated_create_leaves_nothing() {
    interrupted("copy", "TERM", 143);
}

#[test]
fn case_b15_an_interrupted_checkout_leaves_nothing() {
    interrupted("checkout", "INT", 130);
}
