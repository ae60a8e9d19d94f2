//! What trees are made from: a checkout of a git repository, or a plain directory.

use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, FileSystem, Kind, Time};
use git_cli::{Config, Git, Located, Opened, Repository, Said};
use pool_db::{Registry, RepositoryIdentity, State, Worktree as Row};

use crate::api::{ApiError, Code};
use crate::{backing, identity};

/// What trees are made from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A checkout of a git repository.
    Checkout(Box<Checkout>),
    /// A directory without one.
    Plain(PlainDirectory),
}

/// A checkout with its repository.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Root of its working tree, links resolved; of a bare repository, which has none, the repository.
    pub(crate) root: PathBuf,
    pub(crate) repository: Repository,
    pub(crate) identity: RepositoryIdentity,
    pub(crate) config: Config,
    /// The row of the overlay that it is, if it is one of ours.
    pub(crate) overlay: Option<Row>,
    /// What git said of it, if it was asked just now.
    said: Option<Said>,
}

impl Checkout {
    fn new(opened: Opened, registry: Option<&Registry>) -> Result<Self, ApiError> {
        let Opened { repository, config, said } = opened;
        let root = repository.work_tree.clone().unwrap_or_else(|| repository.common_dir.clone());
        let identity = identity::of(&repository.common_dir)?;
        let overlay = registry.map(|registry| overlay_at(registry, &root)).transpose()?.flatten();
        Ok(Self { root, repository, identity, config, overlay, said })
    }

    /// Has what git said remembered. If that cannot be, git is asked again the next time.
    pub(crate) fn remember(&self, git: &Git, now: Time) {
        let Some(said) = &self.said else { return };
        if let Err(error) = git.remember(said, now) {
            tracing::debug!(%error, "what git said is not remembered");
        }
    }

    /// Whether it has no files to give, only commits.
    pub(crate) fn is_bare(&self) -> bool {
        self.repository.work_tree.is_none()
    }

    /// Whether only a part of each commit is checked out.
    pub(crate) fn is_sparse(&self) -> bool {
        self.config.flag("core.sparsecheckout") == Some(true)
    }

    /// The tree whose attributes count instead of those of any working tree, where there is one.
    pub(crate) fn attribute_tree(&self) -> Option<&[u8]> {
        self.config.value("attr.tree")
    }

    /// Whether worktrees have configuration of their own, which git knows how to hand on.
    pub(crate) fn has_worktree_config(&self) -> bool {
        self.config.flag("extensions.worktreeconfig") == Some(true)
    }
}

/// A directory without a repository.
#[derive(Debug)]
pub(crate) struct PlainDirectory {
    /// Where it is, links resolved.
    pub(crate) root: PathBuf,
    /// What its trees belong to: itself, or, if it is a tree of ours, what that was made from.
    pub(crate) origin: pool_db::Repository,
}

impl Source {
    /// What `directory` is in. A copy of ours is recognised by its row: above it there may be a
    /// repository that has nothing to do with it.
    pub(crate) fn open(
        git: &Git,
        registry: Option<&Registry>,
        directory: &Path,
    ) -> Result<Self, ApiError> {
        let copy = registry.map(|registry| plain_tree(registry, directory)).transpose()?;
        if let Some(row) = copy.flatten() {
            return Ok(Self::Plain(PlainDirectory { root: row.path, origin: row.repository }));
        }
        match open_by(directory, |directory| git.open(directory)) {
            Ok(opened) => Ok(Self::Checkout(Box::new(Checkout::new(opened, registry)?))),
            Err(error) if error.code == Code::NotARepository => {
                let root = fs_sys::canonicalize(directory)?;
                let identity = identity::of(&root)?;
                let origin = pool_db::Repository { common_dir: root.clone(), identity };
                Ok(Self::Plain(PlainDirectory { root, origin }))
            }
            Err(error) => Err(error),
        }
    }

    /// Root of its files.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Checkout(checkout) => &checkout.root,
            Self::Plain(directory) => &directory.root,
        }
    }

    /// What tells it apart from any other.
    pub(crate) fn identity(&self) -> RepositoryIdentity {
        match self {
            Self::Checkout(checkout) => checkout.identity,
            Self::Plain(directory) => directory.origin.identity,
        }
    }

    /// The directory that has this identity: the repository's, or the plain directory.
    pub(crate) fn common_dir(&self) -> &Path {
        match self {
            Self::Checkout(checkout) => &checkout.repository.common_dir,
            Self::Plain(directory) => &directory.origin.common_dir,
        }
    }

    /// The store that its files are in, if it is an overlay of ours: what is mounted tells no file system.
    pub(crate) fn store(&self) -> Option<PathBuf> {
        match self {
            Self::Checkout(checkout) => checkout.overlay.as_ref().and_then(backing::store),
            Self::Plain(_) => None,
        }
    }

    /// The directories in which nothing of ours may be.
    pub(crate) fn own_directories(&self) -> Vec<&Path> {
        match self {
            Self::Checkout(checkout) => {
                let Checkout { root, repository, .. } = &**checkout;
                vec![root, &repository.git_dir, &repository.common_dir]
            }
            Self::Plain(directory) => vec![&directory.root],
        }
    }
}

/// The overlay of ours that is mounted at `root`.
fn overlay_at(registry: &Registry, root: &Path) -> Result<Option<Row>, ApiError> {
    if FileSystem::of(&fs_sys::open_dir(root)?)? != FileSystem::Overlay {
        return Ok(None);
    }
    let found = registry.find_by_path_containing(root)?;
    Ok(found.filter(|row| row.path == root && row.state == State::Held && backing::is_overlay(row)))
}

/// The tree without a repository that `directory` is in.
fn plain_tree(registry: &Registry, directory: &Path) -> Result<Option<Row>, ApiError> {
    let Ok(resolved) = fs_sys::canonicalize(directory) else { return Ok(None) };
    let found = registry.find_by_path_containing(&resolved)?;
    Ok(found.filter(|row| row.is_plain() && row.state == State::Held))
}

/// The repository of `directory`, or why there is none.
pub(crate) fn open_repository(git: &Git, directory: &Path) -> Result<Repository, ApiError> {
    open_by(directory, |directory| git.repository(directory))
}

fn open_by<T>(
    directory: &Path,
    open: impl FnOnce(&Path) -> git_cli::Result<T>,
) -> Result<T, ApiError> {
    match fs_sys::stat_following(directory) {
        Ok(stat) if stat.kind == Kind::Directory => {}
        Ok(_) => return Err(no_such_source(directory, "it is not a directory")),
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(no_such_source(directory, "there is nothing"));
        }
        Err(error) => return Err(error.into()),
    }
    open(directory).map_err(|error| refusal(directory, error))
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
