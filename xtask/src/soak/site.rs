//! The place of a run: a source, a home and a state directory of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::answer::{Answer, run, run_for};

/// A directory with everything that a run makes, and the program that is tried.
#[derive(Debug)]
pub(crate) struct Site {
    /// The directory.
    pub(crate) root: PathBuf,
    binary: PathBuf,
}

/// Nothing starts by itself, so that the one who edits the source knows when git packs.
const GIT_CONFIGURATION: &str = "\
[user]
\tname = Soak
\temail = soak@localhost
[init]
\tdefaultBranch = main
\ttemplateDir =
[gc]
\tauto = 0
[maintenance]
\tauto = false
[safe]
\tdirectory = *
";

impl Site {
    /// Makes the directories in `root`, which is empty.
    pub(crate) fn make(root: PathBuf, binary: &Path) -> anyhow::Result<Self> {
        // A copy, since a build meanwhile may replace the original.
        let own_binary = root.join("fwt");
        fs::copy(binary, &own_binary).with_context(|| format!("no {}", binary.display()))?;
        let site = Self { root, binary: own_binary };
        for path in [site.home(), site.source(), site.plain(), site.places()] {
            fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        fs::write(site.home().join(".gitconfig"), GIT_CONFIGURATION)?;
        Ok(site)
    }

    /// The checkout that trees are made from.
    pub(crate) fn source(&self) -> PathBuf {
        self.root.join("source")
    }

    /// A directory without a repository, to be copied.
    pub(crate) fn plain(&self) -> PathBuf {
        self.root.join("plain")
    }

    /// Where trees go that are not left to fwt.
    pub(crate) fn places(&self) -> PathBuf {
        self.root.join("places")
    }

    /// Where files of somebody are written before they are put in their place.
    pub(crate) fn scratch(&self, whose: &str) -> PathBuf {
        self.root.join(format!("scratch-{whose}"))
    }

    /// `FWT_HOME`.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Runs git, which must succeed.
    pub(crate) fn git<Word: AsRef<OsStr>>(
        &self,
        directory: &Path,
        words: impl IntoIterator<Item = Word>,
    ) -> anyhow::Result<Answer> {
        run(self.command("git").current_dir(directory).args(words))?.require_success()
    }

    /// The same, with another index.
    pub(crate) fn git_by_index<Word: AsRef<OsStr>>(
        &self,
        directory: &Path,
        index: &Path,
        words: impl IntoIterator<Item = Word>,
    ) -> anyhow::Result<Answer> {
        let mut command = self.command("git");
        command.current_dir(directory).env("GIT_INDEX_FILE", index).args(words);
        run(&mut command)?.require_success()
    }

    /// Runs git, whatever comes of it.
    pub(crate) fn try_git(&self, directory: &Path, words: &[&str]) -> anyhow::Result<Answer> {
        run(self.command("git").current_dir(directory).args(words))
    }

    /// Runs fwt in the source, with `--json`, and kills it after a time, if there is one.
    pub(crate) fn fwt_mortal<Word: AsRef<OsStr>>(
        &self,
        time: Option<Duration>,
        words: impl IntoIterator<Item = Word>,
    ) -> anyhow::Result<Answer> {
        let mut command = self.fwt_command(words);
        match time {
            Some(time) => run_for(&mut command, time),
            None => run(&mut command),
        }
    }

    /// Runs fwt in the source, with `--json`.
    pub(crate) fn fwt<Word: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = Word>,
    ) -> anyhow::Result<Answer> {
        run(&mut self.fwt_command(words))
    }

    /// What fwt knows of all trees.
    pub(crate) fn list(&self) -> anyhow::Result<Vec<serde_json::Value>> {
        let answer = self.fwt(["list", "--all"])?.require_success()?;
        let worktrees = answer.json()?["worktrees"].as_array().cloned();
        worktrees.with_context(|| format!("no list: {answer}"))
    }

    /// Lets go of the sealed subvolumes, which nothing may be removed from: they outlive all trees.
    pub(crate) fn unseal(&self) -> anyhow::Result<()> {
        for sealed in fs::read_dir(self.state().join("sealed")).into_iter().flatten() {
            let path = sealed?.path();
            if path.as_os_str().as_encoded_bytes().ends_with(b"-subvolume") {
                let words = ["property", "set", "-ts", "tree", "ro", "false"];
                run(self.command("btrfs").current_dir(path).args(words))?.require_success()?;
            }
        }
        Ok(())
    }

    fn fwt_command<Word: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = Word>) -> Command {
        let mut command = self.command(&self.binary);
        command.current_dir(self.source()).args(words).arg("--json");
        command
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("FWT_HOME", self.state());
        command.env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }
}
