//! The donor gate: whether a file of the source, open now, holds what a checkout would write.

use copy_engine::{Content, Gate};
use fs_sys::{File, Kind, Stat, Time};
use git_cli::index::{Entry, Mode, StatBlock};
use git_cli::object::{Hasher, ObjectFormat, ObjectId, blob_hasher, blob_id};

use super::rules::Rule;

/// A source file that may be cloned if it passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Donor {
    pub(crate) id: ObjectId,
    pub(crate) mode: Mode,
    /// What the source's index says it looked like when it was last compared.
    pub(crate) stat: StatBlock,
    pub(crate) proof: Proof,
}

/// What it takes to believe that a donor's bytes are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// An unchanged lstat; else the bytes.
    Stat,
    /// An unchanged lstat and no carriage return; else the bytes.
    StatWithoutReturns,
    /// An unchanged lstat, and nothing else will do: the bytes are not the blob's.
    StatOnly,
    /// The bytes.
    Bytes,
}

impl Proof {
    /// For a path whose attributes are `same` in source and tree, or not; `None` if no donor will do.
    pub(crate) fn for_rule(rule: Rule, attributes: AttributesAre) -> Option<Self> {
        match (rule, attributes) {
            (Rule::Converted, _) | (Rule::Filtered, AttributesAre::Different) => None,
            (Rule::Filtered, AttributesAre::Same) => Some(Self::StatOnly),
            (Rule::Verbatim, AttributesAre::Same) => Some(Self::Stat),
            (Rule::Normalized, AttributesAre::Same) => Some(Self::StatWithoutReturns),
            // The file may be clean by rules that do not hold in the tree.
            (Rule::Verbatim | Rule::Normalized, AttributesAre::Different) => Some(Self::Bytes),
        }
    }
}

/// Whether a path has the same attributes in the source and in the new tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributesAre {
    Same,
    Different,
}

/// The gate for a commit's files.
#[derive(Debug)]
pub(crate) struct DonorGate {
    /// By number of the entry in the new tree's index.
    pub(crate) donors: Vec<Option<Donor>>,
    pub(crate) format: ObjectFormat,
    /// When the source's index was written. A file that is not older may have changed after it was
    /// compared, within the same tick.
    pub(crate) index_mtime: Time,
}

impl Donor {
    /// The donor that the source's index has for an entry of the new tree, if it can be one at all:
    /// same path, object and mode, not in conflict, and nothing that makes git look away from it.
    pub(crate) fn matching(wanted: &Entry<'_>, found: &Entry<'_>, proof: Proof) -> Option<Self> {
        let is_plain = found.stage == 0
            && !found.flags.is_assume_valid()
            && !found.flags.is_skip_worktree()
            && !found.flags.is_intent_to_add();
        let is_same =
            wanted.path == found.path && wanted.id == found.id && wanted.mode == found.mode;
        (is_plain && is_same).then_some(Self {
            id: found.id,
            mode: found.mode,
            stat: found.stat,
            proof,
        })
    }
}

impl Gate for DonorGate {
    fn admits(&self, id: u32, stat: &Stat, content: Content<'_>) -> fs_sys::Result<bool> {
        let Some(donor) = self.donors.get(id as usize).and_then(Option::as_ref) else {
            return Ok(false);
        };
        if !is_kind(donor.mode, stat) {
            return Ok(false);
        }
        let is_clean = is_unchanged(&donor.stat, stat) && is_settled(stat, self.index_mtime);
        match (donor.proof, is_clean) {
            (Proof::Stat | Proof::StatOnly, true) => Ok(true),
            (Proof::StatOnly, false) => Ok(false),
            (Proof::StatWithoutReturns, true) => match content {
                Content::Link(_) => Ok(true),
                Content::File(file) => {
                    Ok(!has_return(file)? || self.is_blob(donor, stat, content)?)
                }
            },
            (Proof::Stat | Proof::StatWithoutReturns | Proof::Bytes, _) => {
                self.is_blob(donor, stat, content)
            }
        }
    }
}

impl DonorGate {
    fn is_blob(&self, donor: &Donor, stat: &Stat, content: Content<'_>) -> fs_sys::Result<bool> {
        // Where no conversion applies another size means other bytes, without reading them.
        if donor.proof == Proof::Stat
            && donor.stat.size != 0
            && donor.stat.size != truncate(stat.size)
        {
            return Ok(false);
        }
        let found = match content {
            Content::Link(target) => blob_id(self.format, target.as_encoded_bytes()),
            Content::File(file) => {
                let mut hasher: Hasher = blob_hasher(self.format, stat.size);
                read_all(file, &mut |bytes| {
                    hasher.update(bytes);
                    Read::On
                })?;
                hasher.finish()
            }
        };
        Ok(found == donor.id)
    }
}

/// Whether the entry on disk is of the kind, and as executable, as the index has it. Where the
/// configuration lets git ignore the executable bit, a checkout still sets it by the index.
fn is_kind(mode: Mode, stat: &Stat) -> bool {
    match mode {
        Mode::File => stat.kind == Kind::File && !stat.mode.is_executable(),
        Mode::Executable => stat.kind == Kind::File && stat.mode.is_executable(),
        Mode::Symlink => stat.kind == Kind::Symlink,
        Mode::Gitlink | Mode::SparseDirectory => false,
    }
}

/// Whether a change after the comparison would show: git compares whole seconds.
pub(crate) fn is_settled(stat: &Stat, index_mtime: Time) -> bool {
    stat.mtime.seconds < index_mtime.seconds
}

/// Whether an lstat is what the index recorded. All fields count that git records, but for the
/// device, which changes with every mount.
pub(crate) fn is_unchanged(recorded: &StatBlock, stat: &Stat) -> bool {
    let now = stat_block(stat);
    // Some tools record no nanoseconds: such an entry proves too little.
    let has_nanos = recorded.mtime_ns != 0 || recorded.ctime_ns != 0;
    has_nanos && StatBlock { dev: recorded.dev, ..now } == *recorded
}

/// An lstat as an index keeps it: cut to 32 bits.
pub(crate) fn stat_block(stat: &Stat) -> StatBlock {
    StatBlock {
        ctime_s: truncate_signed(stat.ctime.seconds),
        ctime_ns: stat.ctime.nanos,
        mtime_s: truncate_signed(stat.mtime.seconds),
        mtime_ns: stat.mtime.nanos,
        dev: truncate(stat.dev),
        ino: truncate(stat.ino),
        uid: stat.owner.uid,
        gid: stat.owner.gid,
        size: truncate(stat.size),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an index keeps the low 32 bits")]
fn truncate(value: u64) -> u32 {
    value as u32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index keeps the low 32 bits"
)]
fn truncate_signed(value: i64) -> u32 {
    value as u32
}

#[derive(PartialEq, Eq)]
enum Read {
    On,
    Enough,
}

fn has_return(file: &File<'_>) -> fs_sys::Result<bool> {
    let mut found = false;
    read_all(file, &mut |bytes| {
        found = memchr::memchr(b'\r', bytes).is_some();
        if found { Read::Enough } else { Read::On }
    })?;
    Ok(found)
}

fn read_all(file: &File<'_>, each: &mut dyn FnMut(&[u8]) -> Read) -> fs_sys::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut offset = 0;
    loop {
        let count = file.read_at(&mut buffer, offset)?;
        if count == 0 || each(&buffer[..count]) == Read::Enough {
            return Ok(());
        }
        offset += count as u64;
    }
}
