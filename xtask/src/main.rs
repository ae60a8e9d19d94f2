//! The project's own chores, as `cargo xtask <chore>`.

mod bench;
mod ci;
mod command;
mod exclusive;
mod filesystems;
mod install;
mod layers;
mod machine;
mod macos;
mod random;
mod soak;
mod talk;
mod test;
mod tidy;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::filesystems::Room;
use crate::install::Installation;
use crate::test::Profile;
use crate::workspace::Workspace;

fn main() -> ExitCode {
    match run(CommandLine::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line with its causes: the backtrace of a chore helps nobody.
            talk::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    let workspace = Workspace::load;
    match chore {
        Chore::Ci => ci::run(&workspace()?),
        Chore::Test(arguments) => test::run(&workspace()?, &arguments.options()),
        Chore::Bench(arguments) => bench::run(&workspace()?, &arguments.options()),
        Chore::Soak(arguments) => soak::run(&arguments),
        Chore::Filesystems { directory, action: FilesystemsAction::Up { gib } } => {
            let room = gib.map_or(Room::Tests, |gib| Room::Bytes(u64::from(gib) << 30));
            filesystems::print_up(&workspace()?, directory.as_deref(), room)
        }
        Chore::Filesystems { directory, action: FilesystemsAction::Down } => {
            filesystems::take_down_at(&workspace()?, directory.as_deref())
        }
        Chore::Tidy => tidy::run(&workspace()?),
        Chore::Layers => layers::run(&workspace()?),
        Chore::MacosCheck => macos::check(&workspace()?),
    }
}

/// The project's own chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must hold before a change is merged.
    Ci,
    /// Runs all tests, on every filesystem this machine can make; as root, a second time as a
    /// plain user.
    Test(TestArguments),
    /// Measures fwt beside the other ways to make a tree; a missed target is no failure.
    Bench(bench::Arguments),
    /// Does random steps for a long time, and fails if anything that must hold does not.
    Soak(soak::Arguments),
    /// Makes or removes the filesystems that the tests run on.
    Filesystems {
        /// Where images and mount points live [default: target/filesystems].
        #[arg(long = "dir", value_name = "DIR", global = true)]
        directory: Option<PathBuf>,
        #[command(subcommand)]
        action: FilesystemsAction,
    },
    /// Rules about the source text that no lint knows.
    Tidy,
    /// Which crate may import which.
    Layers,
    /// Whether the workspace compiles for macOS, where the tools for that are installed.
    MacosCheck,
}

#[derive(Subcommand)]
enum FilesystemsAction {
    /// Mounts them; stdout is shell code that exports where they are.
    Up {
        /// The size of each, instead of what the tests need; the one that is always full is then
        /// left out.
        #[arg(long, value_name = "GIB", value_parser = clap::value_parser!(u8).range(1..))]
        gib: Option<u8>,
    },
    /// Unmounts and removes them, also what a crashed run left.
    Down,
}

#[derive(Args)]
struct TestArguments {
    /// Never install packages; only say which are missing.
    #[arg(long)]
    no_install: bool,
    /// Handed to nextest: names to filter by, or its options.
    #[arg(last = true, value_name = "NEXTEST ARGS")]
    runner_arguments: Vec<String>,
}

impl TestArguments {
    fn options(self) -> test::Options {
        let installation =
            if self.no_install { Installation::Forbidden } else { Installation::Allowed };
        let profile = if std::env::var_os("CI").is_some() { Profile::Ci } else { Profile::Default };
        test::Options { installation, profile, runner_arguments: self.runner_arguments }
    }
}
