//! Texts that show by themselves whether they are whole: the first line says what the rest must be.

use crate::random::Random;

/// Bytes of the first line.
pub(crate) const HEADER_BYTES: usize = 29;

/// A text of so many bytes, but no fewer than its first line.
pub(crate) fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let bytes = bytes.max(HEADER_BYTES);
    let mut text = format!("soak {seed:016x} {bytes:06}\n").into_bytes();
    let mut random = Random::new(seed);
    while text.len() < bytes {
        text.extend(format!("{:016x}\n", random.next()).as_bytes());
    }
    text.truncate(bytes);
    text
}

/// Whether these bytes are exactly one text: neither torn nor mixed.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let header = bytes.get(..HEADER_BYTES).and_then(|header| str::from_utf8(header).ok());
    let Some(fields) = header.and_then(|header| header.trim_end().strip_prefix("soak ")) else {
        return false;
    };
    let Some((seed, length)) = fields.split_once(' ') else { return false };
    match (u64::from_str_radix(seed, 16), length.parse::<usize>()) {
        (Ok(seed), Ok(length)) => length == bytes.len() && text(seed, length) == bytes,
        _ => false,
    }
}

/// The text of a random seed: half of the time as long as before, since a change that keeps the
/// size is the one that is hard to see.
pub(crate) fn successor(random: &mut Random, bytes_before: usize) -> Vec<u8> {
    const LARGE: usize = 40_000;
    const USUAL: usize = 2_000;
    let bytes = match random.below(20) {
        0 => random.below(LARGE),
        1..10 => random.below(USUAL),
        _ => bytes_before,
    };
    text(random.next(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_whole_and_as_long_as_asked() {
        for bytes in [0, HEADER_BYTES, 30, 1_000, 40_000] {
            let text = text(7, bytes);
            assert_eq!(text.len(), bytes.max(HEADER_BYTES));
            assert!(is_whole(&text));
        }
    }

    #[test]
    fn a_torn_or_mixed_text_is_not_whole() {
        let (one, other) = (text(1, 500), text(2, 500));
        assert!(!is_whole(&one[..499]));
        assert!(!is_whole(&[&one[..100], &other[100..]].concat()));
        assert!(!is_whole(b""));
        assert!(!is_whole(&[one, vec![b'x']].concat()));
    }
}
