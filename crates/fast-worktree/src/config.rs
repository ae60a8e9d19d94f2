//! `fwt.toml`: the user's file, and the one in the source, which may name a command only if the user
//! trusts it.

use std::path::{Path, PathBuf};

use backend::Kind;
use fs_sys::ErrorKind;
use pool_db::Registry;
use serde::{Deserialize, Serialize};

use crate::api::{ApiError, Code};
use crate::limits::{Limits, Table};
use crate::source::Source;

/// The file's name.
pub(crate) const FILE_NAME: &str = "fwt.toml";

/// What a file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The directory for worktrees.
    store: Option<PathBuf>,
    /// The chain of backends, in this order and no others.
    backends: Option<Vec<Kind>>,
    #[serde(default)]
    hooks: Hooks,
    #[serde(default)]
    sealed: Table,
}

/// What runs in a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hooks {
    /// In a new tree, before it is handed out.
    pub(crate) setup: Option<Command>,
    /// In a tree, before its end.
    pub(crate) cleanup: Option<Command>,
}

/// A command: a line for `sh -c`, or a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Command {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// What is in force: the source's file before the user's.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) store: Option<PathBuf>,
    pub(crate) backends: Option<Vec<Kind>>,
    pub(crate) hooks: Hooks,
    pub(crate) sealed: Limits,
    /// The source's file, if it names commands or a store and is not trusted: then these do not count.
    pub(crate) untrusted: Option<PathBuf>,
}

/// A file that is there.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) hooks: Hooks,
    /// What trust is given to: the file as it is, byte for byte.
    pub(crate) digest: String,
    file: File,
}

impl Found {
    /// Whether it says anything that only a trusted file may say.
    fn needs_trust(&self) -> bool {
        self.hooks != Hooks::default()
            || self.file.store.is_some()
            || self.file.sealed != Table::default()
    }
}

impl Configuration {
    /// Reads both files.
    pub(crate) fn load(
        registry: Option<&Registry>,
        user_file: Option<&Path>,
        source: &Source,
    ) -> Result<Self, ApiError> {
        let mut configuration = Self::default();
        let mut sealed = Table::default();
        if let Some(found) = of_source(source)? {
            let is_trusted = !found.needs_trust()
                || match registry {
                    Some(registry) => registry.is_trusted(&source.identity(), &found.digest)?,
                    None => false,
                };
            configuration.backends.clone_from(&found.file.backends);
            if is_trusted {
                configuration.hooks = found.hooks;
                configuration.store = found.file.store;
                sealed = found.file.sealed;
            } else {
                configuration.untrusted = Some(found.path);
            }
        }
        if let Some(found) = user_file.map(read).transpose()?.flatten() {
            let Self { store, backends, hooks, .. } = &mut configuration;
            *store = store.take().or(found.file.store);
            *backends = backends.take().or(found.file.backends);
            hooks.setup = hooks.setup.take().or(found.hooks.setup);
            hooks.cleanup = hooks.cleanup.take().or(found.hooks.cleanup);
            sealed.max_age = sealed.max_age.or(found.file.sealed.max_age);
            sealed.max_count = sealed.max_count.or(found.file.sealed.max_count);
            sealed.max_bytes = sealed.max_bytes.or(found.file.sealed.max_bytes);
        }
        configuration.sealed = sealed.limits().unwrap_or_default();
        Ok(configuration)
    }
}

/// The source's own file, if it has one. A bare repository has none.
pub(crate) fn of_source(source: &Source) -> Result<Option<Found>, ApiError> {
    match source {
        Source::Checkout(checkout) if checkout.is_bare() => Ok(None),
        Source::Checkout(_) | Source::Plain(_) => read(&source.root().join(FILE_NAME)),
    }
}

const KEYS: &str = "its keys are store, backends, hooks.setup, hooks.cleanup, sealed.max_age, \
    sealed.max_count and sealed.max_bytes";

fn read(path: &Path) -> Result<Option<Found>, ApiError> {
    let bytes = match fs_sys::read_file(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let wrong = |why: String| {
        ApiError::new(Code::BadConfig, format!("{} is no configuration: {why}", path.display()))
            .with_hint(KEYS)
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
    let mut file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let hooks = std::mem::take(&mut file.hooks);
    let named = [(&hooks.setup, "hooks.setup"), (&hooks.cleanup, "hooks.cleanup")];
    for (command, key) in named {
        if command.as_ref().is_some_and(Command::is_empty) {
            return Err(wrong(format!("{key} names no program")));
        }
    }
    if file.sealed.limits().is_none() {
        return Err(wrong(
            "sealed.max_age is a time like 30d, sealed.max_bytes an amount like 50G".to_owned(),
        ));
    }
    if file.store.as_ref().is_some_and(|store| !store.is_absolute()) {
        return Err(wrong("store is not an absolute path".to_owned()));
    }
    let digest = blake3::hash(&bytes).to_hex().to_string();
    Ok(Some(Found { path: path.to_owned(), hooks, digest, file }))
}

impl Command {
    fn is_empty(&self) -> bool {
        match self {
            Self::Line(line) => line.trim().is_empty(),
            Self::Words(words) => words.first().is_none_or(String::is_empty),
        }
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => formatter.write_str(line),
            Self::Words(words) => formatter.write_str(&words.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Found>, ApiError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        fs_sys::write_new(&path, text.as_bytes(), fs_sys::Mode(0o600)).unwrap();
        read(&path)
    }

    #[test]
    fn commands_are_lines_or_words() {
        let found =
            parse("[hooks]\nsetup = \"npm ci\"\ncleanup = ['a', 'b c']\n").unwrap().unwrap();
        assert_eq!(found.hooks.setup, Some(Command::Line("npm ci".to_owned())));
        let words = vec!["a".to_owned(), "b c".to_owned()];
        assert_eq!(found.hooks.cleanup, Some(Command::Words(words)));
        assert!(found.needs_trust());
    }

    #[test]
    fn the_order_of_backends_needs_no_trust_and_a_store_does() {
        assert!(!parse("backends = ['copy']").unwrap().unwrap().needs_trust());
        assert!(parse("store = '/x'").unwrap().unwrap().needs_trust());
    }

    #[test]
    fn what_cannot_be_meant_names_the_file_and_the_cause() {
        for (text, cause) in [
            ("[hook]\nsetup = 'x'", "unknown field `hook`"),
            ("[hooks]\nsetup = ' '", "hooks.setup names no program"),
            ("[hooks]\ncleanup = []", "hooks.cleanup names no program"),
            ("store = 'x'", "not an absolute path"),
            ("backends = ['floppy']", "floppy"),
            ("setup = ", "line 1"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code, Code::BadConfig, "{text}");
            assert!(error.message.contains(cause), "{text}: {}", error.message);
            assert!(error.message.contains(FILE_NAME), "{}", error.message);
        }
    }

    #[test]
    fn limits_need_trust_and_must_mean_something() {
        let file = "[sealed]\nmax_age = '2h'\nmax_count = 3\nmax_bytes = '5M'";
        let found = parse(file).unwrap().unwrap();
        assert!(found.needs_trust());
        let expected = Limits { age_seconds: 7200, count: 3, bytes: 5 << 20 };
        assert_eq!(found.file.sealed.limits(), Some(expected));
        for file in ["[sealed]\nmax_age = '7'", "[sealed]\nmax_bytes = 'all'"] {
            assert_eq!(parse(file).unwrap_err().code, Code::BadConfig, "{file}");
        }
    }

    #[test]
    fn no_file_says_nothing() {
        assert!(read(Path::new("/nonexistent/fwt.toml")).unwrap().is_none());
    }
}
