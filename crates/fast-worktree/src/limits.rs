//! How long sealed trees stay that nobody uses, and how many.

use serde::Deserialize;

/// The table `sealed` of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "these are the keys of a file")]
pub(crate) struct Table {
    /// A time since the last use, like `30d`.
    pub(crate) max_age: Option<String>,
    pub(crate) max_count: Option<u64>,
    /// An amount, like `50G`.
    pub(crate) max_bytes: Option<String>,
}

/// What may stay sealed in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Since the last use.
    pub(crate) age_seconds: u64,
    pub(crate) count: u64,
    /// Of all together.
    pub(crate) bytes: u64,
}

/// As long as somebody may come back to a commit after a holiday; as many as a team works on; and what
/// some of the largest repositories take.
impl Default for Limits {
    fn default() -> Self {
        Self { age_seconds: 30 * 24 * 3600, count: 64, bytes: 50 << 30 }
    }
}

impl Table {
    /// `None` if something is no time or no amount.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let default = Limits::default();
        let age = self.max_age.as_deref();
        let bytes = self.max_bytes.as_deref();
        Some(Limits {
            age_seconds: age.map_or(Some(default.age_seconds), seconds)?,
            count: self.max_count.unwrap_or(default.count),
            bytes: bytes.map_or(Some(default.bytes), amount)?,
        })
    }
}

/// `90s`, `15m`, `2h` or `7d`.
fn seconds(text: &str) -> Option<u64> {
    scaled(text, |unit| match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(24 * 3600),
        _ => None,
    })
}

/// `500M`, `50G` or `2T`, by powers of 1,024; without a letter bytes.
fn amount(text: &str) -> Option<u64> {
    scaled(text, |unit| match unit {
        "" => Some(1),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        "T" => Some(1 << 40),
        _ => None,
    })
}

fn scaled(text: &str, factor: fn(&str) -> Option<u64>) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.parse::<u64>().ok()?.checked_mul(factor(unit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, expected) in [("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604_800)] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "d", "7", "-1d", "7w", "1 d", "99999999999999999999s"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_may_have_one() {
        for (text, expected) in [("0", 0), ("1K", 1 << 10), ("3G", 3 << 30), ("1T", 1 << 40)] {
            assert_eq!(amount(text), Some(expected), "{text}");
        }
        for text in ["", "G", "1KB", "1.5G", "99999999999999T"] {
            assert_eq!(amount(text), None, "{text}");
        }
    }
}
