//! The provision manifest: what was put into a tree, as it was then. What a later removal finds
//! unchanged by it is no work of anybody's.
//!
//! One file beside the marker. After a line that names the format come the entries, sorted by path,
//! each a few variable-length numbers: how much of the path before is kept, the rest of the path, and
//! the stat and content id. Nothing in it is trusted: a damaged file reads as an error.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Kind, Mode, Owner, Stat, Time};
use git_cli::object::ObjectId;

use crate::api::{ApiError, Code};

/// The file's name in the admin directory.
pub(crate) const FILE_NAME: &str = "fwt.manifest";

const HEADER: &[u8] = b"fwt-manifest 1\n";

/// An entry that was provisioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provisioned {
    /// Path below the tree's root.
    pub(crate) path: Vec<u8>,
    /// Its lstat after the last write.
    pub(crate) stat: Stat,
    /// The git object with its content, where that is known.
    pub(crate) content: Option<ObjectId>,
}

impl Provisioned {
    /// A file that was carried over, whose content nothing names.
    pub(crate) fn carried(file: &copy_engine::CopiedFile) -> Self {
        Self { path: file.path.as_os_str().as_bytes().to_vec(), stat: file.stat, content: None }
    }
}

/// Writes the manifest; `entries` are sorted by path.
pub(crate) fn encode(entries: &[Provisioned]) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    let mut previous: &[u8] = &[];
    for Provisioned { path, stat, content } in entries {
        let kept = previous.iter().zip(path).take_while(|(a, b)| a == b).count();
        put(&mut bytes, kept as u64);
        put(&mut bytes, (path.len() - kept) as u64);
        bytes.extend_from_slice(&path[kept..]);
        previous = path;
        for number in numbers(stat) {
            put(&mut bytes, number);
        }
        let content = content.as_ref().map_or(&[][..], ObjectId::as_bytes);
        put(&mut bytes, content.len() as u64);
        bytes.extend_from_slice(content);
    }
    bytes
}

/// Reads the manifest at `path`.
pub(crate) fn load(path: &Path) -> Result<Vec<Provisioned>, ApiError> {
    let bytes = fs_sys::read_file(path)?;
    decode(&bytes).ok_or_else(|| damaged(path))
}

fn damaged(path: &Path) -> ApiError {
    ApiError::new(Code::Failed, format!("the manifest {} is damaged", path.display()))
}

fn decode(bytes: &[u8]) -> Option<Vec<Provisioned>> {
    let mut rest = bytes.strip_prefix(HEADER)?;
    let mut entries: Vec<Provisioned> = Vec::new();
    let mut previous = Vec::new();
    while !rest.is_empty() {
        let kept = usize::try_from(take(&mut rest)?).ok()?;
        previous.truncate(kept);
        if previous.len() != kept {
            return None;
        }
        previous.extend_from_slice(take_bytes(&mut rest)?);
        let mut fields = [0; 13];
        for field in &mut fields {
            *field = take(&mut rest)?;
        }
        let content = match take_bytes(&mut rest)? {
            [] => None,
            content => Some(ObjectId::from_bytes(content)?),
        };
        entries.push(Provisioned { path: previous.clone(), stat: stat(fields)?, content });
    }
    Some(entries)
}

fn numbers(stat: &Stat) -> [u64; 13] {
    let kind = match stat.kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Special => 3,
    };
    [
        kind,
        stat.mode.0.into(),
        stat.dev,
        stat.ino,
        stat.links,
        stat.owner.uid.into(),
        stat.owner.gid.into(),
        stat.size,
        stat.blocks,
        stat.mtime.seconds.cast_unsigned(),
        stat.mtime.nanos.into(),
        stat.ctime.seconds.cast_unsigned(),
        stat.ctime.nanos.into(),
    ]
}

fn stat(fields: [u64; 13]) -> Option<Stat> {
    let [kind, mode, dev, ino, links, uid, gid, size, blocks, mtime, mtime_ns, ctime, ctime_ns] =
        fields;
    let time = |seconds: u64, nanos: u64| {
        Some(Time { seconds: seconds.cast_signed(), nanos: u32::try_from(nanos).ok()? })
    };
    Some(Stat {
        kind: *[Kind::File, Kind::Directory, Kind::Symlink, Kind::Special]
            .get(usize::try_from(kind).ok()?)?,
        mode: Mode(u32::try_from(mode).ok()?),
        dev,
        ino,
        links,
        owner: Owner { uid: u32::try_from(uid).ok()?, gid: u32::try_from(gid).ok()? },
        size,
        blocks,
        mtime: time(mtime, mtime_ns)?,
        ctime: time(ctime, ctime_ns)?,
    })
}

/// LEB128.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low & 0x7f);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(ino: u64, seconds: i64) -> Stat {
        let time = Time { seconds, nanos: 999_999_999 };
        Stat {
            dev: 1,
            ino,
            kind: Kind::Symlink,
            mode: Mode(0o4755),
            links: 1,
            owner: Owner { uid: u32::MAX, gid: 0 },
            size: 300,
            blocks: 8,
            mtime: time,
            ctime: time,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let id = ObjectId::from_bytes(&[7; 20]).unwrap();
        let entry = |path: &[u8], stat, content| Provisioned { path: path.to_vec(), stat, content };
        let entries = [
            entry(b"a/b", example(1, -1), Some(id)),
            entry(b"a/b\xff", example(u64::MAX, 0), None),
            entry(b"z", example(3, i64::MAX), Some(id)),
        ];
        assert_eq!(decode(&encode(&entries)).unwrap(), entries);
    }

    #[test]
    fn a_damaged_manifest_is_an_error_and_no_panic() {
        let id = ObjectId::from_bytes(&[7; 20]).unwrap();
        let entry = Provisioned { path: b"abc".to_vec(), stat: example(1, 1), content: Some(id) };
        let bytes = encode(&[entry]);
        for length in 0..bytes.len() {
            assert!(length == HEADER.len() || decode(&bytes[..length]).is_none(), "{length}");
        }
        for position in HEADER.len()..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] = 0xff;
            // Whatever it reads as, it does not panic or allocate without bound.
            drop(decode(&damaged));
        }
    }
}
