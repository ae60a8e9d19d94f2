//! The numbers of variable width in a version 4 index.

/// The number at the start of `bytes`, and how many bytes it takes. None if the bytes end within
/// it, or it is larger than anything it could count.
///
/// As in the offsets of a pack: seven bits a byte, most significant first, and one is added at each
/// continuation so that no number has two encodings.
pub(super) fn decode(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number: usize = 0;
    for (position, &byte) in bytes.iter().enumerate() {
        number = number.checked_mul(128)?.checked_add(usize::from(byte & 0x7F))?;
        if byte & 0x80 == 0 {
            return Some((number, position + 1));
        }
        number = number.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_width_are_read() {
        let check = |bytes: &[u8], expected| assert_eq!(decode(bytes), expected, "{bytes:?}");
        check(&[0], Some((0, 1)));
        check(&[0x7F, 9], Some((127, 1)));
        check(&[0x80, 0], Some((128, 2)));
        check(&[0xFF, 0x7F], Some((16511, 2)));
        check(&[0x80, 0x80, 0x00], Some((16512, 3)));
    }

    #[test]
    fn a_number_cut_short_or_too_large_is_none() {
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xFF; 30]), None);
    }
}
