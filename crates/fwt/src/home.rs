//! Where state is kept: `FWT_HOME`, else where the XDG base directories say.

use std::path::{Path, PathBuf};

use fast_worktree::api::{ApiError, Code};

use crate::directory::tidy;
use crate::environment::Variables;

/// Resolves the home; `current` is asked only for an `FWT_HOME` that is relative.
pub(crate) fn resolve<'a>(
    variables: &Variables,
    current: impl FnOnce() -> Result<&'a Path, ApiError>,
) -> Result<PathBuf, ApiError> {
    if let Some(home) = variables.value("FWT_HOME").map(Path::new) {
        return Ok(tidy(&if home.is_absolute() { home.to_owned() } else { current()?.join(home) }));
    }
    // "All paths set in these environment variables must be absolute. If an implementation
    // encounters a relative path [...] it should consider the path invalid and ignore it."
    let absolute = |name| variables.value(name).map(Path::new).filter(|path| path.is_absolute());
    if let Some(data) = absolute("XDG_DATA_HOME") {
        return Ok(data.join("fwt"));
    }
    if let Some(home) = absolute("HOME") {
        return Ok(home.join(".local/share/fwt"));
    }
    let message = "nowhere to keep state: none of FWT_HOME, XDG_DATA_HOME and HOME is set";
    Err(ApiError::new(Code::BadRequest, message).with_hint("set FWT_HOME to an absolute path"))
}

/// The user's configuration file, `fwt/fwt.toml` where the XDG base directories have configuration.
pub(crate) fn config_file(variables: &Variables) -> Option<PathBuf> {
    let absolute = |name| variables.value(name).map(Path::new).filter(|path| path.is_absolute());
    let directory = absolute("XDG_CONFIG_HOME")
        .map(Path::to_owned)
        .or_else(|| absolute("HOME").map(|home| home.join(".config")));
    directory.map(|directory| directory.join("fwt/fwt.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: &str) {
        let home = resolve(&Variables::of(variables), || Ok(Path::new("/here")));
        assert_eq!(home.unwrap(), Path::new(expected), "{variables:?}");
    }

    #[test]
    fn the_most_specific_variable_wins() {
        let all = [("HOME", "/h"), ("XDG_DATA_HOME", "/x"), ("FWT_HOME", "/f")];
        check(&all, "/f");
        check(&all[..2], "/x/fwt");
        check(&all[..1], "/h/.local/share/fwt");
    }

    #[test]
    fn the_configuration_is_where_configuration_is() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let found = config_file(&Variables::of(variables));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{variables:?}");
        };
        check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], Some("/x/fwt/fwt.toml"));
        check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")], Some("/h/.config/fwt/fwt.toml"));
        check(&[], None);
    }

    #[test]
    fn a_relative_path_counts_in_our_own_variable_only() {
        check(&[("FWT_HOME", "./state/")], "/here/state");
        check(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")], "/h/.local/share/fwt");
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        check(&[("FWT_HOME", ""), ("XDG_DATA_HOME", ""), ("HOME", "/h")], "/h/.local/share/fwt");
    }

    #[test]
    fn without_any_it_says_what_to_set() {
        for variables in [&[][..], &[("HOME", "")], &[("HOME", "h"), ("XDG_DATA_HOME", "x")]] {
            let error = resolve(&Variables::of(variables), || panic!("not asked")).unwrap_err();
            assert_eq!(error.code, Code::BadRequest);
            assert_eq!(error.hints, ["set FWT_HOME to an absolute path"]);
        }
    }
}
