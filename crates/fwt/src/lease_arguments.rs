//! The command line of what holds worktrees.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::arguments::{CreateArguments, id_parser};

/// How to make a worktree, and how to hold it.
#[derive(Debug, Args)]
pub(crate) struct AcquireArguments {
    #[command(flatten)]
    pub(crate) create: CreateArguments,
    /// How long it is held after the last touch, such as 90s, 15m, 2h or 7d
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    pub(crate) ttl: Duration,
    /// Who holds it, for people
    #[arg(long, value_name = "TEXT", default_value = "unnamed")]
    pub(crate) holder: String,
    /// The process it is held for
    #[arg(long)]
    pub(crate) pid: Option<u32>,
}

/// Which worktree is held, and the proof.
#[derive(Debug, Args)]
pub(crate) struct LeaseArguments {
    /// Its id, its name, or a path inside it
    #[arg(value_name = "ID", value_parser = id_parser())]
    pub(crate) worktree: OsString,
    /// The id of the lease, as `acquire` said it
    #[arg(long, value_name = "LEASE")]
    pub(crate) lease: String,
}

/// A tenth of a century is as good as for ever, and no sum with it overflows.
const MOST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_secs(1) || duration > MOST {
        return Err("it must be between 1s and 3650d".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_and_bounds() {
        let check = |text, seconds: Option<u64>| {
            assert_eq!(duration(text).ok(), seconds.map(Duration::from_secs), "{text}");
        };
        check("90s", Some(90));
        check("15m", Some(900));
        check("2h", Some(7_200));
        check("7d", Some(604_800));
        for bad in ["", "7", "0s", "10ms", "-1h", "3651d", "soon"] {
            check(bad, None);
        }
    }
}
