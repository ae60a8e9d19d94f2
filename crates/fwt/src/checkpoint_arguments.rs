//! `fwt checkpoint`, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fast_worktree::api::PromptRef;

/// What to do with checkpoints.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// Record the state before a prompt
    Begin(BeginArguments),
    /// Note which paths the prompt at work writes to
    Record(RecordArguments),
    /// Record the end of a prompt
    End(EndArguments),
    /// Name the checkpoints of this tree
    List(ListCheckpointsArguments),
    /// Say what changed in a prompt
    Show(ShowCheckpointArguments),
    /// Compare the states before two prompts
    Diff(DiffArguments),
    /// Give up what is over budget, in every tree, and remove what no checkpoint needs
    Gc,
}

/// Which session.
#[derive(Debug, Default, Args)]
pub(crate) struct SessionArgument {
    /// The conversation that prompts are counted in [default: the one without a name]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) session: String,
}

/// Which prompt begins.
#[derive(Debug, Args)]
pub(crate) struct BeginArguments {
    /// Its number
    #[arg(long, value_name = "N")]
    pub(crate) prompt: u64,
    /// What it is about
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// The prompt that this session was started by
    #[arg(long, value_name = "SESSION:N", value_parser = prompt_ref)]
    pub(crate) parent: Option<PromptRef>,
    #[command(flatten)]
    pub(crate) session: SessionArgument,
}

/// What is written to.
#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// Files, links or directories, there or not
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArgument,
}

/// Which prompt ends.
#[derive(Debug, Args)]
pub(crate) struct EndArguments {
    /// Its number
    #[arg(long, value_name = "N")]
    pub(crate) prompt: u64,
    /// How it ended
    #[arg(long, value_enum, default_value_t)]
    pub(crate) outcome: OutcomeArgument,
    #[command(flatten)]
    pub(crate) session: SessionArgument,
}

/// How a prompt ended.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum OutcomeArgument {
    /// As it should
    #[default]
    Completed,
    /// It did not get through
    Failed,
    /// Somebody stopped it
    Cancelled,
}

/// Which checkpoints to name.
#[derive(Debug, Args)]
pub(crate) struct ListCheckpointsArguments {
    /// Only those of this session [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

/// Which checkpoint to describe.
#[derive(Debug, Args)]
pub(crate) struct ShowCheckpointArguments {
    /// The number of its prompt
    #[arg(value_name = "N")]
    pub(crate) prompt: u64,
    #[command(flatten)]
    pub(crate) session: SessionArgument,
}

/// What to compare.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct DiffArguments {
    /// Two prompts; without the second, what was recorded last
    #[arg(value_name = "A..B", value_parser = range)]
    pub(crate) range: PromptRange,
    /// How many lines differ
    #[arg(long, conflicts_with = "patch")]
    pub(crate) stat: bool,
    /// Which lines differ, as a patch
    #[arg(short, long)]
    pub(crate) patch: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgument,
}

/// Two prompts, or one and what was recorded last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PromptRange {
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
}

fn range(text: &str) -> Result<PromptRange, String> {
    let numbers = text.split_once("..").and_then(|(from, to)| {
        let to = if to.is_empty() { None } else { Some(to.parse().ok()?) };
        Some(PromptRange { from: from.parse().ok()?, to })
    });
    numbers.ok_or_else(|| "two numbers are needed, like 3..5, or one, like 3..".to_owned())
}

/// The session without a name is named by nothing: `:3`.
fn prompt_ref(text: &str) -> Result<PromptRef, String> {
    let parts = text.rsplit_once(':').and_then(|(session, prompt)| {
        Some(PromptRef { session: session.to_owned(), prompt: prompt.parse().ok()? })
    });
    parts.ok_or_else(|| "a session and a number are needed, like main:3, or :3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_numbers_or_the_first_of_them() {
        let check = |text: &str, expected| {
            assert_eq!(range(text).ok().map(|range| (range.from, range.to)), expected, "{text}");
        };
        check("3..5", Some((3, Some(5))));
        check("3..", Some((3, None)));
        for bad in ["3", "..5", "a..b", "3...5", "-1..2"] {
            check(bad, None);
        }
    }

    #[test]
    fn a_parent_is_a_session_and_a_number() {
        let check = |text: &str, expected: Option<(&str, u64)>| {
            let found = prompt_ref(text).ok();
            let found = found.as_ref().map(|parent| (parent.session.as_str(), parent.prompt));
            assert_eq!(found, expected, "{text}");
        };
        check("main:3", Some(("main", 3)));
        check("a:b:3", Some(("a:b", 3)));
        check(":3", Some(("", 3)));
        check("3", None);
        check("main:", None);
    }
}
