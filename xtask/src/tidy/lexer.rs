//! Tells Rust code from comments and literals, so that a rule about code is not tripped by prose,
//! nor by the rule's own name for what it looks for.

/// What a stretch of source text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the compiler acts on.
    Code,
    /// Documentation counts as such.
    Comment,
    /// A string of any sort or a character, with its quotes.
    Literal,
}

/// The source text with everything but the code blanked out; lines keep their numbers.
pub(crate) fn code_only(source: &str) -> String {
    split(source)
        .map(|(kind, text)| match kind {
            Kind::Code => text.to_owned(),
            Kind::Comment | Kind::Literal => blank(text),
        })
        .collect()
}

/// The source's literals, with their quotes.
pub(crate) fn literals(source: &str) -> impl Iterator<Item = &str> {
    split(source).filter(|(kind, _)| *kind == Kind::Literal).map(|(_, text)| text)
}

fn blank(text: &str) -> String {
    text.chars().map(|character| if character == '\n' { '\n' } else { ' ' }).collect()
}

fn split(source: &str) -> impl Iterator<Item = (Kind, &str)> {
    let mut rest = source;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (kind, length) = next(rest);
        let (text, after) = rest.split_at(length);
        rest = after;
        Some((kind, text))
    })
}

/// The first stretch of a text that is not empty; at least one character.
fn next(text: &str) -> (Kind, usize) {
    if text.starts_with("//") {
        return (Kind::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (Kind::Comment, block_comment_length(text));
    }
    if let Some(length) = literal_length(text) {
        return (Kind::Literal, length);
    }
    let word = text.find(|character| !is_word_character(character)).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    (Kind::Code, word.max(first))
}

/// Whether a character can be part of an identifier.
pub(crate) fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut index = 0;
    while let Some(rest) = text.get(index..).filter(|rest| !rest.is_empty()) {
        let (change, length) = match rest.get(..2) {
            Some("/*") => (1, 2),
            Some("*/") => (-1, 2),
            _ => (0, rest.chars().next().map_or(1, char::len_utf8)),
        };
        depth = depth.saturating_add_signed(change);
        index += length;
        if depth == 0 {
            return index;
        }
    }
    text.len()
}

fn literal_length(text: &str) -> Option<usize> {
    // The prefixes of byte strings, C strings and raw strings; a raw identifier has no quote.
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| {
            let raw = prefix.ends_with('r') && rest.trim_start_matches('#').starts_with('"');
            raw || (!prefix.ends_with('r') && rest.starts_with(['"', '\'']))
        })
    })?;
    let rest = &text[prefix.len()..];
    let length = if prefix.ends_with('r') {
        raw_string_length(rest)
    } else if rest.starts_with('"') {
        quoted_length(rest, '"')
    } else {
        character_length(rest)?
    };
    Some(prefix.len() + length)
}

fn raw_string_length(text: &str) -> usize {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 1;
    text[start..].find(&end).map_or(text.len(), |length| start + length + end.len())
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        if !is_escaped && character == quote {
            return index + 1;
        }
        is_escaped = !is_escaped && character == '\\';
    }
    text.len()
}

/// `'a'` is a character and `'a` a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let mut characters = text.chars().skip(1);
    let is_character = match characters.next()? {
        '\\' => true,
        _ => characters.next() == Some('\''),
    };
    is_character.then(|| quoted_length(text, '\''))
}

#[cfg(test)]
mod tests {
    use super::{code_only, literals};

    fn check(source: &str, code: &str, strings: &[&str]) {
        assert_eq!(code_only(source), code, "{source}");
        assert_eq!(literals(source).collect::<Vec<_>>(), strings, "{source}");
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc", "a     \nc", &[]);
        check("a /* b /* c */ d */ e", "a                   e", &[]);
        check("/// \"no\"\nx", "        \nx", &[]);
    }

    #[test]
    fn strings_are_literals() {
        check(r#"a("b // c")"#, r"a(        )", &[r#""b // c""#]);
        check(r#""a\"b" c"#, "       c", &[r#""a\"b""#]);
        check(r##"r#"a"b"# c"##, r"         c", &[r##"r#"a"b"#"##]);
        check(r#"br"\" b"c""#, "          ", &[r#"br"\""#, r#"b"c""#]);
    }

    #[test]
    fn a_lifetime_is_no_character() {
        check("&'a str", "&'a str", &[]);
        check(r"'a' '\'' 'b", r"         'b", &["'a'", r"'\''"]);
    }

    #[test]
    fn a_word_that_ends_like_a_prefix_is_no_prefix() {
        check(r#"attr"a""#, "attr   ", &[r#""a""#]);
        check("r#type", "r#type", &[]);
    }

    #[test]
    fn what_is_not_closed_ends_with_the_text() {
        check("\"é", "  ", &["\"é"]);
        check("/* é", "    ", &[]);
    }
}
