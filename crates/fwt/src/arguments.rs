//! The command line, as clap reads it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use fast_worktree::Kind;
use fast_worktree::api::TreeOwner;

use crate::checkpoint_arguments::CheckpointCommand;
use crate::help;
use crate::lease_arguments::{AcquireArguments, LeaseArguments};

/// Reads the command line, the program's name first.
pub(crate) fn parse(words: &[OsString]) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(words)
}

/// Private worktrees for coding agents, in milliseconds
#[derive(Debug, Parser)]
#[command(
    name = "fwt",
    bin_name = "fwt",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100,
    after_help = help::after_short(),
    after_long_help = help::after_long(),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
    /// Print one JSON document, errors included, on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print data and errors only
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "verbose")]
    pub(crate) quiet: u8,
    /// Log what is done on standard error; twice for more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a worktree and print its path
    Create(CreateArguments),
    /// Make a worktree, hold it by a lease, and print its path
    Acquire(AcquireArguments),
    /// Go on holding a worktree
    Touch(LeaseArguments),
    /// Hold a worktree no more; it stays until it is removed
    Release(LeaseArguments),
    /// Name the worktrees of this repository
    List(ListArguments),
    /// Describe a worktree
    Show(ShowArguments),
    /// Remove a worktree, unless work would be lost; its branch stays
    Rm(RemoveArguments),
    /// Mount worktrees again after a reboot
    Attach(AttachArguments),
    /// Seal commits, so that the first worktree of each is made in no time
    Seal(SealArguments),
    /// Say what worktrees and sealed trees take
    Du,
    /// Say what works here, and what is out of order
    Doctor(DoctorArguments),
    /// Record what each prompt changes in a tree, and compare
    #[command(subcommand)]
    Checkpoint(CheckpointCommand),
    /// Let the `fwt.toml` of a source name commands, as it is now
    Trust(TrustArguments),
    /// Print the JSON Schema of requests, responses and errors
    Schema,
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// Which worktree to mount.
#[derive(Debug, Args)]
pub(crate) struct AttachArguments {
    /// Its id, its name, or a path inside it [default: all]
    #[arg(value_name = "ID", value_parser = id_parser())]
    pub(crate) worktree: Option<OsString>,
}

/// Which commits to seal.
#[derive(Debug, Args)]
pub(crate) struct SealArguments {
    /// A directory in the checkout they are sealed for [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) source: Option<PathBuf>,
    /// A revision; may be given again [default: HEAD of the source]
    #[arg(long)]
    pub(crate) rev: Vec<String>,
    /// The only backend to seal for: overlay or btrfs [default: the first that works here]
    #[arg(long, value_parser = backend_parser())]
    pub(crate) backend: Option<Kind>,
    /// What becomes of files under the `lfs` filter
    #[arg(long, value_enum, default_value_t)]
    pub(crate) lfs: LfsArgument,
}

/// Which source to trust.
#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// A directory in it [default: the current one]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) source: Option<PathBuf>,
    /// Trust no file of this source any more
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// What to put in order.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Put in order what is fwt's own, without touching anybody's work
    #[arg(long)]
    pub(crate) fix: bool,
}

/// How to make a worktree.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct CreateArguments {
    /// Its name, unique in the repository [default: its id]
    pub(crate) name: Option<String>,
    /// A directory in the checkout to make it from [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) source: Option<PathBuf>,
    /// Where to put it [default: a directory of fwt's own]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) at: Option<PathBuf>,
    /// The revision to start at [default: HEAD of the source]
    #[arg(long)]
    pub(crate) rev: Option<String>,
    /// A branch to create there [default: none, HEAD is detached]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// What it starts with
    #[arg(long, value_enum, default_value_t)]
    pub(crate) carry: CarryArgument,
    /// Leave out the ignored files that `.worktreeinclude` selects
    #[arg(long)]
    pub(crate) no_include: bool,
    /// How it hangs together with the repository
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: ModeArgument,
    /// The only backend to use; may be given again [default: the first that works here]
    #[arg(long, value_parser = backend_parser())]
    pub(crate) backend: Vec<Kind>,
    /// Whether bytes may be copied where they cannot be shared
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cow: CowArgument,
    /// What becomes of files under the `lfs` filter
    #[arg(long, value_enum, default_value_t)]
    pub(crate) lfs: LfsArgument,
    /// Fetch from all remotes before the revision is looked up
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Give the tree to another user, by number; needs root
    #[arg(long, value_name = "UID:GID", value_parser = owner)]
    pub(crate) owner: Option<TreeOwner>,
}

/// What becomes of files under the `lfs` filter.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LfsArgument {
    /// Use content that the source has; the filter brings the rest
    #[default]
    Reuse,
    /// Leave pointers; the filter does not run
    Pointer,
}

/// What a worktree starts with.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum CarryArgument {
    /// A commit
    #[default]
    Clean,
    /// The source as it is now: modified, staged, deleted and untracked files too
    Dirty,
    /// The same with ignored files
    All,
}

/// How a worktree hangs together with its repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArgument {
    /// A git linked worktree: objects and refs are shared
    #[default]
    Linked,
    /// A repository of its own, which works with nothing else there
    Standalone,
    /// Short for linked, by the `checkout` backend
    Checkout,
}

/// Whether a tree may cost bytes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum CowArgument {
    /// Share where it can be done, else copy
    #[default]
    Auto,
    /// Share, or fail
    Require,
    /// Copy
    Never,
}

/// Which worktrees to name.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Those of every repository
    #[arg(long)]
    pub(crate) all: bool,
}

/// Which worktree to describe.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Its id, its name, or a path inside it
    #[arg(value_name = "ID", value_parser = id_parser())]
    pub(crate) worktree: OsString,
}

/// Which worktree to remove.
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Its id, its name, or a path inside it
    #[arg(value_name = "ID", value_parser = id_parser())]
    pub(crate) worktree: OsString,
    /// Destroy unsaved work with it
    #[arg(long)]
    pub(crate) discard: bool,
}

/// The names are the service's own, so that a backend added there is known here.
fn backend_parser() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(fast_worktree::backends().map(Kind::name)).map(|name| {
        let is_named = |kind: &Kind| kind.name() == name;
        fast_worktree::backends().find(is_named).expect("the parser admits these names only")
    })
}

/// Numbers only: names are looked up in a database that a sandbox may not share.
fn owner(text: &str) -> Result<TreeOwner, String> {
    let numbers = text
        .split_once(':')
        .and_then(|(uid, gid)| Some(TreeOwner { uid: uid.parse().ok()?, gid: gid.parse().ok()? }));
    // chown(2) takes the highest number for "leave it".
    numbers
        .filter(|owner| owner.uid != u32::MAX && owner.gid != u32::MAX)
        .ok_or_else(|| "two numbers are needed, like 1000:1000".to_owned())
}

/// A path may be of any bytes, but an empty one is a variable that was not set.
pub(crate) fn id_parser() -> impl clap::builder::TypedValueParser<Value = OsString> {
    clap::builder::PathBufValueParser::new().map(PathBuf::into_os_string)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn check(words: &str) -> Result<Arguments, clap::error::ErrorKind> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        parse(&words).map_err(|error| error.kind())
    }

    #[test]
    fn the_definition_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_anywhere() {
        for words in ["fwt -C d --json -vv list", "fwt list -C d --json -v -v"] {
            let global = check(words).unwrap().global;
            assert_eq!(global.directory, Some(PathBuf::from("d")), "{words}");
            assert_eq!((global.json, global.verbose), (true, 2), "{words}");
        }
    }

    #[test]
    fn an_owner_is_two_numbers() {
        let create = |words: &str| {
            let arguments = check(words).unwrap();
            let Command::Create(create) = arguments.command else { panic!("{arguments:?}") };
            create.owner
        };
        let expected = Some(TreeOwner { uid: 1000, gid: 100 });
        assert_eq!(create("fwt create --owner 1000:100"), expected);
        for bad in ["1000", "me:us", "1000:", "-1:0", "4294967295:0", "0:4294967295"] {
            assert!(check(&format!("fwt create --owner {bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_backend_can_be_named() {
        for kind in fast_worktree::backends() {
            let arguments = check(&format!("fwt create --backend {}", kind.name())).unwrap();
            let Command::Create(create) = arguments.command else { panic!("{arguments:?}") };
            assert_eq!(create.backend, [kind]);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        use clap::error::ErrorKind;
        let check = |words, expected| assert_eq!(check(words).unwrap_err(), expected, "{words}");
        check("fwt", ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
        check("fwt -q", ErrorKind::MissingSubcommand);
        check("fwt list -q -v", ErrorKind::ArgumentConflict);
        check("fwt create --backend floppy", ErrorKind::InvalidValue);
        check("fwt create --carry some", ErrorKind::InvalidValue);
        check("fwt create a b", ErrorKind::UnknownArgument);
        check("fwt rm", ErrorKind::MissingRequiredArgument);
        check("fwt rm ", ErrorKind::InvalidValue);
        check("fwt create --at ", ErrorKind::InvalidValue);
    }
}
