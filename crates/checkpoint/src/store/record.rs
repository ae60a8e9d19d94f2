//! The records of a pack.
//!
//! After eight bytes that name the format come records. Each is a header of [`HEADER_BYTES`] (kind,
//! encoding, two zeros, stored length, raw length, id, and a check of these) and the stored bytes. A
//! commit record has no bytes: all before it is on the disk.

use fs_sys::File;

use super::id::ContentId;
use super::read_full;
use crate::error::Result;

/// What a pack begins with.
pub(super) const MAGIC: &[u8; 8] = b"fwtpack\x01";
pub(super) const HEADER_BYTES: usize = 48;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes whose blake3 is the id.
    Bytes,
    /// The chunks of bytes whose blake3 is the id: id and length (u32) of each, in order.
    Chunks,
    /// All before it counts.
    Commit,
}

/// How the bytes of a record are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As they are.
    Raw,
    /// Compressed.
    Zstd,
}

/// A record without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) encoding: Encoding,
    pub(super) stored: u32,
    pub(super) raw: u32,
    pub(super) id: ContentId,
}

impl Header {
    pub(super) const COMMIT: Self = Self {
        kind: Kind::Commit,
        encoding: Encoding::Raw,
        stored: 0,
        raw: 0,
        id: ContentId([0; 32]),
    };

    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = match self.kind {
            Kind::Bytes => b'b',
            Kind::Chunks => b'l',
            Kind::Commit => b'c',
        };
        bytes[1] = match self.encoding {
            Encoding::Raw => b'r',
            Encoding::Zstd => b'z',
        };
        bytes[4..8].copy_from_slice(&self.stored.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.raw.to_le_bytes());
        bytes[12..44].copy_from_slice(&self.id.0);
        let check = check(&bytes[..44]);
        bytes[44..].copy_from_slice(&check);
        bytes
    }

    /// `None` for what no writer ever finished.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        if bytes[44..] != check(&bytes[..44]) {
            return None;
        }
        let number = |at: usize| Some(u32::from_le_bytes(bytes[at..at + 4].try_into().ok()?));
        Some(Self {
            kind: match bytes[0] {
                b'b' => Kind::Bytes,
                b'l' => Kind::Chunks,
                b'c' => Kind::Commit,
                _ => return None,
            },
            encoding: match bytes[1] {
                b'r' => Encoding::Raw,
                b'z' => Encoding::Zstd,
                _ => return None,
            },
            stored: number(4)?,
            raw: number(8)?,
            id: ContentId(bytes[12..44].try_into().ok()?),
        })
    }
}

fn check(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = *blake3::hash(bytes).as_bytes();
    [a, b, c, d]
}

/// A record and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) header: Header,
    pub(super) offset: u64,
}

/// What counts in a pack.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) records: Vec<Located>,
    /// Where the last commit record ends.
    pub(super) end: u64,
    /// Whether something follows that nobody committed.
    pub(super) has_tail: bool,
}

/// Walks the headers of a pack. What follows the last commit record does not count.
pub(super) fn walk(pack: &File<'_>) -> Result<Walked> {
    let size = pack.stat()?.size;
    let mut window = Window { pack, bytes: vec![0; WINDOW_BYTES], start: 0, filled: 0 };
    let is_pack = window.at::<8>(0)?.is_some_and(|magic| magic == *MAGIC);
    let mut walked = Walked { records: Vec::new(), end: 0, has_tail: size > 0 };
    if !is_pack {
        return Ok(walked);
    }
    let mut at = MAGIC.len() as u64;
    walked.end = at;
    let mut pending = Vec::new();
    while let Some(header) = window.at::<HEADER_BYTES>(at)?.as_ref().and_then(Header::decode) {
        let offset = at + HEADER_BYTES as u64;
        at = offset + u64::from(header.stored);
        if header.kind == Kind::Commit {
            walked.records.append(&mut pending);
            walked.end = at;
        } else {
            pending.push(Located { header, offset });
        }
    }
    walked.has_tail = size > walked.end;
    Ok(walked)
}

const WINDOW_BYTES: usize = 64 << 10;

/// Reads headers a window at a time: those of small records are close together.
struct Window<'a> {
    pack: &'a File<'a>,
    bytes: Vec<u8>,
    start: u64,
    filled: usize,
}

impl Window<'_> {
    fn at<const N: usize>(&mut self, at: u64) -> Result<Option<[u8; N]>> {
        let is_inside = at >= self.start && at + N as u64 <= self.start + self.filled as u64;
        if !is_inside {
            self.filled = read_full(self.pack, &mut self.bytes, at)?;
            self.start = at;
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        let found = self.bytes[..self.filled].get(from..).and_then(|rest| rest.get(..N));
        Ok(found.and_then(|bytes| bytes.try_into().ok()))
    }
}
