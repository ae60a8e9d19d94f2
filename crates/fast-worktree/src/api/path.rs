//! Paths and other bytes on the wire: text where they are UTF-8, else base64.

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

/// Bytes that are mostly text: a JSON string, or `{"bytes": base64}` where they are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBytes(pub Vec<u8>);

impl Serialize for WirePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.0.as_os_str().as_bytes(), serializer)
    }
}

impl Serialize for WireBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for WirePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer).map(|bytes| Self(PathBuf::from(OsString::from_vec(bytes))))
    }
}

impl<'de> Deserialize<'de> for WireBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer).map(Self)
    }
}

fn write<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return serializer.serialize_str(text);
    }
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("bytes", &STANDARD.encode(bytes))?;
    map.end()
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes { bytes: String },
    }
    match Form::deserialize(deserializer)? {
        Form::Text(text) => Ok(text.into_bytes()),
        Form::Bytes { bytes } => STANDARD.decode(bytes).map_err(D::Error::custom),
    }
}

impl JsonSchema for WirePath {
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        schema("A path: a string, or its bytes in base64 where it is not UTF-8.")
    }
}

impl JsonSchema for WireBytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        schema("Bytes: a string, or in base64 where they are not UTF-8.")
    }
}

fn schema(description: &str) -> Schema {
    json_schema!({
        "description": description,
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
