//! What clap has to say: help, version, and wrong use in the form of every other error.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use fast_worktree::api::{ApiError, Code};

use crate::environment::Variables;
use crate::exit;
use crate::printer::{self, Format, Printer, Talk};
use crate::terminal::{Colours, Stream};

/// Whether JSON was asked for on a command line that cannot be read as a whole.
pub(crate) fn format_wanted(words: &[OsString]) -> Format {
    let mut flags = words.iter().skip(1).take_while(|word| *word != "--");
    if flags.any(|word| word == "--json") { Format::Json } else { Format::Text }
}

/// Prints it. Help that was asked for is data; help instead of a command is an error.
pub(crate) fn report(error: &clap::Error, format: Format) -> ExitCode {
    let variables = Variables::load();
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let text = rendered(error, Stream::Out.colours(&variables));
        return printer::finish(printer::data(text.as_bytes()), ExitCode::from(exit::DONE), None);
    }
    let colours = Stream::Err.colours(&variables);
    let wrong_use = ExitCode::from(exit::WRONG_USE);
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && format == Format::Text {
        printer::to_stderr(&rendered(error, colours));
        return wrong_use;
    }
    let printer = Printer { format, talk: Talk::Normal, colours };
    printer::finish(printer.error(&translate(error)), wrong_use, None)
}

fn rendered(error: &clap::Error, colours: Colours) -> String {
    match colours {
        Colours::On => error.render().ansi().to_string(),
        Colours::Off => error.render().to_string(),
    }
}

/// From clap's text, its one form for all kinds of errors: a message, tips, the usage, and where to
/// read more, each a paragraph.
fn translate(error: &clap::Error) -> ApiError {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return ApiError::new(Code::BadRequest, "no command given").with_hint(MORE);
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(one_line);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    paragraphs.fold(ApiError::new(Code::BadRequest, message), |error, paragraph| {
        if let Some(tips) = paragraph.strip_prefix("tip: ") {
            tips.split(" tip: ").fold(error, ApiError::with_hint)
        } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            error.with_hint(format!("usage: {usage}"))
        } else if paragraph.starts_with("For more information") {
            error.with_hint(MORE)
        } else if paragraph.is_empty() {
            error
        } else {
            error.with_hint(paragraph)
        }
    })
}

const MORE: &str = "`fwt --help` and `fwt COMMAND --help` say more";

fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn check(line: &str, message: &str, hints: &[&str]) {
        let error = translate(&arguments::parse(&words(line)).unwrap_err());
        assert_eq!((error.code, error.message.as_str()), (Code::BadRequest, message), "{line}");
        assert_eq!(error.hints, hints, "{line}");
    }

    #[test]
    fn wrong_use_has_the_form_of_every_error() {
        check("fwt", "no command given", &[MORE]);
        check(
            "fwt list --al",
            "unexpected argument '--al' found",
            &["a similar argument exists: '--all'", "usage: fwt list --all", MORE],
        );
        check(
            "fwt rm",
            "the following required arguments were not provided: <ID>",
            &["usage: fwt rm <ID>", MORE],
        );
        check(
            "fwt create --backend xyz",
            "invalid value 'xyz' for '--backend <BACKEND>' [possible values: overlay, btrfs, reflink, copy, checkout]",
            &[MORE],
        );
    }

    #[test]
    fn json_is_a_flag_only_before_the_dashes() {
        assert_eq!(format_wanted(&words("fwt --wrong --json")), Format::Json);
        assert_eq!(format_wanted(&words("fwt create -- --json")), Format::Text);
        assert_eq!(format_wanted(&words("--json create")), Format::Text);
    }
}
