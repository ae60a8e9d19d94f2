//! Which faults are tried, on which stage.

use std::num::NonZero;
use std::path::Path;
use std::thread;

use fwt_tests::{Answer, Filesystem, Fwt, Sandbox};

use crate::scene::Scene;

/// Calls at the beginning and at the end that are all tried; of those between, every so many.
const ALL_AT_ENDS: u64 = 150;
const STEP_BETWEEN: u64 = 7;
/// More gain little: most of the time goes to programs that are started.
const MAX_STAGES: usize = 4;

/// A stage for one backend, on a file system where it works; `None` where there is none.
pub(crate) fn stage(backend: &str) -> Option<Scene> {
    match backend {
        "reflink" => Some(Scene::within(Sandbox::on(Filesystem::Xfs)?)),
        _ => Some(Scene::in_memory()),
    }
}

/// Runs `fwt` with a fault.
pub(crate) fn run(fwt: &Fwt, directory: &Path, arguments: &[&str], fault: &str) -> Answer {
    let mut command = fwt.command(directory, arguments);
    Answer::of(command.env("FWT_FAULTS", fault).arg("--json"))
}

/// How many calls this run makes.
pub(crate) fn count(fwt: &Fwt, directory: &Path, arguments: &[&str]) -> u64 {
    let answer = run(fwt, directory, arguments, "count");
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    let number = said.lines().find_map(|line| line.strip_prefix("fs-sys calls: "));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

/// Lets each call of a run meet a fault, shared out between stages of their own, one a processor. A
/// stage says how many calls there are. Nothing is tried where there is no stage.
pub(crate) fn at_each_call<S>(
    new_stage: impl Fn() -> Option<S> + Sync,
    calls: impl Fn(&S) -> u64 + Sync,
    meet: impl Fn(&S, u64) + Sync,
) {
    at_calls(new_stage, |stage| chosen(calls(stage)).collect(), meet);
}

/// The same with about `most` of a run's calls, evenly spread, from the `first` on: for runs that have
/// most of their calls in common with others, which begin elsewhere.
pub(crate) fn at_some_calls<S>(
    (first, most): (u64, u64),
    new_stage: impl Fn() -> Option<S> + Sync,
    calls: impl Fn(&S) -> u64 + Sync,
    meet: impl Fn(&S, u64) + Sync,
) {
    let spread = |stage: &S| {
        let calls = calls(stage);
        let step = usize::try_from(calls.div_ceil(most)).expect("it is small");
        (first..=calls + 2).step_by(step).collect()
    };
    at_calls(new_stage, spread, meet);
}

fn at_calls<S>(
    new_stage: impl Fn() -> Option<S> + Sync,
    chosen: impl Fn(&S) -> Vec<u64> + Sync,
    meet: impl Fn(&S, u64) + Sync,
) {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_STAGES);
    let work = |first: usize| {
        let Some(stage) = new_stage() else { return };
        let chosen = chosen(&stage).into_iter().skip(first);
        chosen.step_by(workers).for_each(|nth| meet(&stage, nth));
    };
    thread::scope(|scope| {
        for first in 0..workers {
            let work = &work;
            scope.spawn(move || work(first));
        }
    });
}

/// The calls to meet a fault at, of so many. A few more than were counted: another run may take
/// another way.
fn chosen(calls: u64) -> impl Iterator<Item = u64> {
    let is_chosen = move |nth: &u64| {
        *nth <= ALL_AT_ENDS || nth + ALL_AT_ENDS > calls || nth.is_multiple_of(STEP_BETWEEN)
    };
    (1..=calls + 2).filter(is_chosen)
}
