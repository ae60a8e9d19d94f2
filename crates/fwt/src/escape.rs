//! Text for terminals: what would move the cursor, or hide what is really there, is spelled out.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A path in one line of harmless text.
pub(crate) fn path(path: &Path) -> String {
    bytes(path.as_os_str().as_bytes())
}

/// Any text in one line.
pub(crate) fn text(text: &str) -> String {
    bytes(text.as_bytes())
}

/// Text of several lines, each harmless.
pub(crate) fn lines(text: &str) -> String {
    text.split('\n').map(self::text).collect::<Vec<_>>().join("\n")
}

fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_harmful(character) {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02x}").expect("a String takes any text");
        }
    }
    text
}

/// Controls, and the marks that make text run in another direction than it is stored.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_is_not_plain_is_spelled_out() {
        let check = |bytes: &[u8], expected| {
            assert_eq!(path(Path::new(OsStr::from_bytes(bytes))), expected);
        };
        check("/straße/日本".as_bytes(), "/straße/日本");
        check(b"/a\nb\tc\x1b[31m", r"/a\nb\tc\u{1b}[31m");
        check(b"/a\xff\xfe", r"/a\xff\xfe");
        check("/a\u{202e}b\u{9b}".as_bytes(), r"/a\u{202e}b\u{9b}");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(lines("one\ntwo\u{1b}"), "one\ntwo\\u{1b}");
    }
}
