//! From responses to what is printed.

use std::io;
use std::os::unix::ffi::OsStrExt as _;

use fast_worktree::api::{Response, Worktree};

use crate::environment::Variables;
use crate::printer::{self, Format, Printer};
use crate::terminal::Stream;
use crate::{checkpoint_text, clock, health, talk, usage_table, worktree_fields, worktree_table};

/// What of a worktree is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its path, for `cd` and programs.
    Path,
    /// All there is to know.
    Fields,
}

/// Prints it: data on standard output, what else is to say on standard error.
pub(crate) fn print(
    response: &Response,
    wanted: Wanted,
    printer: Printer,
    variables: &Variables,
) -> io::Result<()> {
    if printer.format == Format::Json {
        return printer::response(response);
    }
    match response {
        Response::Worktree(worktree) if wanted == Wanted::Path => {
            printer.say(&talk::created(worktree));
            printer::data(&path_line(worktree))
        }
        Response::Worktree(worktree) => {
            printer::data(worktree_fields::fields(worktree, clock::now()).as_bytes())
        }
        Response::List(list) if list.worktrees.is_empty() => {
            printer.say(talk::NONE_LISTED);
            Ok(())
        }
        Response::List(list) => {
            let width = Stream::Out.width(variables);
            let table = worktree_table::table(&list.worktrees, clock::now(), width);
            printer::data(table.as_bytes())
        }
        Response::Removed(removed) => {
            printer.say(&talk::removed(removed));
            Ok(())
        }
        Response::Sealed(sealed) => {
            printer.say(&talk::sealed(sealed));
            Ok(())
        }
        Response::DiskUsage(usage) => {
            let width = Stream::Out.width(variables);
            let table = usage_table::table(usage, clock::now(), width);
            printer::data(table.as_bytes())
        }
        Response::Attached(attached) => {
            printer.say(&talk::attached(attached));
            Ok(())
        }
        Response::Touched(touched) => {
            printer.say(&talk::touched(touched));
            Ok(())
        }
        Response::Released(released) => {
            printer.say(&talk::released(released));
            Ok(())
        }
        Response::Trusted(trusted) => {
            printer.say(&talk::trusted(trusted));
            Ok(())
        }
        Response::Checkpoint(point) => {
            printer.say(&checkpoint_text::recorded(point));
            Ok(())
        }
        Response::Checkpoints(list) if list.checkpoints.is_empty() => {
            printer.say(checkpoint_text::NONE_LISTED);
            Ok(())
        }
        Response::Checkpoints(list) => {
            let width = Stream::Out.width(variables);
            let table = checkpoint_text::table(&list.checkpoints, clock::now(), width);
            printer::data(table.as_bytes())
        }
        Response::CheckpointDetail(shown) => {
            printer::data(checkpoint_text::detail(shown).as_bytes())
        }
        Response::CheckpointDiff(diff) => {
            if let Some(text) = checkpoint_text::about(diff) {
                printer.say(text);
            }
            printer::data(&checkpoint_text::difference(diff))
        }
        Response::CheckpointsCollected(collected) => {
            printer.say(&checkpoint_text::collected(collected));
            Ok(())
        }
        Response::Doctor(doctor) => printer::data(health::report(doctor).as_bytes()),
    }
}

/// Where a worktree is, should its path not reach the reader.
pub(crate) fn undelivered(response: &Response) -> Option<String> {
    match response {
        Response::Worktree(worktree) => {
            Some(format!("the worktree {} is at {}", worktree.name, worktree.path.0.display()))
        }
        Response::Attached(_)
        | Response::DiskUsage(_)
        | Response::Sealed(_)
        | Response::List(_)
        | Response::Removed(_)
        | Response::Doctor(_)
        | Response::Checkpoint(_)
        | Response::Checkpoints(_)
        | Response::CheckpointDetail(_)
        | Response::CheckpointDiff(_)
        | Response::CheckpointsCollected(_)
        | Response::Touched(_)
        | Response::Released(_)
        | Response::Trusted(_) => None,
    }
}

/// The path's own bytes: a program must get what the kernel has.
fn path_line(worktree: &Worktree) -> Vec<u8> {
    let mut line = worktree.path.0.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use fast_worktree::api::WirePath;

    use super::*;
    use crate::worktree_fields::tests::example;

    #[test]
    fn a_path_keeps_its_bytes() {
        let mut worktree = example();
        worktree.path = WirePath(OsStr::from_bytes(b"/t/\xff\x1b").into());
        assert_eq!(path_line(&worktree), b"/t/\xff\x1b\n");
    }
}
