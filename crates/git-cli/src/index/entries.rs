//! Reading the entries of an index, which come one after the other.

use super::entry::{Mode, Record, stage};
use super::error::{EntryProblem, ParseError};
use super::layout::{
    EXTENDED, HEADER_LEN, INTENT_TO_ADD, MODE_AT, NAME_MASK, SKIP_WORKTREE, Version, be16, be32,
    flags_at, min_entry_len, narrow, padded_len, widen,
};
use super::{path, varint};

/// How many times the size of the file its paths may be once uncompressed.
///
/// An entry takes at least 64 bytes and a path that can be opened has at most 4,095, so no index of
/// files that exist comes near. Without it, a small file could ask for any amount of memory.
const MAX_PATH_EXPANSION: usize = 64;

/// Reads entries one after the other.
pub(super) struct Reader<'a> {
    /// The file without its trailer.
    body: &'a [u8],
    version: Version,
    hash_len: usize,
    /// Where the next entry begins.
    pub(super) at: usize,
    pub(super) records: Vec<Record>,
    pub(super) paths: Vec<u8>,
    pub(super) unmerged: usize,
    pub(super) sparse_directories: usize,
    previous_stage: u8,
    /// The first entry that would be in the wrong place unless the index is split, which is known
    /// only once the extensions are read.
    pub(super) misplaced: Option<ParseError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8], version: Version, hash_len: usize) -> Self {
        Self {
            body,
            version,
            hash_len,
            at: HEADER_LEN,
            records: Vec::new(),
            paths: Vec::new(),
            unmerged: 0,
            sparse_directories: 0,
            previous_stage: 0,
            misplaced: None,
        }
    }

    /// Reads as many entries as the header announces.
    pub(super) fn read_all(&mut self, count: u32) -> Result<(), ParseError> {
        let room = (self.body.len() - HEADER_LEN) / min_entry_len(self.version, self.hash_len);
        if widen(count) > room {
            return Err(ParseError::EntryCount { count });
        }
        self.records.reserve_exact(widen(count));
        if self.version == Version::V4 {
            self.paths.reserve(self.body.len());
        }
        for position in 0..widen(count) {
            self.read_entry(position).map_err(|problem| ParseError::Entry { position, problem })?;
        }
        Ok(())
    }

    fn read_entry(&mut self, position: usize) -> Result<(), EntryProblem> {
        let start = self.at;
        let flags_at = flags_at(self.hash_len);
        let fixed = self.body.get(start..start + flags_at + 2).ok_or(EntryProblem::Truncated)?;
        let mode_bits = be32(fixed, MODE_AT);
        let mode = Mode::from_bits(mode_bits).ok_or(EntryProblem::Mode(mode_bits))?;
        let first = be16(fixed, flags_at);
        let path_at = flags_at + 2 + self.extended_flags_len(start + flags_at + 2, first)?;
        let recorded_len = (first & NAME_MASK != NAME_MASK).then(|| usize::from(first & NAME_MASK));
        let (record, common) = match self.version {
            Version::V2 | Version::V3 => self.read_padded_path(path_at, recorded_len)?,
            Version::V4 => self.read_compressed_path(path_at, recorded_len)?,
        };
        self.check_path(position, record, (mode, stage(first)), common)?;
        self.unmerged += usize::from(stage(first) != 0);
        self.sparse_directories += usize::from(mode == Mode::SparseDirectory);
        self.previous_stage = stage(first);
        self.records.push(record);
        Ok(())
    }

    /// The width of the second word of flags, which is at `at` if there is one.
    fn extended_flags_len(&self, at: usize, first: u16) -> Result<usize, EntryProblem> {
        if first & EXTENDED == 0 {
            return Ok(0);
        }
        if self.version == Version::V2 {
            return Err(EntryProblem::ExtendedFlags);
        }
        let second = be16(self.body.get(at..at + 2).ok_or(EntryProblem::Truncated)?, 0);
        if second & !(SKIP_WORKTREE | INTENT_TO_ADD) != 0 {
            return Err(EntryProblem::Flags(second));
        }
        Ok(2)
    }

    fn read_padded_path(
        &mut self,
        path_at: usize,
        recorded_len: Option<usize>,
    ) -> Result<(Record, usize), EntryProblem> {
        let path_start = self.at + path_at;
        let path_len = self.path_len(path_start, recorded_len)?;
        let end = self.at + padded_len(path_at, path_len);
        if end > self.body.len() {
            return Err(EntryProblem::Truncated);
        }
        let record = Record {
            start: narrow(self.at),
            path_start: narrow(path_start),
            path_len: narrow(path_len),
        };
        self.at = end;
        let common = self.records.last().map_or(0, |previous| {
            path::common_prefix(previous.path(self.body), record.path(self.body))
        });
        Ok((record, common))
    }

    fn read_compressed_path(
        &mut self,
        path_at: usize,
        recorded_len: Option<usize>,
    ) -> Result<(Record, usize), EntryProblem> {
        let strip_at = self.at + path_at;
        let (strip, strip_len) =
            self.body.get(strip_at..).and_then(varint::decode).ok_or(EntryProblem::PathPrefix)?;
        let previous = self.records.last().map_or(0..0, |previous| {
            let start = widen(previous.path_start);
            start..start + widen(previous.path_len)
        });
        let kept = previous.len().checked_sub(strip).ok_or(EntryProblem::PathPrefix)?;
        let added_at = strip_at + strip_len;
        let added_len = match recorded_len {
            Some(len) => Some(len.checked_sub(kept).ok_or(EntryProblem::PathLength)?),
            None => None,
        };
        let added_len = self.path_len(added_at, added_len)?;

        let path_start = self.paths.len();
        if path_start + kept + added_len > self.max_paths_len() {
            return Err(EntryProblem::PathExpansion);
        }
        self.paths.extend_from_within(previous.start..previous.start + kept);
        self.paths.extend_from_slice(&self.body[added_at..added_at + added_len]);
        let record = Record {
            start: narrow(self.at),
            path_start: narrow(path_start),
            path_len: narrow(kept + added_len),
        };
        self.at = added_at + added_len + 1;
        // Not all writers strip as little as they could, and an offset table makes git itself not.
        let rest = path::common_prefix(
            &self.paths[previous.start + kept..previous.end],
            &self.paths[path_start + kept..],
        );
        Ok((record, kept + rest))
    }

    /// The length of the NUL-terminated name at `at`, which is the recorded one if there is one.
    fn path_len(&self, at: usize, recorded: Option<usize>) -> Result<usize, EntryProblem> {
        let bytes = self.body.get(at..).ok_or(EntryProblem::Truncated)?;
        match recorded {
            Some(len) => match bytes.get(len) {
                Some(0) => Ok(len),
                Some(_) => Err(EntryProblem::PathLength),
                None => Err(EntryProblem::Truncated),
            },
            None => bytes.iter().position(|&byte| byte == 0).ok_or(EntryProblem::Truncated),
        }
    }

    fn max_paths_len(&self) -> usize {
        self.body.len().saturating_mul(MAX_PATH_EXPANSION).min(widen(u32::MAX))
    }

    fn check_path(
        &mut self,
        position: usize,
        record: Record,
        (mode, stage): (Mode, u8),
        common: usize,
    ) -> Result<(), EntryProblem> {
        let paths = match self.version {
            Version::V2 | Version::V3 => self.body,
            Version::V4 => &self.paths,
        };
        let path = record.path(paths);
        let ordered = match self.records.last() {
            _ if path.is_empty() => false,
            Some(previous) => {
                path::is_ordered((previous.path(paths), self.previous_stage), (path, stage), common)
            }
            None => true,
        };
        if !ordered && self.misplaced.is_none() {
            let problem = EntryProblem::Order;
            self.misplaced = Some(ParseError::Entry { position, problem });
        }
        if path.is_empty() {
            return Ok(());
        }
        if (mode == Mode::SparseDirectory) != path.ends_with(b"/") {
            return Err(EntryProblem::DirectorySlash);
        }
        path::check_components(path, common)
    }
}
