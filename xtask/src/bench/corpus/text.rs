//! Text that looks like source code to a compressor.

use crate::random::Random;

const WORDS: &[&str] = &[
    "fn",
    "let",
    "mut",
    "return",
    "if",
    "else",
    "match",
    "for",
    "while",
    "impl",
    "struct",
    "enum",
    "const",
    "import",
    "export",
    "function",
    "class",
    "self",
    "this",
    "value",
    "index",
    "length",
    "buffer",
    "request",
    "response",
    "error",
    "result",
    "option",
    "string",
    "number",
    "parse",
    "format",
    "render",
    "update",
    "handle",
    "options",
    "config",
    "context",
    "state",
    "name",
    "path",
    "key",
    "items",
    "entry",
    "node",
    "child",
    "parent",
    "width",
    "height",
    "callback",
    "true",
    "false",
    "null",
    "undefined",
    "await",
    "async",
    "public",
    "static",
    "default",
];
const JOINTS: &[&str] = &[" ", " ", " ", ".", "(", ")", ", ", " = ", " => ", "::", " + ", " == "];
const LINE_ENDS: &[&str] = &[";\n", ";\n", ",\n", " {\n", "\n", ");\n", "}\n\n"];
const INDENTATIONS: &[&str] = &["", "  ", "    ", "    ", "        ", "            "];

/// One word in so many is a number of its own, as identifiers and hashes are; this makes zlib
/// reach about the third that it reaches on real source.
const ODD_WORDS: usize = 6;
const WORDS_PER_LINE: usize = 9;

/// Appends so many bytes, the same ones for the same random state.
pub(crate) fn append(text: &mut Vec<u8>, size_bytes: usize, random: &mut Random) {
    let end = text.len() + size_bytes;
    while text.len() < end {
        text.extend(INDENTATIONS[random.below(INDENTATIONS.len())].bytes());
        for _ in 0..=random.below(WORDS_PER_LINE) {
            if random.below(ODD_WORDS) == 0 {
                text.extend(format!("{:x}", random.next() >> 36).bytes());
            } else {
                text.extend(WORDS[random.below(WORDS.len())].bytes());
            }
            text.extend(JOINTS[random.below(JOINTS.len())].bytes());
        }
        text.extend(LINE_ENDS[random.below(LINE_ENDS.len())].bytes());
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::append;
    use crate::random::Random;

    fn text(size_bytes: usize, seed: u64) -> Vec<u8> {
        let mut text = Vec::new();
        append(&mut text, size_bytes, &mut Random::new(seed));
        text
    }

    #[test]
    fn a_seed_is_a_text_of_the_length_asked_for() {
        for size_bytes in [0, 1, 48, 5_000] {
            assert_eq!(text(size_bytes, 7).len(), size_bytes);
            assert_eq!(text(size_bytes, 7), text(size_bytes, 7));
        }
        assert_ne!(text(48, 7), text(48, 8));
    }

    #[test]
    fn it_is_lines_of_plain_text() {
        let text = String::from_utf8(text(50_000, 1)).unwrap();
        assert!(text.is_ascii() && !text.contains('\r'));
        assert!(text.lines().all(|line| line.len() < 250));
    }
}
