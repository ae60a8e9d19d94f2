//! The environment and the current directory: read here, and passed down as values.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// The variables that fwt was started with.
#[derive(Clone, Debug)]
pub(crate) struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// Reads them.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(crate) fn load() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The variable's value; an empty one counts as unset, as is the custom.
    pub(crate) fn value(&self, name: &str) -> Option<&OsStr> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// The same, where it is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.to_str()
    }

    /// All of them, for the programs that fwt starts.
    pub(crate) fn all(&self) -> Vec<(OsString, OsString)> {
        self.0.clone()
    }

    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        Self(variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// The current directory.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for it")]
pub(crate) fn current_directory() -> io::Result<PathBuf> {
    std::env::current_dir()
}
