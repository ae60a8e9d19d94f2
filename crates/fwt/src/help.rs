//! What the help says besides the flags: examples, where state is kept, and the exit codes.

use std::fmt::Write as _;

use crate::exit;

const EXAMPLES: &str = "\
Examples:
  fwt create                       a worktree at HEAD of this repository; prints its path
  fwt create fix --branch fix      one called `fix`, on a new branch
  cd \"$(fwt create --rev v1.2)\"    go to a worktree at a tag
  fwt create --json | jq -r .path  for programs
  fwt list                         those of this repository
  fwt rm fix                       remove one, unless work would be lost
  fwt checkpoint begin --prompt 1  record the state before a prompt";

const ENVIRONMENT: &str = "\
Environment:
  FWT_HOME  where state and worktrees are kept [default: $XDG_DATA_HOME/fwt, ~/.local/share/fwt]
  FWT_LOG   which events are logged on standard error, as tracing filters (fwt=debug)
  NO_COLOR  no colours";

/// Below the short help.
pub(crate) fn after_short() -> String {
    format!("{EXAMPLES}\n\n`fwt --help` says more: the environment and the exit codes.")
}

/// Below the long help.
pub(crate) fn after_long() -> String {
    let mut text = format!("{EXAMPLES}\n\n{ENVIRONMENT}\n\nExit codes:");
    for (code, meaning) in exit::TABLE {
        write!(text, "\n  {code:>3}  {meaning}").expect("a String takes any text");
    }
    text
}
