//! A path on the wire: text where it is UTF-8, else its bytes.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path: a JSON string, or `{"bytes": base64}` where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WirePath(pub PathBuf);

impl From<PathBuf> for WirePath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl From<&Path> for WirePath {
    fn from(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl Serialize for WirePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.0.to_str() {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("bytes", &STANDARD.encode(self.0.as_os_str().as_bytes()))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for WirePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Bytes { bytes: String },
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(PathBuf::from(text))),
            Form::Bytes { bytes } => {
                let bytes = STANDARD.decode(bytes).map_err(D::Error::custom)?;
                Ok(Self(PathBuf::from(OsString::from_vec(bytes))))
            }
        }
    }
}

impl JsonSchema for WirePath {
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A path: a string, or its bytes in base64 where it is not UTF-8.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "bytes": { "type": "string" } },
                    "required": ["bytes"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_survives_the_wire() {
        for bytes in [&b"/plain"[..], b"/new\nline \"q\"", b"/\xff\xfe"] {
            let path = WirePath(PathBuf::from(OsString::from_vec(bytes.to_vec())));
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<WirePath>(&json).unwrap(), path, "{json}");
        }
        let odd = WirePath(PathBuf::from(OsString::from_vec(b"\xff".to_vec())));
        assert_eq!(serde_json::to_string(&odd).unwrap(), r#"{"bytes":"/w=="}"#);
    }
}
