//! What the kernel asks for the bare thing, by the programs that come with it.

use std::fs;
use std::path::{Path, PathBuf};

use super::Ground;
use crate::bench::corpus::Corpus;
use crate::bench::measure;
use crate::bench::record::Record;
use crate::command::require_output;
use crate::machine::find_program;

/// One bare operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// An overlay mounted.
    Mount,
    /// A subvolume with the large repository's files snapshotted.
    Snapshot,
}

/// What the operations work on.
#[derive(Debug)]
pub(super) struct Scene {
    directory: PathBuf,
    corpus: PathBuf,
}

/// Those that can be measured here.
pub(super) fn operations(ground: Ground<'_>) -> Vec<Operation> {
    let snapshot = ground.kind_is("btrfs").then_some(Operation::Snapshot);
    [Some(Operation::Mount), snapshot].into_iter().flatten().collect()
}

impl Operation {
    /// What a person would type, in short.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount -t overlay",
            Self::Snapshot => "btrfs subvolume snapshot",
        }
    }
}

impl Scene {
    /// Makes what does not count.
    pub(super) fn make(ground: Ground<'_>, corpus: &Corpus) -> anyhow::Result<Self> {
        let directory = ground.environment.trees().join("raw");
        for name in ["upper", "work", "merged"] {
            fs::create_dir_all(directory.join(name))?;
        }
        if ground.kind_is("btrfs") && find_program("btrfs").is_some() {
            let subvolume = directory.join("subvolume");
            let mut create = ground.environment.command("btrfs");
            require_output(create.args(["subvolume", "create"]).arg(&subvolume))?;
            let mut copy = ground.environment.command("cp");
            let copy = copy.args(["-a", "--reflink=auto"]).arg(&corpus.repository);
            require_output(copy.arg(&subvolume))?;
        }
        Ok(Self { directory, corpus: corpus.repository.clone() })
    }

    /// Does one and undoes it, and measures the doing.
    pub(super) fn run(
        &self,
        ground: Ground<'_>,
        operation: Operation,
        record: &mut Record,
    ) -> anyhow::Result<()> {
        let [subvolume, snapshot, merged] =
            ["subvolume", "snapshot", "merged"].map(|name| self.directory.join(name));
        let (program, words, undo): (_, _, &[&str]) = match operation {
            Operation::Mount => ("mount", self.mount_words(&merged), &["umount"]),
            Operation::Snapshot => {
                let words = ["subvolume", "snapshot"].map(PathBuf::from).into_iter();
                let words = words.chain([subvolume, snapshot.clone()]).collect();
                ("btrfs", words, &["btrfs", "subvolume", "delete"])
            }
        };
        let mut command = ground.environment.command(program);
        record.note(operation.name(), measure::run(command.args(words))?.sample);
        let mut command = ground.environment.command(undo[0]);
        let done = if operation == Operation::Mount { merged } else { snapshot };
        require_output(command.args(&undo[1..]).arg(done)).map(drop)
    }

    fn mount_words(&self, merged: &Path) -> Vec<PathBuf> {
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            self.corpus.display(),
            self.directory.join("upper").display(),
            self.directory.join("work").display(),
        );
        let words = ["-t", "overlay", "overlay", "-o", &options].map(PathBuf::from);
        words.into_iter().chain([merged.to_owned()]).collect()
    }
}
