//! A round: workers and an editor at the same time, then the check of what they leave.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context as _, bail};

use super::editor::{self, Source};
use super::model::Model;
use super::site::Site;
use super::tally::Tally;
use super::{finale, worker};
use crate::random::Random;

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Round<'run> {
    pub(crate) site: &'run Site,
    pub(crate) tally: &'run Tally,
    /// What the plain directory holds.
    pub(crate) plain: Model,
    /// Whose turn it is to put things in order.
    pub(crate) repairs: Mutex<()>,
    working: AtomicU16,
    has_failed: AtomicBool,
}

impl Round<'_> {
    /// Whether a worker has steps to do.
    pub(crate) fn goes_on(&self) -> bool {
        self.working.load(Ordering::Relaxed) > 0 && !self.has_failed()
    }

    /// Whether everybody is to stop, so that what is wrong stays as it is.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// Does it in an empty site.
pub(crate) fn run(
    site: &Site,
    random: &mut Random,
    workers: u16,
    steps: u16,
    tally: &Tally,
) -> anyhow::Result<()> {
    let plain = Model::plain(random);
    plain.write(&site.plain(), &site.scratch("plain"))?;
    let source = editor::make_source(site, random).context("cannot make the source")?;
    let (working, has_failed) = (AtomicU16::new(workers), AtomicBool::new(false));
    let repairs = Mutex::default();
    let round = Round { site, tally, plain, repairs, working, has_failed };
    let source = run_threads(&round, source, random, steps)?;
    finale::check(&round, &source).context("after everybody stopped")
}

fn run_threads(
    round: &Round<'_>,
    source: Source,
    random: &mut Random,
    steps: u16,
) -> anyhow::Result<Source> {
    let mut seeds = || Random::new(random.next());
    let failing = |is_failure| round.has_failed.fetch_or(is_failure, Ordering::Relaxed);
    thread::scope(|scope| {
        let seed = seeds();
        let editor = scope.spawn(move || {
            let result = editor::run(round, source, seed);
            failing(result.is_err());
            result
        });
        let workers = (0..round.working.load(Ordering::Relaxed)).map(|number| {
            let seed = seeds();
            scope.spawn(move || {
                let result = worker::run(round, number, seed, steps);
                failing(result.is_err());
                round.working.fetch_sub(1, Ordering::Relaxed);
                result
            })
        });
        let workers = workers.collect::<Vec<_>>();
        let mut failures = workers.into_iter().filter_map(|it| join(it).err()).collect::<Vec<_>>();
        match join(editor) {
            Ok(source) if failures.is_empty() => return Ok(source),
            Ok(_) => {}
            Err(error) => failures.push(error),
        }
        let texts = failures.iter().map(|error| format!("{error:#}")).collect::<Vec<_>>();
        bail!("{}", texts.join("\n\nand\n\n"))
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().unwrap_or_else(|_| bail!("a thread of the round panicked"))
}
