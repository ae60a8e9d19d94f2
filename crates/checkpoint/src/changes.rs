//! What changed between two boundaries: for each path, what it was and what it is.
//!
//! As bytes: a line that names the format, then for each path, sorted, the path, whether there is a
//! before and an after, and these.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::codec::{put, put_bytes, take, take_bytes};
use crate::state::State;

/// What a path was and what it is; `None` says that nothing was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// At the boundary before.
    pub before: Option<State>,
    /// At this one.
    pub after: Option<State>,
}

/// Paths below the root, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(pub BTreeMap<PathBuf, Change>);

const HEADER: &[u8] = b"fwt-changes 1\n";

impl Changes {
    /// Adds what changed later: the first before and the last after stay.
    pub(crate) fn then(&mut self, later: Self) {
        for (path, change) in later.0 {
            let first = self.0.get(&path).map_or(change.before, |earlier| earlier.before);
            if first == change.after {
                self.0.remove(&path);
            } else {
                self.0.insert(path, Change { before: first, after: change.after });
            }
        }
    }

    /// The same, the other way round.
    #[must_use]
    pub(crate) fn reversed(self) -> Self {
        let turn = |change: Change| Change { before: change.after, after: change.before };
        Self(self.0.into_iter().map(|(path, change)| (path, turn(change))).collect())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        for (path, change) in &self.0 {
            put_bytes(&mut bytes, path.as_os_str().as_bytes());
            let Change { before, after } = change;
            put(&mut bytes, u64::from(before.is_some()) | u64::from(after.is_some()) << 1);
            for state in [before, after].into_iter().flatten() {
                state.encode(&mut bytes);
            }
        }
        bytes
    }

    /// `None` where the bytes are not what [`Changes::encode`] made.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(HEADER)?;
        let mut changes = BTreeMap::new();
        while !rest.is_empty() {
            let path = PathBuf::from(OsString::from_vec(take_bytes(&mut rest)?.to_vec()));
            let sides = take(&mut rest)?;
            let before = if sides & 1 == 0 { None } else { Some(State::decode(&mut rest)?) };
            let after = if sides & 2 == 0 { None } else { Some(State::decode(&mut rest)?) };
            changes.insert(path, Change { before, after });
        }
        Some(Self(changes))
    }
}

#[cfg(test)]
mod tests {
    use fs_sys::{Kind, Mode, Time};

    use super::*;
    use crate::store::ContentId;

    fn state(text: &str) -> State {
        let content = (!text.is_empty()).then(|| ContentId::of(text.as_bytes()));
        let mtime = Time { seconds: -1, nanos: 5 };
        State { kind: Kind::File, mode: Mode(0o4755), mtime, size: 300, content }
    }

    fn changes(list: &[(&[u8], Option<&str>, Option<&str>)]) -> Changes {
        let change = |(path, before, after): &(&[u8], Option<&str>, Option<&str>)| {
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            (path, Change { before: before.map(state), after: after.map(state) })
        };
        Changes(list.iter().map(change).collect())
    }

    #[test]
    fn what_is_written_reads_back() {
        let list = changes(&[
            (b"new", None, Some("n")),
            (b"gone\xff", Some("g"), None),
            (b"unknown", Some(""), Some("x")),
        ]);
        let bytes = list.encode();
        assert_eq!(Changes::decode(&bytes).unwrap(), list);
        for length in HEADER.len() + 1..bytes.len() {
            assert_ne!(Changes::decode(&bytes[..length]).as_ref(), Some(&list), "{length}");
        }
        assert_eq!(Changes::decode(b"something else"), None);
    }

    #[test]
    fn the_earliest_before_and_the_last_after_count() {
        let mut all = changes(&[
            (b"a", None, Some("1")),
            (b"b", Some("0"), Some("1")),
            (b"c", Some("0"), None),
        ]);
        all.then(changes(&[
            (b"a", Some("1"), None),
            (b"b", Some("1"), Some("2")),
            (b"c", None, Some("0")),
            (b"d", None, Some("9")),
        ]));
        let expected = changes(&[(b"b", Some("0"), Some("2")), (b"d", None, Some("9"))]);
        assert_eq!(all, expected);
        let back = changes(&[(b"b", Some("2"), Some("0")), (b"d", Some("9"), None)]);
        assert_eq!(expected.reversed(), back);
    }
}
