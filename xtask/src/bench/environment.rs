//! The surroundings of everything that is measured: a home of its own, and nothing inherited that
//! would change what git does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use tempfile::TempDir;

/// A directory on the file system in question, and programs that see only it. Dropping this
/// removes all that a run made.
#[derive(Debug)]
pub(crate) struct Environment {
    directory: TempDir,
    programs: Programs,
}

/// What is measured.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// `fwt`.
    pub(crate) fwt: PathBuf,
    /// The example that makes trees in its own process.
    pub(crate) library: PathBuf,
}

/// Neither a daemon nor a cache may answer in git's place, and no housekeeping may start.
const GIT_CONFIGURATION: &str = "\
[user]
\tname = Bench
\temail = bench@localhost
[core]
\tfsmonitor = false
\tuntrackedCache = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\tdetachedHead = false
[safe]
\tdirectory = *
";

/// What a program needs that is not about the user.
const PASSED_VARIABLES: &[&str] = &["PATH", "TMPDIR"];

impl Environment {
    /// Makes the directory.
    pub(crate) fn make(parent: &Path, programs: &Programs) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(parent)
            .with_context(|| format!("cannot make a directory in {}", parent.display()))?;
        let environment = Self { directory, programs: programs.clone() };
        for path in [environment.home(), environment.trees()] {
            fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        fs::write(environment.home().join(".gitconfig"), GIT_CONFIGURATION)?;
        Ok(environment)
    }

    /// A program with nothing of the caller's environment but where programs are.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear();
        for name in PASSED_VARIABLES {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.home()).env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("FWT_HOME", self.directory.path().join("fwt"));
        command
    }

    /// git, in a directory.
    pub(crate) fn git(&self, directory: &Path) -> Command {
        let mut command = self.command("git");
        command.current_dir(directory);
        command
    }

    /// The measured `fwt`, in a directory.
    pub(crate) fn fwt(&self, directory: &Path) -> Command {
        let mut command = self.command(&self.programs.fwt);
        command.current_dir(directory);
        command
    }

    /// The example that makes trees in its own process, in a directory.
    pub(crate) fn library(&self, directory: &Path) -> Command {
        let mut command = self.command(&self.programs.library);
        command.current_dir(directory);
        command
    }

    /// Where trees go that fwt does not place itself.
    pub(crate) fn trees(&self) -> PathBuf {
        self.directory.path().join("trees")
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }
}
