//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;

use super::Options;
use super::maker::Maker;
use super::plan::{Large, Plan, Thoroughness};

const ROUNDS: usize = 5;
const QUICK_ROUNDS: usize = 3;

/// What can be said about a run.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are bools to clap; `options` ends that")]
pub(crate) struct Arguments {
    /// Fewer files, fewer runs, and nothing of 300,000 files.
    #[arg(long)]
    quick: bool,
    /// Files in the large repository [default: 92000, or 10000 if quick]; the other repositories
    /// are in proportion.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    files: Option<u32>,
    /// Take the crates in cargo's cache for the large repository.
    #[arg(long)]
    vendored: bool,
    /// Measure in this directory; may be given again. What is made once and used in every run
    /// stays in DIR/fwt-bench [default: where `FWT_TEST_EXT4` and the like point, else images].
    #[arg(long = "dir", value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// How often everything is measured, after a warm-up [default: 5, or 3 if quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: Option<u32>,
    /// Compare with these only [default: all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PEERS")]
    peers: Vec<Maker>,
    /// Write all samples to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a chart of the ratios to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Arguments {
    /// The same without defaults.
    pub(crate) fn options(self) -> Options {
        let thoroughness = if self.quick { Thoroughness::Quick } else { Thoroughness::Full };
        let large = if self.vendored { Large::Vendored } else { Large::Generated };
        let default_rounds = if self.quick { QUICK_ROUNDS } else { ROUNDS };
        let rounds = self.runs.map_or(default_rounds, |runs| runs as usize);
        let peers = if self.peers.is_empty() { Maker::PEERS.to_vec() } else { self.peers };
        let files = self.files.map(|files| files as usize);
        Options {
            plan: Plan::new(thoroughness, large, files, rounds, peers),
            directories: self.directories,
            json: self.json,
            svg: self.svg,
        }
    }
}
