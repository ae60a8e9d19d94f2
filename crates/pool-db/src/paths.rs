//! Paths of any bytes: blobs in the database; in JSON text, or `{"bytes": base64}` if not UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded {
    Text(String),
    Bytes { bytes: String },
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => Encoded::Bytes { bytes: STANDARD.encode(path.as_os_str().as_bytes()) }
            .serialize(serializer),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let path = match Encoded::deserialize(deserializer)? {
        Encoded::Text(text) => PathBuf::from(text),
        Encoded::Bytes { bytes } => {
            let bytes = STANDARD.decode(bytes).map_err(D::Error::custom)?;
            PathBuf::from(OsString::from_vec(bytes))
        }
    };
    if path.is_absolute() { Ok(path) } else { Err(D::Error::custom("a path is not absolute")) }
}

/// The same for paths that may be missing.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Path, PathBuf, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Present(#[serde(with = "super")] PathBuf);

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Path::to_path_buf).map(Present).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Present>::deserialize(deserializer)?.map(|present| present.0))
    }
}

/// A path as a blob, going in.
pub(crate) struct Blob<'a>(pub(crate) &'a Path);

impl ToSql for Blob<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.as_os_str().as_bytes())))
    }
}

/// A path as a blob, coming out.
pub(crate) struct FromBlob(pub(crate) PathBuf);

impl FromSql for FromBlob {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(PathBuf::from(OsStr::from_bytes(value.as_blob()?))))
    }
}
