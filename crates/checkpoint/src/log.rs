//! The turn log: what happened at each boundary, one JSON document a line, only ever appended to.
//!
//! A line is sixteen digits of the blake3 of its JSON, a space, and the JSON. A line that does not
//! agree with its digits is what a killed process left: it never counted, and is passed over. Fields
//! and events that are not known are a newer fwt's, and do not matter to what is.

use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, File, Mode};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::scan::Why;
use crate::store::ContentId;
use crate::turn::{Outcome, Parent};

/// What happened, in the order in which it was appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The version of this form.
    pub(crate) v: u32,
    /// Seconds since 1970.
    pub(crate) at: i64,
    #[serde(flatten)]
    pub(crate) event: Event,
    /// What the tree was looked at for; `None` where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) capture: Option<Captured>,
}

pub(crate) const VERSION: u32 = 1;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// A prompt began; an open one of its session ended with it.
    Begin {
        session: String,
        prompt: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    },
    /// A prompt ended.
    End { session: String, prompt: u64, outcome: Outcome },
    /// A boundary could not be taken.
    Failed { session: String, prompt: u64, edge: Edge },
    /// The agent said that it writes to these paths.
    Record { session: String, prompt: u64, paths: Vec<PathText> },
    /// The bytes of everything before the boundary of this number were given up.
    Expired { before: u64 },
    /// Something that a newer fwt knows.
    #[serde(other)]
    Unknown,
}

/// Which end of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Edge {
    Begin,
    End,
}

/// What was found when the tree was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Captured {
    /// The number of this boundary, from 1.
    pub(crate) boundary: u64,
    /// The manifest of the state that was found.
    pub(crate) manifest: String,
    /// How many paths changed since the boundary before.
    pub(crate) files: u64,
    /// Which, in the store; `None` if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<ContentId>,
    /// What is not kept; of very many, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) uncovered: Vec<(PathText, Why)>,
    /// How many there are.
    #[serde(default)]
    pub(crate) uncovered_total: u64,
}

/// A path as text, or its bytes where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PathText {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes { bytes: Vec<u8> },
}

impl PathText {
    pub(crate) fn of(path: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes { bytes: path.as_os_str().as_bytes().to_vec() },
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStringExt as _;
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes { bytes } => PathBuf::from(std::ffi::OsString::from_vec(bytes.clone())),
        }
    }
}

/// Reads the log at `path`; without one nothing happened yet.
pub(crate) fn load(path: &Path) -> Result<Vec<Record>> {
    let bytes = match fs_sys::read_file(path) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let records: Vec<Record> = bytes.split(|byte| *byte == b'\n').filter_map(parse).collect();
    if records.iter().any(|record| record.v > VERSION) {
        return Err(Error::UnknownFormat { path: path.to_owned() });
    }
    Ok(records)
}

fn parse(line: &[u8]) -> Option<Record> {
    let (check, json) = line.split_at_checked(DIGITS)?;
    let json = json.strip_prefix(b" ")?;
    if check != digits(json).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

/// Appends to the log at `path`, on the disk. Whoever calls has the tree's lock.
pub(crate) fn append(path: &Path, record: &Record) -> Result<()> {
    let json = serde_json::to_vec(record).expect("a record is plain data");
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::Damaged { path: path.to_owned() });
    };
    let dir = fs_sys::open_dir(parent)?;
    let (file, is_new) = match File::open_to_write(dir.at(name)) {
        Err(error) if error.kind == ErrorKind::NotFound => {
            (File::create(dir.at(name), Mode(0o600))?, true)
        }
        opened => (opened?, false),
    };
    // It begins with the end of a line: what a killed process left before it stays alone.
    let mut line = b"\n".to_vec();
    line.extend_from_slice(digits(&json).as_bytes());
    line.push(b' ');
    line.extend_from_slice(&json);
    line.push(b'\n');
    let size = file.stat()?.size;
    file.write_all_at(&line, size)?;
    file.sync()?;
    if is_new {
        dir.sync()?;
    }
    Ok(())
}

const DIGITS: usize = 16;

fn digits(json: &[u8]) -> String {
    let mut hex = blake3::hash(json).to_hex().to_string();
    hex.truncate(DIGITS);
    hex
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn record(prompt: u64) -> Record {
        let event = Event::Begin { session: "s".into(), prompt, summary: None, parent: None };
        let uncovered = vec![(PathText::Bytes { bytes: vec![0xff] }, Why::Special)];
        let capture = Captured {
            boundary: prompt,
            manifest: "manifest-1".into(),
            files: 2,
            changes: Some(ContentId::of(b"x")),
            uncovered,
            uncovered_total: 1,
        };
        Record { v: VERSION, at: 5, event, capture: Some(capture) }
    }

    fn put(path: &Path, bytes: &[u8]) {
        fs_sys::replace_file(path, OsStr::new("new"), bytes, Mode(0o600)).unwrap();
    }

    #[test]
    fn what_is_appended_reads_back_wherever_the_last_line_was_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        append(&path, &record(1)).unwrap();
        let whole = fs_sys::read_file(&path).unwrap();
        append(&path, &record(2)).unwrap();
        assert_eq!(load(&path).unwrap(), [record(1), record(2)]);
        let bytes = fs_sys::read_file(&path).unwrap();
        for length in whole.len()..bytes.len() - 1 {
            put(&path, &bytes[..length]);
            assert_eq!(load(&path).unwrap(), [record(1)], "{length}");
            append(&path, &record(3)).unwrap();
            assert_eq!(load(&path).unwrap(), [record(1), record(3)], "{length}");
        }
    }

    fn line(json: &str) -> String {
        format!("{} {json}\n", digits(json.as_bytes()))
    }

    #[test]
    fn what_a_newer_fwt_added_does_not_matter_unless_it_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let known = r#"{"v":1,"at":7,"event":"end","session":"","prompt":3,"outcome":"completed","new":{"a":1}}"#;
        let unknown = r#"{"v":1,"at":8,"event":"folded","into":[1,2]}"#;
        put(&path, format!("{}{}", line(known), line(unknown)).as_bytes());
        let records = load(&path).unwrap();
        let end = Event::End { session: String::new(), prompt: 3, outcome: Outcome::Completed };
        let events: Vec<_> = records.into_iter().map(|record| record.event).collect();
        assert_eq!(events, [end, Event::Unknown]);
        put(&path, line(r#"{"v":2,"at":8,"event":"folded"}"#).as_bytes());
        assert!(matches!(load(&path), Err(Error::UnknownFormat { .. })));
    }
}
