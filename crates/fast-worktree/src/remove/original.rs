//! What a tree was carried from: work that its source still has is not lost with the tree.

use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, File, Kind, Stat};
use git_cli::index::Index;
use git_cli::object::ObjectFormat;
use git_cli::{Admin, Git};
use pool_db::Worktree as Row;

use crate::api::ApiError;

/// Bytes that are compared at a time.
const BLOCK_BYTES: usize = 64 * 1024;

/// The source of a carried tree, or nothing: a clean tree has nothing of its source's but commits.
#[derive(Debug)]
pub(crate) enum Original {
    /// Nothing uncommitted was carried, or the source is gone.
    Nothing,
    /// The source.
    Source { root: Dir, git_dir: PathBuf, format: ObjectFormat },
    /// A plain directory.
    Directory { root: Dir },
}

impl Original {
    pub(crate) fn of(git: &Git, row: &Row) -> Self {
        if row.carry == "clean" {
            return Self::Nothing;
        }
        // A source that cannot be opened has nothing for us: then everything in the tree counts.
        match (git.repository(&row.source), fs_sys::open_dir(&row.source)) {
            (Ok(repository), Ok(root)) => {
                Self::Source { root, git_dir: repository.git_dir, format: repository.format }
            }
            _ => Self::Nothing,
        }
    }

    /// The same for a copy of a plain directory.
    pub(crate) fn of_copy(row: &Row) -> Self {
        fs_sys::open_dir(&row.source).map_or(Self::Nothing, |root| Self::Directory { root })
    }

    /// Whether the source's index holds the same as the tree's: entries, stages and flags.
    pub(crate) fn has_index(&self, admin: &Admin) -> Result<bool, ApiError> {
        let Self::Source { git_dir, format, .. } = self else { return Ok(false) };
        let load = |path: &Path| -> Result<Option<Index>, ApiError> {
            let bytes = fs_sys::read_file(path)?;
            // A split index would need git to join it: then the answer is no, which keeps.
            Ok(Index::parse(bytes, *format).ok().filter(|index| !index.is_split()))
        };
        let (Some(here), Some(there)) = (load(&admin.index())?, load(&git_dir.join("index"))?)
        else {
            return Ok(false);
        };
        let is_same = here.iter().zip(there.iter()).all(|(here, there)| {
            (here.path, here.stage, here.mode, here.id)
                == (there.path, there.stage, there.mode, there.id)
        });
        Ok(is_same && here.len() == there.len())
    }

    /// Whether the source has at `path` what the tree has: both nothing, or the same bytes.
    pub(crate) fn has(&self, tree: &Dir, path: &Path) -> Result<bool, ApiError> {
        let (Self::Source { root, .. } | Self::Directory { root }) = self else {
            return Ok(false);
        };
        let there = match root.stat_beneath(path) {
            // What is mounted there is not the source's, and never came along.
            Err(error) if error.kind == ErrorKind::CrossDevice => None,
            found => found?,
        };
        match (tree.stat_beneath(path)?, there) {
            (None, None) => Ok(true),
            (Some(here), Some(there)) => is_same(tree, root, path, (&here, &there)),
            (Some(_), None) | (None, Some(_)) => Ok(false),
        }
    }
}

fn is_same(
    tree: &Dir,
    root: &Dir,
    path: &Path,
    (here, there): (&Stat, &Stat),
) -> Result<bool, ApiError> {
    // In place of a tracked file: what is in it is judged by itself.
    if (here.kind, there.kind) == (Kind::Directory, Kind::Directory) {
        return Ok(true);
    }
    if (here.kind, here.size) != (there.kind, there.size)
        || here.mode.is_executable() != there.mode.is_executable()
    {
        return Ok(false);
    }
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().unwrap_or(Path::new(""));
    let (here_dir, there_dir) = (tree.open_beneath(parent)?, root.open_beneath(parent)?);
    match here.kind {
        Kind::Symlink => {
            Ok(fs_sys::read_link(here_dir.at(name))? == fs_sys::read_link(there_dir.at(name))?)
        }
        Kind::File => same_bytes(&File::open(here_dir.at(name))?, &File::open(there_dir.at(name))?),
        Kind::Directory | Kind::Special => Ok(false),
    }
}

fn same_bytes(one: &File<'_>, other: &File<'_>) -> Result<bool, ApiError> {
    let (mut here, mut there) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES]);
    let mut offset = 0;
    loop {
        let count = fill(one, &mut here, offset)?;
        if count != fill(other, &mut there, offset)? || here[..count] != there[..count] {
            return Ok(false);
        }
        if count < BLOCK_BYTES {
            return Ok(true);
        }
        offset += count as u64;
    }
}

/// Reads until the block is full or the file ends.
fn fill(file: &File<'_>, block: &mut [u8], offset: u64) -> Result<usize, ApiError> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read_at(&mut block[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
