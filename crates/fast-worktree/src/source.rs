//! The checkout that trees are made from.

use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Kind};
use git_cli::{Config, Git, Located, Repository};
use pool_db::RepositoryIdentity;

use crate::api::{ApiError, Code};
use crate::identity;

/// A checkout with its repository.
#[derive(Debug)]
pub(crate) struct Source {
    /// Root of its working tree, links resolved; of a bare repository, which has none, the repository.
    pub(crate) root: PathBuf,
    pub(crate) repository: Repository,
    pub(crate) identity: RepositoryIdentity,
    pub(crate) config: Config,
}

impl Source {
    /// The checkout that `directory` is in.
    pub(crate) fn open(git: &Git, directory: &Path) -> Result<Self, ApiError> {
        let repository = open_repository(git, directory)?;
        let root = repository.work_tree.clone().unwrap_or_else(|| repository.common_dir.clone());
        let identity = identity::of(&repository.common_dir)?;
        let config = git.config(repository.context())?;
        Ok(Self { root, repository, identity, config })
    }

    /// Whether it has no files to give, only commits.
    pub(crate) fn is_bare(&self) -> bool {
        self.repository.work_tree.is_none()
    }

    /// Whether only a part of each commit is checked out.
    pub(crate) fn is_sparse(&self) -> bool {
        self.config.flag("core.sparsecheckout") == Some(true)
    }

    /// Whether worktrees have configuration of their own, which git knows how to hand on.
    pub(crate) fn has_worktree_config(&self) -> bool {
        self.config.flag("extensions.worktreeconfig") == Some(true)
    }
}

/// The repository of `directory`, or why there is none.
pub(crate) fn open_repository(git: &Git, directory: &Path) -> Result<Repository, ApiError> {
    match fs_sys::stat_following(directory) {
        Ok(stat) if stat.kind == Kind::Directory => {}
        Ok(_) => return Err(no_such_source(directory, "it is not a directory")),
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(no_such_source(directory, "there is nothing"));
        }
        Err(error) => return Err(error.into()),
    }
    git.repository(directory).map_err(|error| refusal(directory, error))
}

fn no_such_source(directory: &Path, why: &str) -> ApiError {
    ApiError::new(Code::NoSuchSource, format!("no source at {}: {why}", directory.display()))
}

/// What git's refusal of a directory means.
fn refusal(directory: &Path, error: git_cli::Error) -> ApiError {
    let git_cli::Error::Failed { code: Some(128), message, .. } = &error else {
        return error.into();
    };
    match git_cli::locate(directory) {
        Located::Nothing => ApiError::new(
            Code::NotARepository,
            format!("{} is in no git repository", directory.display()),
        )
        .with_hint("name a directory of one with --source"),
        Located::Repository { path, owner } => {
            let user = fs_sys::process::effective_user();
            if owner != user {
                return ApiError::new(
                    Code::AnotherOwner,
                    format!(
                        "{} belongs to user {owner}, not to {user}; git refuses it",
                        path.display()
                    ),
                )
                .with_hint(
                    "run as its owner, or trust it with git config --global --add safe.directory",
                );
            }
            let text = format!("git refuses the repository {}: {message}", path.display());
            ApiError::new(Code::UnsupportedRepository, text)
        }
    }
}
