//! git's configuration as one call prints it, includes resolved.

use std::collections::HashMap;

use crate::run::words;
use crate::{Context, Error, Git, Result};

/// The configuration that holds for a repository; of each key the value that wins.
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: HashMap<String, Option<Vec<u8>>>,
}

impl Git {
    /// Reads the configuration.
    pub fn config(&self, context: Context<'_>) -> Result<Config> {
        let output = self.run(context, &words(["config", "--list", "-z"]), &[])?;
        Config::parse(&output).ok_or(Error::Output { intent: "config" })
    }
}

impl Config {
    /// Parses the output of `git config --list -z`: `key LF value NUL`, without `LF value` for a key
    /// that stands alone.
    pub fn parse(output: &[u8]) -> Option<Self> {
        let mut values = HashMap::new();
        for record in output.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let (key, value) = match record.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&record[..end], Some(record[end + 1..].to_vec())),
                None => (record, None),
            };
            values.insert(String::from_utf8(key.to_vec()).ok()?, value);
        }
        Some(Self { values })
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
        let config =
            Config::parse(b"core.bare\nfalse\0a.b\nx\ny\0core.bare\nyes\0alone.key\0").unwrap();
        assert_eq!(config.flag("core.bare"), Some(true));
        assert_eq!(config.value("a.b"), Some(&b"x\ny"[..]));
        assert_eq!(config.flag("alone.key"), Some(true));
        assert_eq!(config.flag("a.b"), None);
        assert_eq!(config.flag("absent.key"), None);
    }
}
