//! The ways to make a tree that are measured beside each other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;

use super::corpus::{Corpus, remove_if_there};
use super::environment::Environment;
use super::measure::{self, Measured, Sample};
use crate::machine::find_program;

/// One way to make a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Maker {
    /// `fwt create`, by a means.
    #[value(skip)]
    Fwt(Means),
    /// `fwt create` with what is uncommitted, by a means.
    #[value(skip)]
    FwtDirty(Means),
    /// `git worktree add`.
    Git,
    /// `cp`, sharing bytes if it can.
    Cp,
    /// `cp`, sharing bytes or failing.
    CpAlways,
    /// `xcp` with two threads, sharing bytes or failing.
    Xcp,
    /// `rsync`.
    Rsync,
}

/// How fwt is to make a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// As it decides itself: over a sealed tree where it can.
    Chain,
    /// By cloning or copying each file.
    ByFile,
    /// By a snapshot of a btrfs subvolume.
    Btrfs,
}

/// A tree that was made.
#[derive(Debug)]
pub(crate) struct Made {
    /// What making it used.
    pub(crate) sample: Sample,
    /// Where it is.
    pub(crate) tree: PathBuf,
    /// What fwt calls the way it chose; empty for others.
    pub(crate) backend: String,
}

/// What of fwt's answer matters here.
#[derive(Deserialize)]
struct Created {
    path: PathBuf,
    backend: String,
}

impl Maker {
    /// Those that fwt is compared with.
    pub(crate) const PEERS: [Self; 5] =
        [Self::Git, Self::Cp, Self::CpAlways, Self::Xcp, Self::Rsync];

    /// What a person would type, in short.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fwt(Means::Chain) => "fwt create",
            Self::Fwt(Means::ByFile) => "fwt create, file by file",
            Self::Fwt(Means::Btrfs) => "fwt create --backend btrfs",
            Self::FwtDirty(Means::Chain) => "fwt create --carry dirty",
            Self::FwtDirty(Means::ByFile) => "fwt create --carry dirty, file by file",
            Self::FwtDirty(Means::Btrfs) => "fwt create --carry dirty --backend btrfs",
            Self::Git => "git worktree add",
            Self::Cp => "cp -a --reflink=auto",
            Self::CpAlways => "cp -a --reflink=always",
            Self::Xcp => "xcp -w 2 --reflink always",
            Self::Rsync => "rsync -a",
        }
    }

    /// What a person would type to remove the tree.
    pub(crate) fn removal_name(self) -> &'static str {
        match self {
            Self::Fwt(Means::Chain) | Self::FwtDirty(Means::Chain) => "fwt rm",
            Self::Fwt(Means::ByFile) | Self::FwtDirty(Means::ByFile) => "fwt rm, file by file",
            Self::Fwt(Means::Btrfs) | Self::FwtDirty(Means::Btrfs) => "fwt rm, btrfs",
            Self::Git => "git worktree remove",
            Self::Cp | Self::CpAlways | Self::Xcp | Self::Rsync => "rm -rf",
        }
    }

    /// Whether git knows the tree.
    pub(crate) fn makes_worktree(self) -> bool {
        matches!(self, Self::Fwt(_) | Self::FwtDirty(_) | Self::Git)
    }

    /// Makes a tree and measures that.
    pub(crate) fn make(self, environment: &Environment, corpus: &Corpus) -> anyhow::Result<Made> {
        let tree = environment.trees().join("tree");
        // A peer that failed left what it had.
        remove_if_there(&tree)?;
        let mut command = self.command(environment, corpus, &tree)?;
        let Measured { sample, output } = measure::run(&mut command)?;
        if !matches!(self, Self::Fwt(_) | Self::FwtDirty(_)) {
            return Ok(Made { sample, tree, backend: String::new() });
        }
        let Created { path, backend } =
            serde_json::from_slice(&output).context("cannot read fwt's answer")?;
        Ok(Made { sample, tree: path, backend })
    }

    /// Removes a tree and measures that.
    pub(crate) fn remove(
        self,
        environment: &Environment,
        corpus: &Corpus,
        tree: &Path,
    ) -> anyhow::Result<Sample> {
        let mut command = match self {
            Self::Fwt(_) | Self::FwtDirty(_) => environment.fwt(&corpus.repository),
            Self::Git => environment.git(&corpus.repository),
            Self::Cp | Self::CpAlways | Self::Xcp | Self::Rsync => environment.command("rm"),
        };
        match self {
            Self::Fwt(_) => command.arg("rm"),
            Self::FwtDirty(_) => command.args(["rm", "--discard"]),
            Self::Git => command.args(["worktree", "remove", "--force"]),
            Self::Cp | Self::CpAlways | Self::Xcp | Self::Rsync => command.arg("-rf"),
        };
        Ok(measure::run(command.arg(tree))?.sample)
    }

    fn command(
        self,
        environment: &Environment,
        corpus: &Corpus,
        tree: &Path,
    ) -> anyhow::Result<Command> {
        let source = &corpus.repository;
        let words: &[&str] = match self {
            Self::Fwt(means) => {
                return Ok(with(environment.fwt(source), &[CREATE, means.words()].concat()));
            }
            Self::FwtDirty(means) => {
                let words = [CREATE, &["--carry", "dirty"], means.words()].concat();
                return Ok(with(environment.fwt(source), &words));
            }
            Self::Git => {
                let mut command = with(environment.git(source), &["worktree", "add", "--detach"]);
                command.arg(tree);
                return Ok(command);
            }
            Self::Cp => &["cp", "-a", "--reflink=auto"],
            Self::CpAlways => &["cp", "-a", "--reflink=always"],
            Self::Xcp => &["xcp", "-r", "-w", "2", "--reflink", "always"],
            Self::Rsync => &["rsync", "-a"],
        };
        let program =
            find_program(words[0]).with_context(|| format!("{} is not installed", words[0]))?;
        // Copies are given all but the git directory, as a worktree has none of its own.
        fs::create_dir(tree)?;
        let mut command = with(environment.command(program), &words[1..]);
        command.current_dir(source).args(entries_but_git(source)?).arg(tree);
        Ok(command)
    }
}

const CREATE: &[&str] = &["create", "--json"];

impl Means {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Chain => &[],
            Self::ByFile => &["--backend", "reflink", "--backend", "copy"],
            Self::Btrfs => &["--backend", "btrfs"],
        }
    }
}

fn with(mut command: Command, words: &[&str]) -> Command {
    command.args(words);
    command
}

fn entries_but_git(repository: &Path) -> anyhow::Result<Vec<std::ffi::OsString>> {
    let names = fs::read_dir(repository)?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(names.into_iter().filter(|name| name != ".git").collect())
}
