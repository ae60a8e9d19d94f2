//! The log on standard error, for whoever asks for it by `-v` or `FWT_LOG`.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::uptime;

use crate::environment::Variables;

/// Whether there is a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    /// Nobody asked.
    Off,
    /// It is on.
    On,
    /// The filter of `FWT_LOG` cannot be read; why.
    BadFilter(String),
}

/// Sets the log up. A flag counts more than the variable; without either, nothing is set up.
pub(crate) fn start(verbose: u8, variables: &Variables) -> Log {
    let filter = match verbose {
        0 => match variables.text("FWT_LOG") {
            Some(filter) => filter,
            None => return Log::Off,
        },
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = match EnvFilter::try_new(filter) {
        Ok(filter) => filter,
        Err(error) => return Log::BadFilter(error.to_string()),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_timer(uptime())
        // A standard error that is closed must not become a panic.
        .log_internal_errors(false)
        .init();
    Log::On
}
