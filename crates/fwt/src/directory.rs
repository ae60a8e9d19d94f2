//! Where relative paths count from: the directory of `-C`, else the current one.

use std::path::{Path, PathBuf};

use fast_worktree::api::{ApiError, Code};

use crate::environment;

/// Where relative paths count from. Paths are joined, never resolved: `..` behind a link means what
/// the kernel makes of it, and the service resolves what exists.
#[derive(Debug)]
pub(crate) struct Directory {
    current: Result<PathBuf, ApiError>,
    chosen: Option<PathBuf>,
}

impl Directory {
    /// With the argument of `-C`.
    pub(crate) fn load(chosen: Option<PathBuf>) -> Self {
        let current = environment::current_directory().map_err(|error| {
            ApiError::new(Code::NoSuchSource, format!("cannot tell the current directory: {error}"))
                .with_hint("go to a directory that exists, or name one with -C")
        });
        Self { current, chosen }
    }

    /// Whether it was named by `-C`.
    pub(crate) fn is_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// The directory itself. A current directory that is gone is an error only once it is needed.
    pub(crate) fn path(&self) -> Result<PathBuf, ApiError> {
        match &self.chosen {
            Some(chosen) if chosen.is_absolute() => Ok(tidy(chosen)),
            Some(chosen) => Ok(tidy(&self.current()?.join(chosen))),
            None => self.current.clone(),
        }
    }

    /// The path counted from there.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, ApiError> {
        if path.is_absolute() { Ok(tidy(path)) } else { Ok(tidy(&self.path()?.join(path))) }
    }

    /// The current directory, whatever `-C` says: variables of the environment count from it.
    pub(crate) fn current(&self) -> Result<&Path, ApiError> {
        self.current.as_deref().map_err(Clone::clone)
    }

    #[cfg(test)]
    pub(crate) fn of(current: Option<&str>, chosen: Option<&str>) -> Self {
        let gone = || ApiError::new(Code::NoSuchSource, "gone");
        Self {
            current: current.map(PathBuf::from).ok_or_else(gone),
            chosen: chosen.map(PathBuf::from),
        }
    }
}

/// Without `.` and doubled or final slashes, which say nothing.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(current: Option<&str>, chosen: Option<&str>, path: &str, expected: Option<&str>) {
        let found = Directory::of(current, chosen).absolute(Path::new(path)).ok();
        assert_eq!(found.as_deref(), expected.map(Path::new), "{current:?} {chosen:?} {path}");
    }

    #[test]
    fn a_relative_path_counts_from_the_chosen_directory() {
        check(Some("/here"), None, "a", Some("/here/a"));
        check(Some("/here"), Some("sub"), "a", Some("/here/sub/a"));
        check(Some("/here"), Some("/there"), "a", Some("/there/a"));
        check(Some("/here"), Some("/there"), "/a", Some("/a"));
    }

    #[test]
    fn only_dots_that_say_nothing_are_resolved() {
        check(Some("/here"), Some("."), "./a/.//b/", Some("/here/a/b"));
        check(Some("/here"), None, ".", Some("/here"));
        check(Some("/here/link"), None, "../a", Some("/here/link/../a"));
    }

    #[test]
    fn a_current_directory_that_is_gone_matters_only_where_it_is_needed() {
        check(None, None, "a", None);
        check(None, Some("sub"), "a", None);
        check(None, None, "/a", Some("/a"));
        check(None, Some("/there"), "a", Some("/there/a"));
    }
}
