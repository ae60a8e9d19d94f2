//! The one place that starts git.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::{Error, Result};

/// What git sees of the caller's environment: everything but git's own variables, which inside a
/// hook or an agent point at some other repository.
#[derive(Clone, Debug)]
pub struct Environment {
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Takes the caller's variables over. `GIT_*` is dropped; what ssh and credentials need for a
    /// fetch that was asked for is kept.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        const KEPT: [&str; 4] = ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS"];
        let is_foreign = |name: &OsStr| {
            name.as_encoded_bytes().starts_with(b"GIT_") && !KEPT.iter().any(|kept| name == *kept)
        };
        let variables = variables.into_iter().filter(|(name, _)| !is_foreign(name)).collect();
        Self { program: PathBuf::from("git"), variables }
    }

    /// The variables, for other programs that run in a tree.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// What git is called.
    pub(crate) fn name(&self) -> &Path {
        &self.program
    }

    /// Where attributes outside a repository may be, the default places of `gitattributes(5)`: the
    /// person's, and the system's by the common prefixes git is built with.
    pub fn attribute_files(&self) -> Vec<PathBuf> {
        let variable = |wanted: &str| {
            self.variable(wanted).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let config = variable("XDG_CONFIG_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".config")));
        let system = SYSTEM_DIRECTORIES.map(|prefix| Path::new(prefix).join("gitattributes"));
        config.map(|config| config.join("git/attributes")).into_iter().chain(system).collect()
    }
}

/// Where the system's settings are, by the common prefixes that git is built with.
pub(crate) const SYSTEM_DIRECTORIES: [&str; 4] =
    ["/etc", "/usr/local/etc", "/usr/etc", "/opt/homebrew/etc"];

/// Starts git.
#[derive(Clone, Debug)]
pub struct Git {
    environment: Environment,
    memory: Option<PathBuf>,
}

/// Which repository, tree and index a call is about.
#[derive(Clone, Copy, Debug)]
pub enum Context<'a> {
    /// Whatever git finds from this directory on, with its own check of who owns it.
    Discover(&'a Path),
    /// Exactly these.
    Explicit {
        /// The repository, or the admin directory of a linked worktree.
        git_dir: &'a Path,
        /// The working tree, which is also the current directory.
        work_tree: &'a Path,
        /// Another index than the one in `git_dir`.
        index: Option<&'a Path>,
    },
}

/// Set on every call of ours: no hook, no monitor, no housekeeping, no advice.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "checkout.workers=0",
];

impl Git {
    /// Starts git in this environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment, memory: None }
    }

    /// The same, and what it says of repositories is remembered in a directory.
    #[must_use]
    pub fn remembering(self, directory: PathBuf) -> Self {
        Self { memory: Some(directory), ..self }
    }

    pub(crate) fn memory(&self) -> Option<&Path> {
        self.memory.as_deref()
    }

    /// What it sees of the environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Runs git and returns its standard output; any exit code but 0 is an error.
    pub(crate) fn run(
        &self,
        context: Context<'_>,
        arguments: &[&OsStr],
        input: &[u8],
    ) -> Result<Vec<u8>> {
        let output = self.spawn(context, arguments, input)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(Error::Failed {
            intent: intent(arguments),
            code: output.status.code(),
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Runs git for its exit code: 0 is yes, 1 is no, anything else an error.
    pub(crate) fn ask(&self, context: Context<'_>, arguments: &[&OsStr]) -> Result<bool> {
        match self.run(context, arguments, &[]) {
            Ok(_) => Ok(true),
            Err(Error::Failed { code: Some(1), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn spawn(&self, context: Context<'_>, arguments: &[&OsStr], input: &[u8]) -> Result<Output> {
        let mut command = self.command(context);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
        tracing::debug!(?command, "git");
        let fail = |source| Error::Start { program: self.environment.program.clone(), source };
        let mut child = command.spawn().map_err(fail)?;
        let Some(mut stdin) = child.stdin.take() else {
            return child.wait_with_output().map_err(fail);
        };
        // git may answer before it has read everything: writing beside reading cannot block both.
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if let Err(error) = stdin.write_all(input) {
                    // git ended early; its exit code says why.
                    tracing::debug!(%error, "git stopped reading");
                }
            });
            child.wait_with_output()
        })
        .map_err(fail)
    }

    #[expect(clippy::disallowed_methods, reason = "the one spawn site that the rule points at")]
    fn command(&self, context: Context<'_>) -> Command {
        let mut command = Command::new(&self.environment.program);
        command
            .env_clear()
            .envs(self.environment.variables.iter().map(|(name, value)| (name, value)));
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        // A partial clone would otherwise fetch what it lacks (git 2.44).
        command.env("GIT_NO_LAZY_FETCH", "1");
        match context {
            Context::Discover(directory) => {
                command.current_dir(directory);
            }
            Context::Explicit { git_dir, work_tree, index } => {
                command
                    .current_dir(work_tree)
                    .env("GIT_DIR", git_dir)
                    .env("GIT_WORK_TREE", work_tree);
                if let Some(index) = index {
                    command.env("GIT_INDEX_FILE", index);
                }
            }
        }
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command
    }
}

/// The subcommand, for messages.
fn intent(arguments: &[&OsStr]) -> &'static str {
    const KNOWN: [&str; 21] = [
        "cat-file",
        "fetch",
        "rev-list",
        "ls-files",
        "rev-parse",
        "config",
        "var",
        "check-attr",
        "read-tree",
        "checkout-index",
        "worktree",
        "update-ref",
        "for-each-ref",
        "update-index",
        "check-ref-format",
        "status",
        "diff-index",
        "symbolic-ref",
        "show-ref",
        "log",
        "reset",
    ];
    let is_named = |known: &&str| arguments.iter().any(|argument| argument == known);
    KNOWN.into_iter().find(is_named).unwrap_or("command")
}

/// The output without the newline that ends it: a path may hold others.
pub(crate) fn without_newline(mut output: Vec<u8>) -> Vec<u8> {
    if output.last() == Some(&b'\n') {
        output.pop();
    }
    output
}

/// The arguments as the calls take them.
pub(crate) fn words<const N: usize>(words: [&str; N]) -> [&OsStr; N] {
    words.map(OsStr::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_point_at_another_repository_do_not_pass() {
        let variables =
            ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "GIT_SSH", "PATH", "GITX"];
        let environment =
            Environment::new(variables.map(|name| (OsString::from(name), OsString::new())));
        let kept: Vec<_> = environment.variables.iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["GIT_SSH", "PATH", "GITX"]);
    }
}
