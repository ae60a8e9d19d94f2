//! Which repository a directory belongs to, and what a revision is there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use fs_sys::Kind;

use crate::object::{ObjectFormat, ObjectId};
use crate::run::{without_newline, words};
use crate::{Admin, Context, Error, Git, Result, discover, files};

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
    // git does not look beyond the file system that it starts on.
    let device = |path: &Path| fs_sys::stat_following(path).map(|stat| stat.dev).ok();
    let start = device(directory);
    for above in directory.ancestors().take_while(|above| device(above) == start) {
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
        match discover::find(directory).and_then(|found| self.recall(&found)) {
            Some(record) => Ok(record.repository),
            None => self.ask_repository(directory),
        }
    }

    /// The same, from git in any case.
    pub(crate) fn ask_repository(&self, directory: &Path) -> Result<Repository> {
        let context = Context::Discover(directory);
        let common = [
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--show-object-format",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        // A bare repository has no top level, and a path may hold newlines: then each question is
        // asked on its own.
        let Ok(output) = self.run(context, &words(common), &[]) else {
            return self.repository_by_single_questions(directory);
        };
        let lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
        let [b"false", format, git_dir, common_dir, work_tree, b""] = lines[..] else {
            return self.repository_by_single_questions(directory);
        };
        Ok(Repository {
            work_tree: Some(into_path(work_tree.to_vec())),
            git_dir: into_path(git_dir.to_vec()),
            common_dir: into_path(common_dir.to_vec()),
            format: parse_format(format)?,
        })
    }

    fn repository_by_single_questions(&self, directory: &Path) -> Result<Repository> {
        let ask = |question: &str| {
            let arguments = words(["rev-parse", "--path-format=absolute", question]);
            self.run(Context::Discover(directory), &arguments, &[]).map(without_newline)
        };
        let is_bare = ask("--is-bare-repository")? == b"true";
        Ok(Repository {
            work_tree: if is_bare { None } else { Some(self.top_level(directory)?) },
            git_dir: into_path(ask("--git-dir")?),
            common_dir: into_path(ask("--git-common-dir")?),
            format: parse_format(&ask("--show-object-format")?)?,
        })
    }

    /// What git says of its version.
    pub fn version(&self) -> Result<String> {
        let output = self.run(Context::Discover(Path::new("/")), &words(["version"]), &[])?;
        Ok(String::from_utf8_lossy(&output).trim().trim_start_matches("git version ").to_owned())
    }

    /// How the context's objects are named.
    pub fn object_format(&self, context: Context<'_>) -> Result<ObjectFormat> {
        let output = self.run(context, &words(["rev-parse", "--show-object-format"]), &[])?;
        parse_format(&without_newline(output))
    }

    /// Root of the working tree that `directory` is in.
    pub fn top_level(&self, directory: &Path) -> Result<PathBuf> {
        let arguments = words(["rev-parse", "--path-format=absolute", "--show-toplevel"]);
        self.run(Context::Discover(directory), &arguments, &[])
            .map(|output| into_path(without_newline(output)))
    }

    /// What `revision` is; `None` if it names no commit.
    pub fn revision(&self, repository: &Repository, revision: &str) -> Result<Option<Revision>> {
        // One look: a name that is resolved twice may be two commits, if somebody commits meanwhile.
        let question = format!("{revision}^{{commit}}\n");
        let arguments = words(["cat-file", "--batch"]);
        let output = match self.run(repository.context(), &arguments, question.as_bytes()) {
            Ok(output) => output,
            // 128: what it names cannot be read.
            Err(Error::Failed { code: Some(128), .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(parse_revision(&output))
    }

    /// The tree that `name` stands for, be it one itself or a commit; `None` if git finds none.
    pub fn tree_of(&self, repository: &Repository, name: &[u8]) -> Result<Option<ObjectId>> {
        let name = [name, b"^{tree}"].concat();
        let mut arguments =
            words(["rev-parse", "--verify", "--quiet", "--end-of-options"]).to_vec();
        arguments.push(OsStr::from_bytes(&name));
        match self.run(repository.context(), &arguments, &[]) {
            Ok(output) => Ok(ObjectId::from_hex(String::from_utf8_lossy(&output).trim_end())),
            Err(Error::Failed { code: Some(1 | 128), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The full name of the ref that `revision` is a short name of; `None` if it is none.
    pub fn full_name(&self, repository: &Repository, revision: &str) -> Result<Option<String>> {
        let arguments = words(["rev-parse", "--symbolic-full-name", "--end-of-options", revision]);
        let output = self.run(repository.context(), &arguments, &[])?;
        let output = String::from_utf8_lossy(&output);
        Ok(output.lines().find(|line| line.starts_with("refs/")).map(str::to_owned))
    }
}

/// Commit and tree in what `cat-file --batch` prints of a commit: `<id> commit <size>`, and then its
/// content, of which `tree <id>` is the first line.
fn parse_revision(output: &[u8]) -> Option<Revision> {
    let mut lines = output.split(|byte| *byte == b'\n');
    let mut line = || std::str::from_utf8(lines.next()?).ok();
    let (commit, rest) = line()?.split_once(' ')?;
    let tree = line()?.strip_prefix("tree ")?;
    let ids = ObjectId::from_hex(commit).zip(ObjectId::from_hex(tree));
    ids.filter(|_| rest.starts_with("commit ")).map(|(commit, tree)| Revision { commit, tree })
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

    /// The commit that HEAD is at, where its files say so: not with the reftable format, and not where
    /// anything about them is unusual. That the commit is there is not looked at.
    pub fn head_commit(&self) -> Option<ObjectId> {
        files::head_commit(&self.git_dir, &self.common_dir)
            .filter(|commit| commit.as_bytes().len() == self.format.hash_len())
    }

    /// Whether git, started in `tree`, finds its top there, and in `admin` what belongs to it in this
    /// repository. A no means that git must be asked. Settings of the worktree alone are not looked at.
    pub fn is_found_from(&self, tree: &Path, admin: &Admin) -> bool {
        let Some(found) = discover::find(tree) else { return false };
        let is = |path: &Path, found: &Path| fs_sys::canonicalize(path).is_ok_and(|is| is == found);
        is(tree, &found.work_tree)
            && is(&admin.path, &found.git_dir)
            && is(&self.common_dir, &found.common_dir)
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

fn parse_format(name: &[u8]) -> Result<ObjectFormat> {
    let format = std::str::from_utf8(name).ok().and_then(ObjectFormat::from_name);
    format.ok_or(Error::Output { intent: "rev-parse" })
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
