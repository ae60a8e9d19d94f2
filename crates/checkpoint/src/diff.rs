//! Differences between two states as people read them: lines counted, or a patch that git can apply.

use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::Kind;
use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, InternedInput, Token};

use crate::changes::{Change, Changes};
use crate::error::Result;
use crate::state::State;
use crate::store::{Reader, SMALL_BYTES, Store};

/// How much is told of a file whose lines changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    Names,
    /// How many lines.
    Counts,
    /// Which.
    Patch,
}

/// What became of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Below the root.
    pub path: PathBuf,
    /// What it was and is.
    pub change: Change,
    /// Its lines, where they were looked at.
    pub lines: Lines,
}

/// The lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lines {
    /// They were not asked for.
    NotAsked,
    /// There are none to tell of.
    None(NoLines),
    /// So many.
    Counted {
        /// That are new.
        added: u64,
        /// That are gone.
        deleted: u64,
        /// The hunks, if they were asked for.
        hunks: Option<Vec<u8>>,
    },
}

/// Why nothing is told of a file's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLines {
    /// It holds a zero byte.
    Binary,
    /// It is over 1 MiB.
    TooLarge,
    /// What was in it is not kept.
    NotKept,
    /// It is a directory or a link, was one, or its bytes are the same.
    NotText,
    /// What came before it is as much as anybody reads.
    CutOff,
}

/// All differences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// By path.
    pub files: Vec<FileDiff>,
    /// Whether hunks were left out because there are too many.
    pub is_truncated: bool,
}

/// A difference over this size is cut.
const MOST_BYTES: usize = 10 << 20;

/// Tells of changes.
pub fn diff(store: &Store, changes: Changes, detail: Detail) -> Result<Difference> {
    diff_up_to(store, changes, detail, MOST_BYTES)
}

fn diff_up_to(
    store: &Store,
    changes: Changes,
    detail: Detail,
    most_bytes: usize,
) -> Result<Difference> {
    let reader = store.reader()?;
    let mut difference = Difference::default();
    let mut bytes = 0;
    for (path, change) in changes.0 {
        let mut lines = match detail {
            Detail::Names => Lines::NotAsked,
            _ if difference.is_truncated => Lines::None(NoLines::CutOff),
            Detail::Counts | Detail::Patch => lines(&reader, &change, detail)?,
        };
        if let Lines::Counted { hunks: Some(hunks), .. } = &lines {
            bytes += hunks.len();
            if bytes > most_bytes {
                difference.is_truncated = true;
                lines = Lines::None(NoLines::CutOff);
            }
        }
        difference.files.push(FileDiff { path, change, lines });
    }
    Ok(difference)
}

fn lines(reader: &Reader<'_>, change: &Change, detail: Detail) -> Result<Lines> {
    let sides = [change.before, change.after];
    let states = || sides.into_iter().flatten();
    if states().any(|state| state.is_unknown()) {
        return Ok(Lines::None(NoLines::NotKept));
    }
    let is_same =
        sides[0].and_then(|state| state.content) == sides[1].and_then(|state| state.content);
    if is_same || states().any(|state| state.kind != Kind::File) {
        return Ok(Lines::None(NoLines::NotText));
    }
    if states().any(|state| state.size > SMALL_BYTES) {
        return Ok(Lines::None(NoLines::TooLarge));
    }
    let read = |state: Option<State>| match state.and_then(|state| state.content) {
        Some(content) => reader.read(&content),
        None => Ok(Vec::new()),
    };
    let (before, after) = (read(change.before)?, read(change.after)?);
    if is_binary(&before) || is_binary(&after) {
        return Ok(Lines::None(NoLines::Binary));
    }
    Ok(compare(&before, &after, detail))
}

/// git looks at as many bytes.
const BINARY_PROBE_BYTES: usize = 8000;

fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_PROBE_BYTES)]).is_some()
}

fn compare(before: &[u8], after: &[u8], detail: Detail) -> Lines {
    let input = InternedInput::new(byte_lines(before), byte_lines(after));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks = (detail == Detail::Patch).then(|| hunks(&diff, &input));
    let (added, deleted) = (diff.count_additions().into(), diff.count_removals().into());
    Lines::Counted { added, deleted, hunks }
}

/// Unchanged lines around those that changed.
const CONTEXT: u32 = 3;

fn hunks(diff: &Diff, input: &InternedInput<&[u8]>) -> Vec<u8> {
    let all: Vec<_> = diff.hunks().collect();
    let mut text = Vec::new();
    // What is closer than two contexts is one hunk.
    for group in all.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let lead = first.before.start.min(CONTEXT);
        let total = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
        let trail = (total - last.before.end).min(CONTEXT);
        let before = first.before.start - lead..last.before.end + trail;
        let after = first.after.start - lead..last.after.end + trail;
        text.extend_from_slice(b"@@ -");
        text.extend_from_slice(position(&before).as_bytes());
        text.extend_from_slice(b" +");
        text.extend_from_slice(position(&after).as_bytes());
        text.extend_from_slice(b" @@\n");
        let mut at = before.start;
        for hunk in group {
            put_lines(&mut text, b' ', input, &input.before, at..hunk.before.start);
            put_lines(&mut text, b'-', input, &input.before, hunk.before.clone());
            put_lines(&mut text, b'+', input, &input.after, hunk.after.clone());
            at = hunk.before.end;
        }
        put_lines(&mut text, b' ', input, &input.before, at..before.end);
    }
    text
}

/// Lines count from 1; no lines are after the one before them.
fn position(lines: &Range<u32>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    }
}

fn put_lines(
    text: &mut Vec<u8>,
    mark: u8,
    input: &InternedInput<&[u8]>,
    tokens: &[Token],
    range: Range<u32>,
) {
    for token in &tokens[range.start as usize..range.end as usize] {
        let line = input.interner[*token];
        text.push(mark);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

impl FileDiff {
    /// The path's part of a patch, as git writes it. Empty for what git has no words for, such as an
    /// empty directory.
    pub fn patch(&self) -> Vec<u8> {
        let Change { before, after } = self.change;
        // Of a device or the like there is nothing to say but its name.
        if [before, after].into_iter().flatten().all(|state| state.kind == Kind::Special) {
            return Vec::new();
        }
        let mode = |state: Option<State>| state.and_then(git_mode);
        let (old, new) = (mode(before), mode(after));
        let (a, b) = (quoted("a/", &self.path), quoted("b/", &self.path));
        let mut text = format!("diff --git {a} {b}\n");
        match (old, new) {
            (None, None) => return Vec::new(),
            (None, Some(new)) => writeln!(text, "new file mode {new}"),
            (Some(old), None) => writeln!(text, "deleted file mode {old}"),
            (Some(old), Some(new)) if old != new => {
                writeln!(text, "old mode {old}\nnew mode {new}")
            }
            (Some(_), Some(_)) => Ok(()),
        }
        .expect("a String takes any text");
        let from = old.map_or("/dev/null", |_| &a);
        let to = new.map_or("/dev/null", |_| &b);
        let mut bytes = text.into_bytes();
        match &self.lines {
            Lines::Counted { hunks: Some(hunks), .. } if !hunks.is_empty() => {
                bytes.extend_from_slice(format!("--- {from}\n+++ {to}\n").as_bytes());
                bytes.extend_from_slice(hunks);
            }
            Lines::None(
                NoLines::Binary | NoLines::TooLarge | NoLines::NotKept | NoLines::CutOff,
            ) => {
                bytes
                    .extend_from_slice(format!("Binary files {from} and {to} differ\n").as_bytes());
            }
            Lines::NotAsked | Lines::None(NoLines::NotText) | Lines::Counted { .. } => {}
        }
        bytes
    }
}

/// git knows three modes of what a checkpoint has.
fn git_mode(state: State) -> Option<&'static str> {
    match state.kind {
        Kind::File if state.mode.is_executable() => Some("100755"),
        Kind::File | Kind::Special => Some("100644"),
        Kind::Symlink => Some("120000"),
        Kind::Directory => None,
    }
}

/// A path as git writes it: in quotes where a byte of it would not survive a line of text.
fn quoted(prefix: &str, path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |byte: &u8| (b' '..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    let mut text = prefix.to_owned();
    let is_all_plain = bytes.iter().all(is_plain);
    for byte in bytes {
        if is_plain(byte) {
            text.push(char::from(*byte));
        } else {
            write!(text, "\\{byte:03o}").expect("a String takes any text");
        }
    }
    if is_all_plain { text } else { format!("\"{text}\"") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fs_sys::{Mode, Time};
    use proptest::prelude::*;

    use super::*;

    fn patch_of(before: &str, after: &str) -> (u64, u64, String) {
        let lines = compare(before.as_bytes(), after.as_bytes(), Detail::Patch);
        let Lines::Counted { added, deleted, hunks: Some(hunks) } = lines else {
            panic!("{lines:?}")
        };
        (added, deleted, String::from_utf8(hunks).unwrap())
    }

    #[test]
    fn hunks_have_their_places_and_their_context() {
        let before: String = (1..=20).map(|line| line.to_string() + "\n").collect();
        let after = before.replace("2\n3\n", "2\nnew\n3\n").replace("19\n20\n", "19\n20");
        let expected = "@@ -1,5 +1,6 @@\n 1\n 2\n+new\n 3\n 4\n 5\n\
            @@ -17,4 +18,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n";
        assert_eq!(patch_of(&before, &after), (2, 1, expected.to_owned()));
        assert_eq!(patch_of("", "a\n"), (1, 0, "@@ -0,0 +1 @@\n+a\n".to_owned()));
        assert_eq!(patch_of("a\n", ""), (0, 1, "@@ -1 +0,0 @@\n-a\n".to_owned()));
        assert_eq!(patch_of("a\r\n", "a\n"), (1, 1, "@@ -1 +1 @@\n-a\r\n+a\n".to_owned()));
    }

    /// Applies hunks the way patch(1) does, trusting only their marks and places.
    fn apply(before: &str, hunks: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut at, mut new) = (0, String::new());
        let mut lines = hunks.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if let Some(place) = line.strip_prefix("@@ -") {
                let place = place.split([' ', ',']).next().unwrap().parse::<usize>().unwrap();
                let is_empty = line.starts_with(&format!("@@ -{place},0 "));
                let start = if is_empty { place } else { place - 1 };
                new.extend(old[at..start].iter().copied());
                at = start;
                continue;
            }
            let is_last = lines.peek().is_some_and(|next| next.starts_with('\\'));
            let (mark, text) = line.split_at(1);
            let text = if is_last { text.strip_suffix('\n').unwrap() } else { text };
            match mark {
                " " => {
                    assert_eq!(old[at], text);
                    at += 1;
                    new.push_str(text);
                }
                "-" => {
                    assert_eq!(old[at], text);
                    at += 1;
                }
                "+" => new.push_str(text),
                "\\" => {}
                _ => panic!("{line:?}"),
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_patch_makes_the_one_from_the_other(
            before in "([abc]{1,2}\n){0,30}[ab]?",
            after in "([abc]{1,2}\n){0,30}[ab]?",
        ) {
            let (_, _, hunks) = patch_of(&before, &after);
            prop_assert_eq!(apply(&before, &hunks), after);
        }
    }

    fn state(store: &Store, bytes: &[u8], mode: u32) -> State {
        let in_use = store.lock_in_use().unwrap();
        let content = store.write(&in_use, |writer| writer.put_bytes(bytes)).unwrap();
        let mtime = Time { seconds: 0, nanos: 0 };
        let size = bytes.len() as u64;
        State { kind: Kind::File, mode: Mode(mode), mtime, size, content: Some(content) }
    }

    #[test]
    fn what_has_no_lines_is_named_and_much_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store")).unwrap();
        let file = |bytes: &[u8]| Some(state(&store, bytes, 0o644));
        let link = Some(State { kind: Kind::Symlink, ..file(b"to").unwrap() });
        let unknown = Some(State { content: None, ..file(b"x").unwrap() });
        let large = vec![b'a'; (1 << 20) + 1];
        let long = "line\n".repeat(40);
        let changes = [
            ("binary", file(b"a\0"), file(b"b")),
            ("huge", None, file(&large)),
            ("link", file(b"a"), link),
            ("mode", file(b"a"), Some(state(&store, b"a", 0o755))),
            ("not kept", unknown, file(b"y")),
            ("text", file(b"a\n"), file(b"b\n")),
            ("then much", None, file(long.as_bytes())),
            ("zz", file(b"a\n"), None),
        ];
        let changes: BTreeMap<_, _> = changes
            .into_iter()
            .map(|(path, before, after)| (PathBuf::from(path), Change { before, after }))
            .collect();
        let told = diff_up_to(&store, Changes(changes), Detail::Patch, 100).unwrap();
        assert!(told.is_truncated);
        let lines: Vec<_> = told.files.iter().map(|file| &file.lines).collect();
        let none = |why| Lines::None(why);
        let hunks = Some(b"@@ -1 +1 @@\n-a\n+b\n".to_vec());
        let expected = [
            none(NoLines::Binary),
            none(NoLines::TooLarge),
            none(NoLines::NotText),
            none(NoLines::NotText),
            none(NoLines::NotKept),
            Lines::Counted { added: 1, deleted: 1, hunks },
            none(NoLines::CutOff),
            none(NoLines::CutOff),
        ];
        assert_eq!(lines, expected.iter().collect::<Vec<_>>());
        let patch = |at: usize| String::from_utf8(told.files[at].patch()).unwrap();
        assert_eq!(
            patch(0),
            "diff --git a/binary b/binary\nBinary files a/binary and b/binary differ\n"
        );
        assert_eq!(patch(3), "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n");
        assert!(
            patch(7).contains("deleted file mode 100644\nBinary files a/zz and /dev/null differ")
        );
    }

    #[test]
    fn odd_names_are_quoted_as_git_does() {
        use std::ffi::OsStr;
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(quoted("a/", Path::new(OsStr::from_bytes(bytes))), expected);
        };
        check(b"plain name", "a/plain name");
        check(b"q\"\xff\n", "\"a/q\\042\\377\\012\"");
    }
}
