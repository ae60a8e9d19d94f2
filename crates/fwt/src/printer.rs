//! The one place that writes: data to standard output, talk to standard error.

use std::io::{self, Write as _, stderr, stdout};
use std::process::ExitCode;

use console::Style;
use fast_worktree::api::{ApiError, Code, Response};
use serde::Serialize;

use crate::terminal::Colours;
use crate::{escape, exit};

/// What the answer is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON document, whatever happens.
    Json,
}

/// How much is said besides the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Errors only.
    Quiet,
    /// What happened, too.
    Normal,
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    pub(crate) format: Format,
    pub(crate) talk: Talk,
    /// Of standard error.
    pub(crate) colours: Colours,
}

impl Printer {
    /// Says what happened. JSON has it in its document.
    pub(crate) fn say(self, text: &str) {
        match (self.format, self.talk) {
            (Format::Text, Talk::Normal) => to_stderr(&format!("{}\n", escape::lines(text))),
            (Format::Json, _) | (_, Talk::Quiet) => {}
        }
    }

    /// Says what the answer itself cannot say, beside JSON too.
    pub(crate) fn note(self, text: &str) {
        match self.talk {
            Talk::Normal => to_stderr(&format!("note: {}\n", escape::lines(text))),
            Talk::Quiet => {}
        }
    }

    /// Writes why it failed.
    pub(crate) fn error(self, error: &ApiError) -> io::Result<()> {
        match self.format {
            Format::Json => json_line(&ErrorDocument { error }),
            Format::Text => {
                to_stderr(&error_text(error, self.colours));
                Ok(())
            }
        }
    }
}

/// Writes the answer of a request as JSON.
pub(crate) fn response(response: &Response) -> io::Result<()> {
    json_line(response)
}

/// Writes bytes to standard output, and sees them gone.
pub(crate) fn data(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// The exit code after writing to standard output. A reader that has gone away is no failure: what
/// was asked for is done, and the code says how that went. Anything else, a full disk for one, is
/// said, with what the reader did not get.
pub(crate) fn finish(
    written: io::Result<()>,
    code: ExitCode,
    undelivered: Option<String>,
) -> ExitCode {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write to standard output: {error}");
            let error = ApiError::new(Code::Failed, message);
            let error = undelivered.into_iter().fold(error, ApiError::with_hint);
            to_stderr(&error_text(&error, Colours::Off));
            if code == ExitCode::from(exit::DONE) { ExitCode::from(exit::FAILED) } else { code }
        }
        _ => code,
    }
}

/// Writes to standard error.
pub(crate) fn to_stderr(text: &str) {
    if stderr().lock().write_all(text.as_bytes()).is_err() {
        // Nobody listens, and there is nowhere else to say so.
    }
}

/// Passes on what a command of the user's says, as it comes.
pub(crate) fn pass_on(bytes: &[u8]) {
    if stderr().lock().write_all(bytes).is_err() {
        // Nobody listens, and the command need not know.
    }
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: &'a ApiError,
}

fn json_line(value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    data(&line)
}

/// The message, then what to do, apart.
fn error_text(error: &ApiError, colours: Colours) -> String {
    let is_on = colours == Colours::On;
    let paint = |style: Style, word| style.for_stderr().force_styling(is_on).apply_to(word);
    let word = paint(Style::new().red().bold(), "error:");
    let message = format!("{word} {}\n", escape::lines(&error.message));
    let word = paint(Style::new().cyan(), "hint:");
    let hint = |hint: &String| format!("{word} {}\n", escape::lines(hint));
    let hints: String = error.hints.iter().map(hint).collect();
    if hints.is_empty() { message } else { format!("{message}\n{hints}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_apart() {
        let error = ApiError::new(Code::Failed, "it broke\u{7}");
        assert_eq!(error_text(&error, Colours::Off), "error: it broke\\u{7}\n");
        let error = error.with_hint("mend it").with_hint("or not");
        let expected = "error: it broke\\u{7}\n\nhint: mend it\nhint: or not\n";
        assert_eq!(error_text(&error, Colours::Off), expected);
    }

    #[test]
    fn colours_add_nothing_but_colours() {
        let error = ApiError::new(Code::Failed, "it broke").with_hint("mend it");
        let coloured = error_text(&error, Colours::On);
        assert!(coloured.starts_with("\u{1b}["), "{coloured:?}");
        assert_eq!(console::strip_ansi_codes(&coloured), error_text(&error, Colours::Off));
    }
}
