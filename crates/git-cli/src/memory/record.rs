//! A memory as a file: fields with their lengths, and a digest of all of them at the end.
//!
//! Nothing in it is trusted before the digest fits: it is not synced, and may be torn.

use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::fence::{Fence, State};
use crate::Repository;
use crate::object::ObjectFormat;

const HEADER: &[u8] = b"fwt-git 1\n";

/// Bytes of the digest at the end.
const DIGEST_BYTES: usize = 32;

/// What git said, and what it said it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) repository: Repository,
    /// As git printed it.
    pub(super) config: Vec<u8>,
    pub(super) fence: Fence,
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        let Repository { work_tree, git_dir, common_dir, format } = &self.repository;
        let work_tree = work_tree.as_deref().unwrap_or(Path::new(""));
        let mut bytes = HEADER.to_vec();
        put(&mut bytes, format.name().as_bytes());
        for path in [work_tree, git_dir, common_dir] {
            put(&mut bytes, path.as_os_str().as_bytes());
        }
        put(&mut bytes, &self.config);
        for (path, state) in &self.fence.files {
            put(&mut bytes, path.as_os_str().as_bytes());
            let numbers = state.iter().flatten().flat_map(|number| number.to_le_bytes());
            put(&mut bytes, &numbers.collect::<Vec<u8>>());
        }
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (content, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
        if Sha256::digest(content)[..] != *digest {
            return None;
        }
        let mut rest = content.strip_prefix(HEADER)?;
        let format = ObjectFormat::from_name(std::str::from_utf8(take(&mut rest)?).ok()?)?;
        let work_tree = Some(take_path(&mut rest)?);
        let (git_dir, common_dir) = (take_path(&mut rest)?, take_path(&mut rest)?);
        let config = take(&mut rest)?.to_vec();
        let mut files = Vec::new();
        while !rest.is_empty() {
            files.push((take_path(&mut rest)?, take_state(&mut rest)?));
        }
        let repository = Repository { work_tree, git_dir, common_dir, format };
        Some(Self { repository, config, fence: Fence { files } })
    }
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
    bytes.extend_from_slice(field);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let (field, after) =
        after.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(field)
}

fn take_path(rest: &mut &[u8]) -> Option<PathBuf> {
    Some(std::ffi::OsString::from_vec(take(rest)?.to_vec()).into())
}

#[expect(clippy::option_option, reason = "absent is an answer, and not the same as none")]
fn take_state(rest: &mut &[u8]) -> Option<Option<State>> {
    let field = take(rest)?;
    if field.is_empty() {
        return Some(None);
    }
    let (numbers, left) = field.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
    if left.is_empty() { numbers.try_into().ok().map(Some) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_damage_reads_as_nothing() {
        let repository = Repository {
            work_tree: Some("/a b".into()),
            git_dir: "/a b/.git".into(),
            common_dir: "/c".into(),
            format: ObjectFormat::Sha256,
        };
        let files = vec![("/x".into(), Some([1, 2, 3, u64::MAX, 5, 6, 7])), ("/y".into(), None)];
        let record = Record { repository, config: b"a\0b\n".to_vec(), fence: Fence { files } };
        let bytes = record.encode();
        assert_eq!(Record::parse(&bytes), Some(record));
        for length in 0..bytes.len() {
            assert_eq!(Record::parse(&bytes[..length]), None, "{length}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert_eq!(Record::parse(&damaged), None, "{position}");
        }
    }
}
