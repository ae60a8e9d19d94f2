//! Object ids and the digests they are made with.

use std::fmt;

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// The hash a repository names its objects with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectFormat {
    /// 20 bytes, the default.
    Sha1,
    /// 32 bytes, `git init --object-format=sha256`.
    Sha256,
}

impl ObjectFormat {
    /// Bytes in an id of this format.
    pub const fn hash_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// The name git uses, in `extensions.objectFormat` and `rev-parse --show-object-format`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// The format with the name git gives it.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Sha1, Self::Sha256].into_iter().find(|format| format.name() == name)
    }

    /// The id of all zeros, which git uses for "none".
    pub const fn null_id(self) -> ObjectId {
        ObjectId {
            bytes: [0; MAX_HASH_LEN],
            len: match self {
                Self::Sha1 => 20,
                Self::Sha256 => 32,
            },
        }
    }
}

impl fmt::Display for ObjectFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes in the longest id.
const MAX_HASH_LEN: usize = 32;

/// The name of an object, or a checksum of the same kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Zero beyond `len`, so that the derived comparisons are those of the ids.
    bytes: [u8; MAX_HASH_LEN],
    len: u8,
}

impl ObjectId {
    /// The id whose bytes these are; none unless they are as many as some format has.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let len = match bytes.len() {
            20 => 20,
            32 => 32,
            _ => return None,
        };
        let mut id = Self { bytes: [0; MAX_HASH_LEN], len };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    /// The id written as 40 or 64 hexadecimal digits of either case.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if digits.len() > 2 * MAX_HASH_LEN || !digits.len().is_multiple_of(2) {
            return None;
        }
        let mut bytes = [0; MAX_HASH_LEN];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
        }
        Self::from_bytes(&bytes[..digits.len() / 2])
    }

    /// The bytes, as many as the format has.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether this is the id of all zeros, which names no object.
    pub fn is_null(&self) -> bool {
        self.bytes == [0; MAX_HASH_LEN]
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

/// A running digest of one format.
#[derive(Clone, Debug)]
pub struct Hasher(Digest);

#[derive(Clone, Debug)]
enum Digest {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hasher {
    /// The digest of nothing yet.
    pub fn new(format: ObjectFormat) -> Self {
        Self(match format {
            ObjectFormat::Sha1 => Digest::Sha1(Sha1::new()),
            ObjectFormat::Sha256 => Digest::Sha256(Sha256::new()),
        })
    }

    /// Appends `bytes` to what is digested.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Digest::Sha1(digest) => digest.update(bytes),
            Digest::Sha256(digest) => digest.update(bytes),
        }
    }

    /// The digest of everything appended.
    pub fn finish(self) -> ObjectId {
        match self.0 {
            Digest::Sha1(digest) => ObjectId::from_bytes(&digest.finalize()),
            Digest::Sha256(digest) => ObjectId::from_bytes(&digest.finalize()),
        }
        .expect("a digest is as long as an id")
    }
}

/// A hasher that will give the id of a blob once its `len` bytes of content were appended.
///
/// The length is part of what is hashed: with another number of bytes the result is no blob's id.
pub fn blob_hasher(format: ObjectFormat, len: u64) -> Hasher {
    let mut hasher = Hasher::new(format);
    hasher.update(format!("blob {len}\0").as_bytes());
    hasher
}

/// The id of the blob with this content.
pub fn blob_id(format: ObjectFormat, content: &[u8]) -> ObjectId {
    let mut hasher = blob_hasher(format, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_blob_has_gits_id_in_both_formats() {
        let check = |format, hex: &str| {
            assert_eq!(blob_id(format, b"").to_string(), hex);
            assert_eq!(ObjectId::from_hex(hex), Some(blob_id(format, b"")));
        };
        check(ObjectFormat::Sha1, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        check(
            ObjectFormat::Sha256,
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
        );
    }

    #[test]
    fn a_blob_hashed_in_pieces_has_the_same_id() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let content = vec![b'x'; 100_000];
            let mut hasher = blob_hasher(format, 100_000);
            content.chunks(333).for_each(|piece| hasher.update(piece));
            assert_eq!(hasher.finish(), blob_id(format, &content));
        }
    }

    #[test]
    fn only_40_or_64_hexadecimal_digits_are_an_id() {
        let id = blob_id(ObjectFormat::Sha1, b"a");
        assert_eq!(ObjectId::from_hex(&id.to_string().to_uppercase()), Some(id));
        for bad in [0, 2, 38, 39, 41, 42, 62, 66, 128].map(|len| "a".repeat(len)) {
            assert_eq!(ObjectId::from_hex(&bad), None, "{bad}");
        }
        assert_eq!(ObjectId::from_hex(&"g".repeat(40)), None);
        assert_eq!(ObjectId::from_hex(&"é".repeat(20)), None);
        assert_eq!(ObjectId::from_bytes(&[0; 21]), None);
    }

    #[test]
    fn null_ids_of_the_two_formats_differ() {
        let (short, long) = (ObjectFormat::Sha1.null_id(), ObjectFormat::Sha256.null_id());
        assert!(short.is_null() && long.is_null());
        assert_ne!(short, long);
        assert_eq!(ObjectId::from_hex(&"0".repeat(40)), Some(short));
    }

    #[test]
    fn formats_are_found_by_the_names_git_uses() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            assert_eq!(ObjectFormat::from_name(format.name()), Some(format));
            assert_eq!(format.null_id().as_bytes().len(), format.hash_len());
        }
        assert_eq!(ObjectFormat::from_name("SHA1"), None);
    }
}
