//! Random identifiers: lower-case base32 text that is safe in file names, refs and SQL.

use std::fmt;
use std::str::FromStr;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// The id of a worktree: 65 random bits, never reused.
pub type WorktreeId = Base32<13>;

/// The second secret of a worktree, in its row and in its marker. 130 random bits, so that no
/// directory carries it by chance or by guess.
pub type Nonce = Base32<26>;

/// What the holder of a lease must present. 130 random bits, so that nobody holds one by a guess.
pub type LeaseId = Base32<26>;

/// `N` random characters of `a-z2-7`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Base32<const N: usize>([u8; N]);

/// Text that is no identifier of this kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected} characters of a-z and 2-7")]
pub struct InvalidId {
    /// The text.
    pub text: String,
    /// How many characters there should be.
    pub expected: usize,
}

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl<const N: usize> Base32<N> {
    /// A new one from the kernel's random numbers.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes).map_err(Error::Random)?;
        // 256 is a multiple of 32, so every character is equally likely.
        Ok(Self(bytes.map(|byte| ALPHABET[usize::from(byte % 32)])))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }
}

impl<const N: usize> FromStr for Base32<N> {
    type Err = InvalidId;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidId> {
        match <[u8; N]>::try_from(text.as_bytes()) {
            Ok(bytes) if bytes.iter().all(|byte| ALPHABET.contains(byte)) => Ok(Self(bytes)),
            _ => Err(InvalidId { text: text.to_owned(), expected: N }),
        }
    }
}

impl<const N: usize> fmt::Display for Base32<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Base32<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl<const N: usize> Serialize for Base32<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, const N: usize> Deserialize<'de> for Base32<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl<const N: usize> ToSql for Base32<N> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl<const N: usize> FromSql for Base32<N> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn random_ids_are_valid_and_differ() {
        let ids: HashSet<_> = (0..1000).map(|_| WorktreeId::random().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn only_the_exact_form_is_an_id() {
        let good = "abcdefghij234";
        assert_eq!(good.parse::<WorktreeId>().unwrap().as_str(), good);
        for bad in [
            "",
            "abcdefghij23",
            "abcdefghij2345",
            "Abcdefghij234",
            "abcdefghij231",
            "../../../etc/a",
        ] {
            assert!(bad.parse::<WorktreeId>().is_err(), "{bad}");
            assert!(serde_json::from_value::<WorktreeId>(bad.into()).is_err(), "{bad}");
        }
    }
}
