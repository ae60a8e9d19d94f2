//! The commit a tree starts at, and the branch it is to be on.

use std::cell::OnceCell;

use git_cli::object::ObjectId;
use git_cli::{Context, Git, Revision};

use crate::api::{ApiError, Base, Carry, Code, CreateRequest, Fetch, Mode};
use crate::source::Checkout;

/// Where a tree starts.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) commit: ObjectId,
    /// Its tree, once that was asked for.
    tree: OnceCell<ObjectId>,
    pub(crate) base: Base,
    pub(crate) branch: Option<String>,
}

impl Start {
    /// The commit's tree; an error if there is no such commit.
    pub(crate) fn tree(&self, git: &Git, source: &Checkout) -> Result<ObjectId, ApiError> {
        if let Some(tree) = self.tree.get() {
            return Ok(*tree);
        }
        let Some(revision) = git.revision(&source.repository, &self.base.commit)? else {
            return Err(no_such_revision(git, source, &self.base.rev)?);
        };
        Ok(*self.tree.get_or_init(|| revision.tree))
    }
}

/// Resolves the request's revision and checks its branch.
pub(crate) fn resolve(
    git: &Git,
    source: &Checkout,
    request: &CreateRequest,
) -> Result<Start, ApiError> {
    if source.is_bare() && request.carry != Carry::Clean {
        let text = format!("{} is bare and has no files to carry", source.root.display());
        return Err(ApiError::new(Code::BadRequest, text).with_hint("carry clean"));
    }
    let rev = request.rev.as_deref().unwrap_or("HEAD");
    if rev.is_empty() || rev.starts_with('-') || rev.contains(['\n', '\0']) {
        return Err(ApiError::new(Code::NoSuchRevision, format!("{rev:?} is no revision")));
    }
    if request.fetch == Fetch::First {
        git.fetch_all(source.repository.context())?;
    }
    let (commit, tree) = resolve_commit(git, source, rev)?;
    // HEAD is what it is, also while somebody commits.
    if request.carry != Carry::Clean
        && rev != "HEAD"
        && git.revision(&source.repository, "HEAD")?.map(|head| head.commit) != Some(commit)
    {
        let text = format!("the source is not at {rev}, so its state cannot be carried to there");
        return Err(
            ApiError::new(Code::BadRequest, text).with_hint("leave --rev away, or carry clean")
        );
    }
    let from = if rev == "HEAD" {
        "head"
    } else {
        match git.full_name(&source.repository, rev)? {
            Some(name) if name.starts_with("refs/remotes/") => match request.fetch {
                Fetch::First => "fetched",
                Fetch::Never => "remote-tracking-ref",
            },
            Some(_) => "local-ref",
            None => "commit",
        }
    };
    if let Some(branch) = &request.branch {
        check_branch(git, source, branch)?;
        if request.mode == Mode::Linked {
            require_nobody_on(git, source, branch)?;
        }
    }
    let base = Base { rev: rev.to_owned(), commit: commit.to_string(), from: from.to_owned() };
    Ok(Start { commit, tree, base, branch: request.branch.clone() })
}

/// The commit of a revision, and its tree if that took reading it: HEAD is known without.
fn resolve_commit(
    git: &Git,
    source: &Checkout,
    rev: &str,
) -> Result<(ObjectId, OnceCell<ObjectId>), ApiError> {
    if rev == "HEAD"
        && let Some(commit) = source.repository.head_commit()
    {
        return Ok((commit, OnceCell::new()));
    }
    match git.revision(&source.repository, rev)? {
        Some(Revision { commit, tree }) => Ok((commit, OnceCell::from(tree))),
        None => Err(no_such_revision(git, source, rev)?),
    }
}

fn no_such_revision(git: &Git, source: &Checkout, rev: &str) -> Result<ApiError, ApiError> {
    let root = source.root.display();
    if rev == "HEAD" || git.revision(&source.repository, "HEAD")?.is_none() && rev == "@" {
        let text = format!("{root} has no commit yet, so there is nothing to start at");
        return Ok(ApiError::new(Code::UnbornHead, text).with_hint("make a first commit"));
    }
    let text = format!("{rev:?} names no commit in {root}");
    Ok(ApiError::new(Code::NoSuchRevision, text)
        .with_hint("fwt does not fetch: git fetch brings what is only on a remote"))
}

fn check_branch(git: &Git, source: &Checkout, branch: &str) -> Result<(), ApiError> {
    let context = source.repository.context();
    if branch.starts_with('-') || !git.is_branch_name(context, branch)? {
        return Err(ApiError::new(Code::BadName, format!("git takes no branch named {branch:?}")));
    }
    require_free(git, context, branch)
}

/// An error if a worktree is on the branch already. It exists then, unless that worktree has no commit
/// yet: it would have one all at once.
fn require_nobody_on(git: &Git, source: &Checkout, branch: &str) -> Result<(), ApiError> {
    match git.worktree_on(source.repository.context(), branch)? {
        None => Ok(()),
        Some(path) => {
            let text = format!("the worktree at {} is on the branch {branch}", path.display());
            Err(ApiError::new(Code::BranchExists, text).with_hint("choose another name"))
        }
    }
}

/// An error if there can be no new branch of this name.
pub(crate) fn require_free(git: &Git, context: Context<'_>, branch: &str) -> Result<(), ApiError> {
    let text = match git.branch_in_the_way(context, branch)? {
        None => return Ok(()),
        Some(found) if found == branch => format!("the branch {branch} exists already"),
        Some(found) => format!("there can be no branch {branch} beside the branch {found}"),
    };
    Err(ApiError::new(Code::BranchExists, text)
        .with_hint("choose another name, or start at it with --rev"))
}
