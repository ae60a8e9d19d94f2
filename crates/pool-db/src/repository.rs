//! Which repository a worktree belongs to, told by its inode rather than by its path.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};

/// A repository: where it was last seen, and what it is wherever it moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The common directory; for a plain directory, the directory itself.
    #[serde(with = "crate::paths")]
    pub common_dir: PathBuf,
    /// What tells that directory apart from any other.
    pub identity: RepositoryIdentity,
}

/// What tells a repository apart: same identity at another path = moved, another identity at the
/// same path = made anew. Its `Display` form is the key in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RepositoryIdentity {
    /// Inode number of the common directory.
    pub ino: u64,
    /// When it was made; `None` where the file system does not keep it.
    pub birth: Option<Birth>,
    /// Who owns it.
    pub uid: u32,
}

/// A time of birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Birth {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within that second.
    pub nanos: u32,
}

/// Text that is no key of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no repository key")]
pub struct InvalidIdentity(pub String);

impl From<fs_sys::Identity> for RepositoryIdentity {
    fn from(identity: fs_sys::Identity) -> Self {
        let birth = identity.birth.map(|time| Birth { seconds: time.seconds, nanos: time.nanos });
        Self { ino: identity.ino, birth, uid: identity.uid }
    }
}

impl fmt::Display for RepositoryIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ino, birth, uid } = self;
        match birth {
            Some(Birth { seconds, nanos }) => write!(formatter, "{ino}:{seconds}.{nanos}:{uid}"),
            None => write!(formatter, "{ino}::{uid}"),
        }
    }
}

impl FromStr for RepositoryIdentity {
    type Err = InvalidIdentity;

    fn from_str(text: &str) -> Result<Self, InvalidIdentity> {
        parse(text).ok_or_else(|| InvalidIdentity(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<RepositoryIdentity> {
    let (ino, rest) = text.split_once(':')?;
    let (birth, uid) = rest.split_once(':')?;
    let birth = match birth.split_once('.') {
        Some((seconds, nanos)) => {
            Some(Birth { seconds: seconds.parse().ok()?, nanos: nanos.parse().ok()? })
        }
        None if birth.is_empty() => None,
        None => return None,
    };
    Some(RepositoryIdentity { ino: ino.parse().ok()?, birth, uid: uid.parse().ok()? })
}

impl ToSql for RepositoryIdentity {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl FromSql for RepositoryIdentity {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_as_the_same_identity() {
        let birth = Some(Birth { seconds: -7, nanos: 999_999_999 });
        for identity in [
            RepositoryIdentity { ino: u64::MAX, birth, uid: u32::MAX },
            RepositoryIdentity { ino: 2, birth: None, uid: 0 },
        ] {
            assert_eq!(identity.to_string().parse(), Ok(identity));
        }
    }

    #[test]
    fn other_text_is_no_key() {
        for bad in ["", "1", "1:2", "1:2:3", "1:2.x:3", "1:2.3:", "-1::0", "1::0:"] {
            assert!(bad.parse::<RepositoryIdentity>().is_err(), "{bad}");
        }
    }
}
