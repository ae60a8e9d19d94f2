//! A home and a repository of a test's own, and `fwt` run in there.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fs_sys::Mode;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Sandbox {
    root: PathBuf,
    _directory: TempDir,
}

impl Sandbox {
    /// With a repository `repo` of one commit, its file `dir/file` clean.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs_sys::canonicalize(directory.path()).unwrap();
        let sandbox = Self { root, _directory: directory };
        fs_sys::make_dirs(&sandbox.path("repo/dir"), Mode(0o755)).unwrap();
        fs_sys::write_new(&sandbox.path("repo/dir/file"), b"hello\n", Mode(0o644)).unwrap();
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message=one"],
        ] {
            sandbox.git(arguments);
        }
        sandbox
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Runs git in the repository, which must succeed, and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.command("git");
        let person = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let output = command.args(person).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// `fwt` with these arguments, in the repository.
    pub(crate) fn fwt(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_fwt"));
        command.args(arguments);
        command
    }

    /// Runs it, and shows what a person would see.
    pub(crate) fn see(&self, arguments: &[&str]) -> String {
        self.show(&self.fwt(arguments).output().unwrap())
    }

    /// Runs it with `--json`, and reads the one document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.fwt(arguments).arg("--json").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A shell's view of the arguments: `$0` is fwt.
    pub(crate) fn shell(&self, script: &str) -> Output {
        let mut command = self.command("sh");
        command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_fwt")).output().unwrap()
    }

    /// Puts a shell script before the real git in the search path of what it returns; in the script,
    /// `$GIT` is the real one.
    pub(crate) fn path_with_git(&self, script: &str) -> OsString {
        let bin = self.path("bin");
        fs_sys::make_dir(&bin, Mode(0o755)).unwrap();
        let real = self.shell("command -v git");
        let real = OsStr::from_bytes(real.stdout.trim_ascii_end());
        let text = format!("#!/bin/sh\nGIT='{}'\n{script}\n", real.display());
        fs_sys::write_new(&self.path("git.sh"), text.as_bytes(), Mode(0o644)).unwrap();
        // Not written by this process: a child of another test's could hold it open for writing.
        let copied = self.shell("cp ../git.sh ../bin/git && chmod +x ../bin/git");
        assert!(copied.status.success(), "{copied:?}");
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(search_path());
        path
    }

    /// Output and exit code, with what differs from run to run replaced.
    pub(crate) fn show(&self, output: &Output) -> String {
        let mut text = String::new();
        for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let printed =
                String::from_utf8_lossy(bytes).replace(&*self.root.to_string_lossy(), "/ROOT");
            if !printed.is_empty() {
                write!(text, "{stream}:\n{printed}").unwrap();
            }
        }
        write!(text, "exit: {}", output.status.code().map_or(-1, |code| code)).unwrap();
        text
    }

    #[expect(clippy::disallowed_methods, reason = "a test starts the program that it is about")]
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.path("home"))
            .env("FWT_HOME", self.path("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .current_dir(self.path("repo"));
        command
    }
}

/// The bytes of a path that is printed as a line.
pub(crate) fn line(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_bytes(), b"\n"].concat()
}

#[expect(clippy::disallowed_methods, reason = "git is where the person who runs the tests has it")]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}
