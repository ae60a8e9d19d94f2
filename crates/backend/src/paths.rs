//! Paths of any bytes in JSON: text, or `{"bytes": base64}` where they are not UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded {
    Text(String),
    Bytes { bytes: String },
}

impl Encoded {
    fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes { bytes: STANDARD.encode(path.as_os_str().as_bytes()) },
        }
    }

    fn path(self) -> Result<PathBuf, base64::DecodeError> {
        Ok(match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes { bytes } => OsString::from_vec(STANDARD.decode(bytes)?).into(),
        })
    }
}

pub(crate) mod one {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{Encoded, Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        Encoded::of(path).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Encoded::deserialize(from)?.path().map_err(D::Error::custom)
    }
}

pub(crate) mod list {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{Encoded, PathBuf};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| Encoded::of(path)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let encoded = Vec::<Encoded>::deserialize(from)?;
        encoded.into_iter().map(|path| path.path().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Active, Kind, Stack};

    #[test]
    fn any_bytes_come_back() {
        let odd = PathBuf::from(OsString::from_vec(b"/a\xff,:\n".to_vec()));
        let overlay = Stack { layers: vec!["/l".into(), odd.clone()], private: odd.clone() };
        let active = Active { kind: Kind::Overlay, path: odd, overlay: Some(overlay) };
        let json = serde_json::to_string(&active).unwrap();
        assert_eq!(serde_json::from_str::<Active>(&json).unwrap(), active);
        let plain = Active { kind: Kind::Copy, path: "/t".into(), overlay: None };
        let json = serde_json::to_string(&plain).unwrap();
        assert_eq!(json, r#"{"kind":"copy","path":"/t"}"#);
    }
}
