//! The last word on a new tree's index: each entry gets the stat of the file that was written for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Dir, ErrorKind, Stat, Time};
use git_cli::index::{Index, Mode, Patch, StatBlock};
use walk::run_tasks;

use crate::api::{ApiError, Code};
use crate::create::stat_block;

/// Entries that one task looks at.
const CHUNK_ENTRIES: usize = 512;

/// Seconds by which a file that git wrote is made older than the index. git compares whole seconds,
/// and hashes again what is not older.
const SETTLED_SECONDS: i64 = 2;

/// Every entry's file as it is now.
#[derive(Debug)]
pub(crate) struct Stamps {
    /// By number of the entry; `None` for what has no file.
    pub(crate) stats: Vec<Option<Stat>>,
    /// Entries whose files were stamped before, in a sealed tree that this one shares them with.
    pub(crate) kept: Vec<(u32, StatBlock)>,
}

impl Stamps {
    pub(crate) fn new(entries: usize) -> Self {
        Self { stats: vec![None; entries], kept: Vec::new() }
    }

    /// Takes over what is known of copied files. One that is as young as the index will be is made
    /// older, as if git had written it: its bytes were compared just now.
    pub(crate) fn add_copied(
        &mut self,
        tree: &Dir,
        index: &Index,
        copied: &[(u32, Stat)],
        now: Time,
    ) -> Result<(), ApiError> {
        let mut young = Vec::new();
        for (number, stat) in copied {
            self.stats[*number as usize] = Some(*stat);
            if stat.mtime.seconds >= now.seconds {
                young.push(*number);
            }
        }
        self.add_written(tree, index, &young, now)
    }

    /// Looks at the files that git wrote, and makes them older than the index.
    pub(crate) fn add_written(
        &mut self,
        tree: &Dir,
        index: &Index,
        written: &[u32],
        now: Time,
    ) -> Result<(), ApiError> {
        let settled = Time { seconds: now.seconds - SETTLED_SECONDS, nanos: now.nanos };
        let chunks: Vec<&[u32]> = written.chunks(CHUNK_ENTRIES).collect();
        let workers = copy_engine::default_workers();
        let done = run_tasks(workers, chunks, Vec::new, |stats, chunk, _| {
            age(tree, index, chunk, settled, stats)
        })?;
        for (number, stat) in done.into_iter().flatten() {
            self.stats[number as usize] = Some(stat);
        }
        Ok(())
    }

    /// The index with every stat in it.
    pub(crate) fn apply(&self, index: Index) -> Result<Vec<u8>, ApiError> {
        let mut patch: Patch = index.into_patch().map_err(|error| {
            ApiError::new(Code::Failed, format!("cannot stamp the index: {error}"))
        })?;
        for (number, stat) in self.stats.iter().enumerate() {
            let entry = patch.entry(number);
            if entry.flags.is_assume_valid() && !entry.flags.is_skip_worktree() {
                patch.clear_local_flags(number);
            }
            if let Some(stat) = stat {
                patch.set_stat(number, &stat_block(stat));
            }
        }
        for (number, stat) in &self.kept {
            patch.set_stat(*number as usize, stat);
        }
        Ok(patch.finish())
    }
}

fn age(
    tree: &Dir,
    index: &Index,
    chunk: &[u32],
    settled: Time,
    stats: &mut Vec<(u32, Stat)>,
) -> Result<(), ApiError> {
    let mut directory: Option<Dir> = None;
    for number in chunk {
        let entry = index.entry(*number as usize);
        if matches!(entry.mode, Mode::Gitlink | Mode::SparseDirectory) {
            continue;
        }
        let path = Path::new(OsStr::from_bytes(entry.path));
        let parent = path.parent().unwrap_or(Path::new(""));
        let dir = match directory.take() {
            Some(dir) if dir.path() == tree.path().join(parent) => dir,
            _ => tree.open_beneath(parent)?,
        };
        let place = dir.at(path.file_name().unwrap_or_default());
        let aged = fs_sys::set_times(place, settled).and_then(|()| fs_sys::stat_at(place));
        match aged {
            Ok(stat) => stats.push((*number, stat)),
            Err(error) if error.kind == ErrorKind::NotFound => {
                let text = format!("git did not write {}", place.path().display());
                return Err(ApiError::new(Code::GitFailed, text));
            }
            Err(error) => return Err(error.into()),
        }
        directory = Some(dir);
    }
    Ok(())
}
