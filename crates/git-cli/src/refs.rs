//! Branches, and who can still reach a commit.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::object::ObjectId;
use crate::run::words;
use crate::{Context, Error, Git, Repository, Result, files};

impl Git {
    /// Whether git takes `name` as a branch name.
    pub fn is_branch_name(&self, context: Context<'_>, name: &str) -> Result<bool> {
        match self.ask(context, &words(["check-ref-format", "--branch", name])) {
            Err(Error::Failed { code: Some(128), .. }) => Ok(false),
            answer => answer,
        }
    }

    /// Creates `refs/heads/NAME` at `commit`; an error if it exists or another ref is in the way.
    /// `message` is the first line of its log, which says whose it is.
    pub fn create_branch(
        &self,
        context: Context<'_>,
        name: &str,
        commit: ObjectId,
        message: &str,
    ) -> Result<()> {
        let reference = OsString::from(format!("refs/heads/{name}"));
        let commit = OsString::from(commit.to_string());
        let mut arguments = words(["update-ref", "--create-reflog", "-m", message]).to_vec();
        // The old value is nothing: an existing branch is never moved.
        arguments.extend([&*reference, &*commit, OsStr::new("")]);
        self.run(context, &arguments, &[]).map(drop)
    }

    /// Whether `refs/heads/NAME` was created with this message, and has not moved since.
    pub fn is_branch_created_by(
        &self,
        context: Context<'_>,
        name: &str,
        message: &str,
    ) -> Result<bool> {
        let reference = OsString::from(format!("refs/heads/{name}"));
        let mut arguments =
            words(["log", "--walk-reflogs", "--format=%gs", "--no-patch", "--no-show-signature"])
                .to_vec();
        arguments.extend([&*reference, OsStr::new("--")]);
        let log = self.run(context, &arguments, &[])?;
        Ok(log.strip_suffix(b"\n") == Some(message.as_bytes()))
    }

    /// Puts the context's HEAD on `refs/heads/NAME`; no file is looked at or written.
    pub fn attach_head(&self, context: Context<'_>, name: &str) -> Result<()> {
        let reference = OsString::from(format!("refs/heads/{name}"));
        self.run(context, &[OsStr::new("symbolic-ref"), OsStr::new("HEAD"), &reference], &[])
            .map(drop)
    }

    /// Deletes `refs/heads/NAME` if it is still at `commit`.
    pub fn delete_branch_at(
        &self,
        context: Context<'_>,
        name: &str,
        commit: ObjectId,
    ) -> Result<()> {
        let reference = OsString::from(format!("refs/heads/{name}"));
        let commit = OsString::from(commit.to_string());
        let arguments = [OsStr::new("update-ref"), OsStr::new("-d"), &reference, &commit];
        self.run(context, &arguments, &[]).map(drop)
    }

    /// The branch that is in the way of a new one called `name`: of that name, or one where either
    /// would be a directory of the other.
    pub fn branch_in_the_way(&self, context: Context<'_>, name: &str) -> Result<Option<String>> {
        const BRANCHES: &str = "refs/heads/";
        let ends = name.match_indices('/').map(|(end, _)| end).chain([name.len()]);
        let patterns: Vec<OsString> =
            ends.map(|end| format!("{BRANCHES}{}", &name[..end]).into()).collect();
        let mut arguments = words(["for-each-ref", "--format=%(refname)"]).to_vec();
        arguments.extend(patterns.iter().map(OsString::as_os_str));
        let output = self.run(context, &arguments, &[])?;
        let is_below = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let output = String::from_utf8_lossy(&output);
        let mut branches = output.lines().filter_map(|line| line.strip_prefix(BRANCHES));
        let found = branches.find(|branch| is_below(branch, name) || is_below(name, branch));
        Ok(found.map(str::to_owned))
    }

    /// The worktree whose HEAD is on the branch; one without a commit counts, though there is no such
    /// ref yet.
    pub fn worktree_on(&self, context: Context<'_>, name: &str) -> Result<Option<PathBuf>> {
        let output = self.run(context, &words(["worktree", "list", "--porcelain", "-z"]), &[])?;
        let wanted = format!("branch refs/heads/{name}");
        let mut worktree = None;
        for line in output.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                worktree = Some(PathBuf::from(OsStr::from_bytes(path)));
            } else if line == wanted.as_bytes() {
                return Ok(worktree);
            }
        }
        Ok(None)
    }

    /// Which objects stand for others (`git-replace(1)`), as git lists them; nothing, without asking git,
    /// where there can be none.
    pub fn replacements(&self, repository: &Repository) -> Result<Vec<u8>> {
        if !files::may_have_replacements(&repository.common_dir) {
            return Ok(Vec::new());
        }
        let list = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/replace"];
        self.run(repository.context(), &words(list), &[])
    }

    /// Whether the ref exists.
    pub fn has_ref(&self, context: Context<'_>, name: &str) -> Result<bool> {
        self.ask(context, &words(["show-ref", "--verify", "--quiet", name]))
    }

    /// The commit that HEAD is at; `None` if it has none.
    pub fn head_commit(&self, context: Context<'_>) -> Result<Option<ObjectId>> {
        match self.run(context, &words(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]), &[])
        {
            Ok(output) => Ok(ObjectId::from_hex(String::from_utf8_lossy(&output).trim())),
            Err(Error::Failed { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How many commits reachable from `heads` are on no branch, tag or remote-tracking ref, nor
    /// reachable from `base`. Heads whose objects are gone do not count.
    pub fn count_unreachable(
        &self,
        context: Context<'_>,
        heads: &[ObjectId],
        base: Option<ObjectId>,
    ) -> Result<u64> {
        let mut arguments = words(["rev-list", "--count", "--ignore-missing"]).to_vec();
        let (heads, base) = (names(heads), names(base.as_slice()));
        arguments.extend(heads.iter().map(OsString::as_os_str));
        // Not by `--stdin`: git before 2.42 takes no options there.
        arguments.extend(words(["--not", "--branches", "--tags", "--remotes"]));
        // What stands for other objects is kept like them, and a standalone tree has it too.
        arguments.push(OsStr::new("--glob=refs/replace/"));
        arguments.extend(base.iter().map(OsString::as_os_str));
        arguments.push(OsStr::new("--"));
        let output = self.run(context, &arguments, &[])?;
        let count = std::str::from_utf8(&output).ok().and_then(|text| text.trim().parse().ok());
        count.ok_or(Error::Output { intent: "rev-list" })
    }

    /// The same where some heads may not be in the repository at all: then it is those that count.
    pub fn count_lost(
        &self,
        context: Context<'_>,
        heads: &[ObjectId],
        base: Option<ObjectId>,
    ) -> Result<u64> {
        let input: Vec<u8> =
            heads.iter().flat_map(|head| format!("{head}\n").into_bytes()).collect();
        let output = self.run(context, &words(["cat-file", "--batch-check"]), &input)?;
        let lines = output.split(|byte| *byte == b'\n');
        match lines.filter(|line| line.ends_with(b" missing")).count() {
            0 => self.count_unreachable(context, heads, base),
            missing => Ok(missing as u64),
        }
    }

    /// Whether the index differs from HEAD.
    pub fn has_staged_changes(&self, context: Context<'_>) -> Result<bool> {
        let arguments =
            words(["diff-index", "--cached", "--quiet", "--ignore-submodules=none", "HEAD", "--"]);
        self.ask(context, &arguments).map(|is_same| !is_same)
    }

    /// The tracked files that differ from the index, or are in conflict.
    pub fn changed_files(&self, context: Context<'_>) -> Result<Vec<PathBuf>> {
        let output = self.status_of_tracked(context)?;
        // `XY path NUL`: Y is what differs from the index; U on either side is a conflict.
        let records = output.split(|byte| *byte == 0).filter(|record| record.len() > 3);
        let changed = records.filter(|record| record[1] != b' ');
        Ok(changed.map(|record| PathBuf::from(OsStr::from_bytes(&record[3..]))).collect())
    }

    fn status_of_tracked(&self, context: Context<'_>) -> Result<Vec<u8>> {
        let arguments = words([
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=no",
            "--no-renames",
            "--ignore-submodules=none",
        ]);
        self.run(context, &arguments, &[])
    }

    /// The paths in the context's index that git compares with their files: not those that somebody
    /// told it to look away from (`--assume-unchanged`, `--skip-worktree`).
    pub fn compared_paths(&self, context: Context<'_>) -> Result<Vec<Vec<u8>>> {
        Ok(compared(&self.run(context, &words(["ls-files", "-z", "-v"]), &[])?))
    }
}

/// Reads `H path NUL` …; a small letter is "assume unchanged", S is "skip".
pub(crate) fn compared(output: &[u8]) -> Vec<Vec<u8>> {
    let entries = output.split(|byte| *byte == 0).filter_map(|entry| match entry {
        [tag, b' ', path @ ..] if tag.is_ascii_uppercase() && *tag != b'S' => Some(path),
        _ => None,
    });
    entries.map(<[u8]>::to_vec).collect()
}

fn names(ids: &[ObjectId]) -> Vec<OsString> {
    ids.iter().map(|id| id.to_string().into()).collect()
}
