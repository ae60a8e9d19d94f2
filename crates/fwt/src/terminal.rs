//! What the terminal is: whether there is one, how wide it is, and whether it shows colours.

use std::io::{IsTerminal as _, stderr, stdout};

use console::Term;

use crate::environment::Variables;

/// Whether escape sequences for colours are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    /// They are.
    On,
    /// They are not.
    Off,
}

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// For data.
    Out,
    /// For talk.
    Err,
}

impl Stream {
    /// Whether it is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Out => stdout().is_terminal(),
            Self::Err => stderr().is_terminal(),
        }
    }

    /// Whether it shows colours.
    pub(crate) fn colours(self, variables: &Variables) -> Colours {
        // Asked first: it needs no system call.
        if has_colours(variables) && self.is_terminal() { Colours::On } else { Colours::Off }
    }

    /// How many columns a table on it may have; `None` where it is not a terminal, so that what is
    /// read by a program is never cut.
    pub(crate) fn width(self, variables: &Variables) -> Option<usize> {
        if !self.is_terminal() {
            return None;
        }
        let term = match self {
            Self::Out => Term::stdout(),
            Self::Err => Term::stderr(),
        };
        let measured = || term.size_checked().map(|(_rows, columns)| usize::from(columns));
        columns(variables).or_else(measured).filter(|columns| *columns > 0)
    }
}

/// Whether the terminal can do more than print one line below another.
pub(crate) fn moves_cursor(variables: &Variables) -> bool {
    variables.value("TERM").is_some_and(|term| term != "dumb")
}

fn has_colours(variables: &Variables) -> bool {
    let is_refused = variables.value("NO_COLOR").is_some()
        || variables.value("CLICOLOR").is_some_and(|value| value == "0");
    moves_cursor(variables) && !is_refused
}

fn columns(variables: &Variables) -> Option<usize> {
    variables.text("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_refused_by_custom() {
        let check = |variables: &[(&str, &str)], expected| {
            assert_eq!(has_colours(&Variables::of(variables)), expected, "{variables:?}");
        };
        check(&[("TERM", "xterm")], true);
        check(&[("TERM", "xterm"), ("NO_COLOR", "")], true);
        check(&[("TERM", "xterm"), ("NO_COLOR", "1")], false);
        check(&[("TERM", "xterm"), ("CLICOLOR", "0")], false);
        check(&[("TERM", "dumb")], false);
        check(&[], false);
    }

    #[test]
    fn columns_that_are_no_number_do_not_count() {
        let check = |value, expected| {
            assert_eq!(columns(&Variables::of(&[("COLUMNS", value)])), expected, "{value}");
        };
        check("120", Some(120));
        check("0", None);
        check("wide", None);
        check("", None);
    }
}
