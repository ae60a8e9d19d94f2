//! git's configuration as one call prints it, includes resolved.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::run::{without_newline, words};
use crate::{Context, Error, Git, Result};

/// The configuration that holds for a repository; of each key the value that wins.
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: HashMap<String, Option<Vec<u8>>>,
}

impl Git {
    /// Reads the configuration.
    pub fn config(&self, context: Context<'_>) -> Result<Config> {
        let output = self.list_config(context)?;
        Config::parse(&output).ok_or(Error::Output { intent: "config" })
    }

    /// The output that [`Listing`] reads.
    pub(crate) fn list_config(&self, context: Context<'_>) -> Result<Vec<u8>> {
        self.run(context, &words(["config", "--list", "-z", "--show-origin"]), &[])
    }

    /// Where the system's configuration is, if git says so (2.42).
    pub(crate) fn system_config(&self) -> Option<std::path::PathBuf> {
        let root = Context::Discover(Path::new("/"));
        let output = self.run(root, &words(["var", "GIT_CONFIG_SYSTEM"]), &[]).ok()?;
        Some(Path::new(OsStr::from_bytes(&without_newline(output))).to_owned())
    }
}

/// The output of `git config --list -z --show-origin`: `origin NUL key LF value NUL`, without `LF value`
/// for a key that stands alone.
#[derive(Clone, Debug)]
pub(crate) struct Listing<'a> {
    settings: Vec<Setting<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Setting<'a> {
    origin: &'a [u8],
    key: &'a str,
    value: Option<&'a [u8]>,
}

impl<'a> Listing<'a> {
    pub(crate) fn parse(output: &'a [u8]) -> Option<Self> {
        let mut fields = output.split(|byte| *byte == 0);
        let mut settings = Vec::new();
        while let Some(origin) = fields.next().filter(|origin| !origin.is_empty()) {
            let record = fields.next()?;
            let (key, value) = match record.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&record[..end], Some(&record[end + 1..])),
                None => (record, None),
            };
            settings.push(Setting { origin, key: std::str::from_utf8(key).ok()?, value });
        }
        Some(Self { settings })
    }

    fn into_config(self) -> Config {
        let values = self.settings.into_iter();
        let values = values.map(|set| (set.key.to_owned(), set.value.map(<[u8]>::to_vec)));
        Config { values: values.collect() }
    }

    /// The files that anything comes from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'a Path> {
        self.settings.iter().filter_map(|setting| file(setting.origin))
    }

    /// The includes: the file that each is in, its condition, and what it names.
    pub(crate) fn includes(
        &self,
    ) -> impl Iterator<Item = (Option<&'a Path>, Option<&'a str>, &'a [u8])> {
        self.settings.iter().filter_map(|Setting { origin, key, value }| {
            let condition = match *key {
                "include.path" => None,
                key => Some(key.strip_prefix("includeif.")?.strip_suffix(".path")?),
            };
            Some((file(origin), condition, (*value)?))
        })
    }
}

fn file(origin: &[u8]) -> Option<&Path> {
    let path = Path::new(OsStr::from_bytes(origin.strip_prefix(b"file:")?));
    path.is_absolute().then_some(path)
}

impl Config {
    /// Parses the output of `git config --list -z --show-origin`.
    pub fn parse(output: &[u8]) -> Option<Self> {
        Some(Listing::parse(output)?.into_config())
    }

    /// The value of `key`, which is lower-case but for its subsection. A key that stands alone has
    /// an empty value.
    pub fn value(&self, key: &str) -> Option<&[u8]> {
        self.values.get(key).map(|value| value.as_deref().unwrap_or_default())
    }

    /// Every key with its value, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.values.iter().map(|(key, value)| (&**key, value.as_deref().unwrap_or_default()))
    }

    /// The value of a yes-or-no key as git reads it; `None` if it is absent or neither.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = match self.values.get(key)? {
            None => return Some(true),
            Some(value) => value.to_ascii_lowercase(),
        };
        match value.as_slice() {
            b"true" | b"yes" | b"on" => Some(true),
            b"" | b"false" | b"no" | b"off" => Some(false),
            number => {
                std::str::from_utf8(number).ok()?.parse::<i64>().ok().map(|number| number != 0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_wins_and_values_may_hold_newlines() {
        let output = b"file:/a\0core.bare\nfalse\0file:/a\0a.b\nx\ny\0\
            command line:\0core.bare\nyes\0file:/b\0alone.key\0";
        let listing = Listing::parse(output).unwrap();
        let files: Vec<_> = listing.files().collect();
        assert_eq!(files, ["/a", "/a", "/b"].map(Path::new));
        let config = listing.into_config();
        assert_eq!(config.flag("core.bare"), Some(true));
        assert_eq!(config.value("a.b"), Some(&b"x\ny"[..]));
        assert_eq!(config.flag("alone.key"), Some(true));
        assert_eq!(config.flag("a.b"), None);
        assert_eq!(config.flag("absent.key"), None);
    }
}
