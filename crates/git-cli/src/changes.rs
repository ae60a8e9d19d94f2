//! How a tree differs from its index and from HEAD.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::refs::compared;
use crate::run::words;
use crate::{Context, Git, Result};

/// As many bytes of paths go into one command line; Linux takes 2 MiB, others a good deal less
/// (`execve(2)`).
const ARGUMENT_BYTES: usize = 64 * 1024;

/// How many tracked files differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// With other bytes, another mode, or new in the index.
    pub modified: u64,
    /// Gone.
    pub deleted: u64,
}

/// Whether an index differs from HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    /// It is known to hold exactly HEAD's tree.
    Nothing,
    /// Only git can tell.
    Maybe,
}

impl Git {
    /// How many tracked files differ from HEAD, in the index or in the tree. Only `suspects` are
    /// compared with the index: of all others the caller knows that they are equal. `staged` says whether
    /// the index may differ from HEAD.
    pub fn count_changes(
        &self,
        context: Context<'_>,
        staged: Staged,
        suspects: &[&[u8]],
    ) -> Result<Changes> {
        let mut kinds = HashMap::new();
        if staged == Staged::Maybe {
            let against_head = words([
                "diff-index",
                "--cached",
                "--name-status",
                "-z",
                "--no-renames",
                "--ignore-submodules=none",
                "HEAD",
                "--",
            ]);
            collect(&mut kinds, &self.run(context, &against_head, &[])?);
        }
        if !suspects.is_empty() {
            for (kind, path) in statuses(&self.run(context, &unstaged(suspects), &[])?) {
                add(&mut kinds, kind, path);
            }
        }
        let deleted = kinds.values().filter(|kind| **kind == b'D').count() as u64;
        Ok(Changes { modified: kinds.len() as u64 - deleted, deleted })
    }

    /// Which of these tracked files differ from the index, or are in conflict. Maybe more are named, if
    /// these are very many.
    pub fn changed_among(&self, context: Context<'_>, paths: &[&[u8]]) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let output = self.run(context, &unstaged(paths), &[])?;
        let changed = statuses(&output).filter(|(kind, _)| *kind != b' ');
        Ok(changed.map(|(_, path)| OsString::from_vec(path.to_vec()).into()).collect())
    }

    /// Those of these paths that git compares with their files: tracked, and not told to look away from
    /// (`--assume-unchanged`, `--skip-worktree`). Maybe more are named, if these are very many.
    pub fn compared_among(&self, context: Context<'_>, paths: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = words(["--literal-pathspecs", "ls-files", "-z", "-v", "--"]).to_vec();
        arguments.extend(limited(paths));
        Ok(compared(&self.run(context, &arguments, &[])?))
    }
}

/// The arguments that compare these paths, or all if these are too many, with the index, by their bytes
/// where the times do not tell. `git diff` would do so only if it may write what it found out.
fn unstaged<'a>(paths: &[&'a [u8]]) -> Vec<&'a OsStr> {
    let mut arguments = words([
        "--literal-pathspecs",
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=no",
        "--no-renames",
        "--ignore-submodules=none",
        "--",
    ])
    .to_vec();
    arguments.extend(limited(paths));
    arguments
}

/// The paths as arguments; none, which means all, if they are too long together.
fn limited<'a>(paths: &[&'a [u8]]) -> impl Iterator<Item = &'a OsStr> {
    let length: usize = paths.iter().map(|path| path.len() + 1).sum();
    let fitting = if length <= ARGUMENT_BYTES { paths.to_vec() } else { Vec::new() };
    fitting.into_iter().map(OsStr::from_bytes)
}

/// Reads `XY path NUL` …: Y, which is what differs from the index, and the path.
fn statuses(output: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let records = output.split(|byte| *byte == 0).filter(|record| record.len() > 3);
    records.map(|record| (record[1], &record[3..]))
}

/// Takes over `X NUL path NUL …`.
fn collect(kinds: &mut HashMap<Vec<u8>, u8>, output: &[u8]) {
    let mut fields = output.split(|byte| *byte == 0);
    while let (Some([kind, ..]), Some(path)) = (fields.next(), fields.next()) {
        add(kinds, *kind, path);
    }
}

/// A file that is new in the index and gone from the tree is no loss.
fn add(kinds: &mut HashMap<Vec<u8>, u8>, kind: u8, path: &[u8]) {
    if kind == b' ' {
        return;
    }
    let known = kinds.entry(path.to_vec()).or_insert(kind);
    if kind == b'D' && *known != b'A' {
        *known = b'D';
    }
}
