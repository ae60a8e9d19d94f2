//! Finds a word in a text where it stands as a whole.

/// The places of a needle that is not preceded or followed by a character of a kind.
pub(crate) fn find_whole<'text>(
    text: &'text str,
    needle: &'text str,
    continues: impl Fn(char) -> bool + 'text,
) -> impl Iterator<Item = usize> + 'text {
    text.match_indices(needle).map(|(index, _)| index).filter(move |index| {
        let before = text[..*index].chars().next_back();
        let after = text[index + needle.len()..].chars().next();
        !before.is_some_and(&continues) && !after.is_some_and(&continues)
    })
}

/// The number of the line that a place is in, as editors count.
pub(crate) fn line_number(text: &str, index: usize) -> usize {
    text[..index].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::{find_whole, line_number};

    #[test]
    fn part_of_a_word_is_not_the_word() {
        let text = "cat concat cats cat";
        assert_eq!(find_whole(text, "cat", char::is_alphanumeric).collect::<Vec<_>>(), [0, 16]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_number("a\nb", 0), 1);
        assert_eq!(line_number("a\nb", 2), 2);
    }
}
