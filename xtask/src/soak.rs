//! `cargo xtask soak`: random steps against the built `fwt` for a long time, to see that what must
//! always hold does.

mod answer;
mod content;
mod creation;
mod editor;
mod finale;
mod model;
mod round;
mod site;
mod tally;
mod tree;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use clap::Args;

use self::site::Site;
use self::tally::Tally;
use crate::command::{cargo, require_success};
use crate::random::Random;
use crate::talk::{print_data, say};
use crate::workspace::Workspace;

/// What can be said about a run.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How long rounds are begun: 90s, 15m, 2h or 7d.
    #[arg(long = "for", value_name = "DURATION", default_value = "10m", value_parser = parse_time)]
    time: Duration,
    /// The same in minutes.
    #[arg(long, value_name = "N", conflicts_with = "time",
        value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: Option<u64>,
    /// The first round's seed, each later one's is one more. All choices follow from it; how the
    /// threads meet, and where a kill hits, does not [default: the clock's].
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Where rounds take place; given again, they take turns [default: the temporary directory].
    #[arg(long = "dir", value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// How many make and remove trees at once; one more edits the source.
    #[arg(long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// How many steps each of them does in a round.
    #[arg(long, value_name = "N", default_value_t = 40,
        value_parser = clap::value_parser!(u16).range(1..))]
    steps: u16,
    /// The program to try [default: a release build of this workspace].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Does rounds until the time is up, and prints what was done; the first thing that must not be
/// ends it, and its round is kept to look at.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => build()?,
    };
    let temporary = [std::env::temp_dir()];
    let directories = match arguments.directories.as_slice() {
        [] => &temporary[..],
        given => given,
    };
    let time =
        arguments.minutes.map_or(arguments.time, |minutes| Duration::from_secs(60 * minutes));
    let first = arguments.seed.unwrap_or_else(seed_of_now);
    let (start, tally) = (Instant::now(), Tally::default());
    let rounds = (first..).zip(directories.iter().cycle());
    let result = rounds
        .take_while(|(seed, _)| *seed == first || start.elapsed() < time)
        .try_for_each(|(seed, directory)| {
            say(&format!("soak: {:?}, seed {seed}, {}", start.elapsed(), directory.display()));
            run_round(&binary, directory, arguments, seed, &tally)
        });
    print_data(&tally.table());
    result
}

/// This does not ask for the workspace before it must: a plain user may have no toolchain.
fn build() -> anyhow::Result<PathBuf> {
    let workspace = Workspace::load()?;
    require_success(cargo(&workspace).args(["build", "--release", "--package", "fwt"]))?;
    Ok(workspace.release_binary())
}

fn run_round(
    binary: &Path,
    parent: &Path,
    arguments: &Arguments,
    seed: u64,
    tally: &Tally,
) -> anyhow::Result<()> {
    let directory = tempfile::Builder::new()
        .prefix("fwt-soak-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot make a directory in {}", parent.display()))?;
    let root = fs::canonicalize(directory.path())?;
    let site = Site::make(root, binary)?;
    let Arguments { workers, steps, .. } = *arguments;
    match round::run(&site, &mut Random::new(seed), workers, steps, tally) {
        Ok(()) => {
            site.unseal()?;
            directory.close().context("cannot remove what the round made")
        }
        Err(error) => {
            let (again, kept) = (parent.display(), directory.keep());
            let kept = kept.display();
            let options =
                format!("--seed {seed} --dir {again} --workers {workers} --steps {steps}");
            Err(error.context(format!("kept in {kept}; again with {options}\n")))
        }
    }
}

fn parse_time(text: &str) -> anyhow::Result<Duration> {
    let unit = text.chars().next_back().context("it is empty")?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => anyhow::bail!("it has no unit of s, m, h or d"),
    };
    let count = text.trim_end_matches(unit).parse::<u32>()?;
    Ok(Duration::from_secs(seconds * u64::from(count)))
}

/// Short enough to be typed again.
fn seed_of_now() -> u64 {
    const SEEDS: u64 = 1_000_000;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::from(since.unwrap_or_default().subsec_nanos()) % SEEDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!(parse_time("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_time("2h").unwrap(), Duration::from_secs(7_200));
        for wrong in ["", "5", "m", "-1s", "1.5h", "3ü"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
