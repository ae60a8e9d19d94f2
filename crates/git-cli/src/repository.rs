//! Which repository a directory belongs to, and what a revision is there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use fs_sys::Kind;

use crate::object::{ObjectFormat, ObjectId};
use crate::run::{without_newline, words};
use crate::{Context, Error, Git, Result};

/// A repository with the working tree that was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Root of the working tree; `None` for a bare repository.
    pub work_tree: Option<PathBuf>,
    /// The repository directory, or the admin directory of a linked worktree.
    pub git_dir: PathBuf,
    /// The directory that all worktrees share.
    pub common_dir: PathBuf,
    /// Of its object ids.
    pub format: ObjectFormat,
}

/// What a revision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit.
    pub commit: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
}

/// What HEAD says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch, by its full ref name; it may have no commit yet.
    Branch(String),
    /// A commit.
    Detached,
}

/// What lies above a directory, as far as it can be told without git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// A `.git` here, owned by this user.
    Repository {
        /// The `.git`.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// None up to the root.
    Nothing,
}

/// Looks for a `.git` from `directory` upward, to explain a refusal of git's.
pub fn locate(directory: &Path) -> Located {
    for above in directory.ancestors() {
        let path = above.join(".git");
        if let Ok(stat) = fs_sys::stat_following(&path) {
            return Located::Repository { path, owner: stat.owner.uid };
        }
    }
    Located::Nothing
}

impl Git {
    /// The repository of `directory`; an error if there is none or git refuses it.
    pub fn repository(&self, directory: &Path) -> Result<Repository> {
        let context = Context::Discover(directory);
        let common = [
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--show-object-format",
            "--git-dir",
            "--git-common-dir",
        ];
        let output = self.run(context, &words(common), &[])?;
        let lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
        // A path may hold newlines; then each question is asked on its own.
        let [bare, format, git_dir, common_dir, b""] = lines[..] else {
            return self.repository_by_single_questions(directory);
        };
        self.repository_of(directory, bare, format, (git_dir.to_vec(), common_dir.to_vec()))
    }

    fn repository_by_single_questions(&self, directory: &Path) -> Result<Repository> {
        let ask = |question: &str| {
            let arguments = words(["rev-parse", "--path-format=absolute", question]);
            self.run(Context::Discover(directory), &arguments, &[]).map(without_newline)
        };
        let bare = ask("--is-bare-repository")?;
        let format = ask("--show-object-format")?;
        let directories = (ask("--git-dir")?, ask("--git-common-dir")?);
        self.repository_of(directory, &bare, &format, directories)
    }

    fn repository_of(
        &self,
        directory: &Path,
        bare: &[u8],
        format: &[u8],
        (git_dir, common_dir): (Vec<u8>, Vec<u8>),
    ) -> Result<Repository> {
        let work_tree = match bare {
            b"true" => None,
            _ => Some(self.top_level(directory)?),
        };
        let format = std::str::from_utf8(format).ok().and_then(ObjectFormat::from_name);
        Ok(Repository {
            work_tree,
            git_dir: into_path(git_dir),
            common_dir: into_path(common_dir),
            format: format.ok_or(Error::Output { intent: "rev-parse" })?,
        })
    }

    /// Root of the working tree that `directory` is in.
    pub fn top_level(&self, directory: &Path) -> Result<PathBuf> {
        let arguments = words(["rev-parse", "--path-format=absolute", "--show-toplevel"]);
        self.run(Context::Discover(directory), &arguments, &[])
            .map(|output| into_path(without_newline(output)))
    }

    /// What `revision` is; `None` if it names no commit.
    pub fn revision(&self, repository: &Repository, revision: &str) -> Result<Option<Revision>> {
        let resolve = |kind: &str| -> Result<Option<ObjectId>> {
            let name = OsString::from(format!("{revision}^{{{kind}}}"));
            let arguments = [
                OsStr::new("rev-parse"),
                OsStr::new("--verify"),
                OsStr::new("--quiet"),
                OsStr::new("--end-of-options"),
                &name,
            ];
            match self.run(repository.context(), &arguments, &[]) {
                Ok(output) => parse_id(&output).map(Some),
                // 1: no such revision; 128: it names an object that is no commit.
                Err(Error::Failed { code: Some(1 | 128), .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let (Some(commit), Some(tree)) = (resolve("commit")?, resolve("tree")?) else {
            return Ok(None);
        };
        Ok(Some(Revision { commit, tree }))
    }
}

impl Repository {
    /// Calls about this repository and its working tree.
    pub fn context(&self) -> Context<'_> {
        Context::Explicit {
            git_dir: &self.git_dir,
            work_tree: self.work_tree.as_deref().unwrap_or(&self.common_dir),
            index: None,
        }
    }

    /// What HEAD says, from its file. With the reftable format the file is a stand-in that names no
    /// real branch: ask [`Repository::uses_reftable`] first.
    pub fn head(&self) -> Result<Head> {
        let bytes = fs_sys::read_file(&self.git_dir.join("HEAD"))?;
        Ok(parse_head(&bytes))
    }

    /// Whether refs are kept in tables instead of files.
    pub fn uses_reftable(&self) -> bool {
        fs_sys::stat(&self.common_dir.join("reftable"))
            .is_ok_and(|stat| stat.kind == Kind::Directory)
    }

    /// Whether this is a linked worktree.
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir
    }
}

fn parse_head(bytes: &[u8]) -> Head {
    match bytes.strip_prefix(b"ref:") {
        Some(name) => Head::Branch(String::from_utf8_lossy(name).trim().to_owned()),
        None => Head::Detached,
    }
}

pub(crate) fn parse_id(output: &[u8]) -> Result<ObjectId> {
    std::str::from_utf8(output)
        .ok()
        .and_then(|text| ObjectId::from_hex(text.trim_end()))
        .ok_or(Error::Output { intent: "rev-parse" })
}

fn into_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_a_branch_or_a_commit() {
        assert_eq!(parse_head(b"ref: refs/heads/a/b\n"), Head::Branch("refs/heads/a/b".to_owned()));
        assert_eq!(parse_head(b"0123456789abcdef0123456789abcdef01234567\n"), Head::Detached);
    }
}
