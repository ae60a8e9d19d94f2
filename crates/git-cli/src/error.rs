//! Why a call of git, or a look into its files, failed.

use std::path::PathBuf;

use crate::index::ParseError;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call of git, or a look into its files, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It ended with another exit code than 0.
    #[error("git {intent} failed{}: {message}", code.map(|code| format!(" with exit code {code}")).unwrap_or_default())]
    Failed {
        /// What was asked of it (`read-tree`, `worktree add`).
        intent: &'static str,
        /// Its exit code; `None` if a signal ended it.
        code: Option<i32>,
        /// What it said to the person.
        message: String,
    },
    /// Its output is not what its documentation promises.
    #[error("git {intent} printed something unexpected")]
    Output {
        /// What was asked of it.
        intent: &'static str,
    },
    /// A file of git's could not be read or written.
    #[error(transparent)]
    Fs(#[from] fs_sys::Error),
    /// An index that cannot be understood.
    #[error("cannot read the index {}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// Why.
        #[source]
        source: ParseError,
    },
}

/// What there was not enough of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Blocks, inodes or quota.
    Space,
    /// File descriptors.
    Descriptors,
}

impl Error {
    /// What ran out, if that is why it failed. git's exit code is the same for everything that goes
    /// wrong in it: that the kernel's own words are in its message is all there is to tell by. We set
    /// `LC_ALL=C`, where they are the same everywhere.
    pub fn shortage(&self) -> Option<Shortage> {
        const SPACE: [&str; 3] =
            ["No space left on device", "Disk quota exceeded", "File too large"];
        const DESCRIPTORS: &str = "Too many open files";
        let text = match self {
            Self::Start { source, .. } => source.to_string(),
            Self::Failed { message, .. } => message.clone(),
            Self::Output { .. } | Self::Fs(_) | Self::Index { .. } => return None,
        };
        if SPACE.iter().any(|words| text.contains(words)) {
            return Some(Shortage::Space);
        }
        text.contains(DESCRIPTORS).then_some(Shortage::Descriptors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_is_told_by_the_words_of_the_kernel() {
        let failed = |message: &str| Error::Failed {
            intent: "read-tree",
            code: Some(128),
            message: message.to_owned(),
        };
        let check = |error: &Error, expected| assert_eq!(error.shortage(), expected, "{error}");
        check(&failed("fatal: unable to write new index file"), None);
        check(&failed("error: cannot write x: No space left on device"), Some(Shortage::Space));
        let source = std::io::Error::from_raw_os_error(24);
        check(&Error::Start { program: "git".into(), source }, Some(Shortage::Descriptors));
    }
}
