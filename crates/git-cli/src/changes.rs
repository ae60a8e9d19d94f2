//! How a tree differs from its index and from HEAD.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

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

impl Git {
    /// How many tracked files differ from HEAD, in the index or in the tree. Only `suspects` are
    /// compared with the index: of all others the caller knows that they are equal.
    pub fn count_changes(&self, context: Context<'_>, suspects: &[&[u8]]) -> Result<Changes> {
        let mut kinds = HashMap::new();
        let staged = words([
            "diff-index",
            "--cached",
            "--name-status",
            "-z",
            "--no-renames",
            "--ignore-submodules=none",
            "HEAD",
            "--",
        ]);
        collect(&mut kinds, &self.run(context, &staged, &[])?);
        if !suspects.is_empty() {
            let unstaged = words([
                "-c",
                // It would look at every file once more.
                "diff.autoRefreshIndex=false",
                "--literal-pathspecs",
                "diff",
                "--name-status",
                "-z",
                "--no-renames",
                "--no-relative",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=none",
                "--",
            ]);
            let length: usize = suspects.iter().map(|path| path.len() + 1).sum();
            let paths = suspects.iter().map(|path| OsStr::from_bytes(path));
            let limited = if length <= ARGUMENT_BYTES { paths.collect() } else { Vec::new() };
            let arguments = [&unstaged[..], &limited].concat();
            collect(&mut kinds, &self.run(context, &arguments, &[])?);
        }
        let deleted = kinds.values().filter(|kind| **kind == b'D').count() as u64;
        Ok(Changes { modified: kinds.len() as u64 - deleted, deleted })
    }
}

/// Takes over `X NUL path NUL …`. A file that is new in the index and gone from the tree is no loss.
fn collect(kinds: &mut HashMap<Vec<u8>, u8>, output: &[u8]) {
    let mut fields = output.split(|byte| *byte == 0);
    while let (Some([kind, ..]), Some(path)) = (fields.next(), fields.next()) {
        let known = kinds.entry(path.to_vec()).or_insert(*kind);
        if *kind == b'D' && *known != b'A' {
            *known = b'D';
        }
    }
}
