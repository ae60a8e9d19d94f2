//! Text cut to a width on the screen, in the middle: beginnings and ends tell names and paths apart.

use console::measure_text_width;

const ELLIPSIS: char = '…';

/// The text if it fits into `width` columns, else as much of both ends as does.
pub(crate) fn middle(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let start = prefix(text.chars(), room / 2);
    let start_width = measure_text_width(&start);
    let end: String = prefix(text.chars().rev(), room - start_width).chars().rev().collect();
    // A mark that combines with a character that is cut off would combine with the ellipsis.
    let end = end.trim_start_matches(|character| character_width(character) == 0);
    format!("{start}{ELLIPSIS}{end}")
}

fn prefix(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character_width(*character);
            used <= width
        })
        .collect()
}

fn character_width(character: char) -> usize {
    measure_text_width(character.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expected: &str) {
        let found = middle(text, width);
        assert_eq!(found, expected, "{text} in {width}");
        assert!(measure_text_width(&found) <= width, "{found} in {width}");
    }

    #[test]
    fn both_ends_stay() {
        check("abcdefgh", 8, "abcdefgh");
        check("abcdefgh", 7, "abc…fgh");
        check("abcdefgh", 6, "ab…fgh");
        check("abcdefgh", 1, "…");
        check("abcdefgh", 0, "");
        check("", 0, "");
    }

    #[test]
    fn wide_characters_count_twice() {
        check("日本語日本語", 12, "日本語日本語");
        check("日本語日本語", 11, "日本…日本語");
        check("日本語日本語", 2, "…");
    }

    #[test]
    fn a_combining_mark_is_not_left_alone() {
        check("abcde\u{301}f", 3, "a…f");
    }
}
