//! The two ways to speak: talk on stderr, data on stdout.

/// Says a line to the person who is watching.
#[expect(clippy::print_stderr, reason = "the one place that talks")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// Prints a line for the program that reads our output.
#[expect(clippy::print_stdout, reason = "the one place that prints data")]
pub(crate) fn print_data(line: &str) {
    println!("{line}");
}
