//! The tree's git side: its admin directory or its own repository, and its place.

use std::path::Path;

use git_cli::{Admin, AdminFiles, Context, WorktreeAdd};
use pool_db::{State, marker};

use super::make::Order;
use super::making::Making;
use super::start;
use crate::api::{ApiError, Code, Mode};
use crate::backing::{MOUNTED_REASON, is_overlay};
use crate::chain::Rung;
use crate::dispose::branch_message;
use crate::service::Service;

/// Why a tree is locked for git while it is made.
const MAKING_REASON: &str = "fwt is making this worktree";

impl Service {
    /// Makes what git keeps for the tree: a repository of its own, or an admin directory. That is
    /// made by us where its files are all there is to it, else through git, which knows what
    /// reftables, per-worktree configuration or sparse patterns need. `repository` is where one of the
    /// tree's own is made.
    pub(crate) fn register(
        &self,
        order: &Order<'_>,
        rung: Rung,
        making: &mut Making<'_>,
        repository: &Path,
    ) -> Result<Admin, ApiError> {
        let Order { rules, source, start, .. } = order;
        if rules.request.mode == Mode::Standalone {
            return self.make_repository(order, repository);
        }
        let (tree, id) = (making.hidden_tree(), making.row().id.to_string());
        let admin = Admin::existing(&source.repository, &id);
        making.row().admin_dir = Some(admin.path.clone());
        making.save()?;
        if !rung.kind().needs_sealed_parent() {
            // Where nothing is sealed yet, nobody has read the commit so far.
            start.tree(&self.git, source)?;
        }
        let is_git_needed = source.repository.uses_reftable()
            || source.has_worktree_config()
            || source.is_sparse() && matches!(rung, Rung::Checkout);
        if !is_git_needed {
            let files = AdminFiles { lock_reason: MAKING_REASON, commit: start.commit };
            return Ok(Admin::create(&source.repository, &id, &files)?);
        }
        let add = WorktreeAdd { path: &tree, commit: start.commit, lock_reason: MAKING_REASON };
        self.git.add_worktree(&source.repository, &add)?;
        // Whoever fills the tree makes its directory, and it gets its `.git` at the end.
        fs_sys::remove_file(&tree.join(".git"))?;
        fs_sys::remove_dir(&tree)?;
        Ok(admin)
    }

    fn make_repository(&self, order: &Order<'_>, git_dir: &Path) -> Result<Admin, ApiError> {
        let Order { source, start, .. } = order;
        if source.repository.uses_reftable() {
            let text = format!("{} keeps its refs in reftables", source.root.display());
            return Err(ApiError::new(Code::UnsupportedRepository, text)
                .with_hint("a linked worktree of it can be made: --mode linked"));
        }
        let commit = start.commit;
        let (repository, config) = (&source.repository, &source.config);
        let admin = self.git.make_standalone(repository, config, git_dir, commit)?;
        self.copy_objects(&source.repository.common_dir.join("objects"), &git_dir.join("objects"))?;
        Ok(admin)
    }

    /// Puts the tree at its place and registers it there.
    pub(crate) fn publish(
        &self,
        order: &Order<'_>,
        admin: &Admin,
        making: &mut Making<'_>,
    ) -> Result<(), ApiError> {
        if let Some(branch) = &order.start.branch {
            let tree = making.tree();
            let context = Context::Explicit { git_dir: &admin.path, work_tree: &tree, index: None };
            // First the row, so that a branch is never left that no row names.
            making.row().branch = Some(branch.clone());
            making.save()?;
            let message = branch_message(making.row());
            self.git
                .create_branch(context, branch, order.start.commit, &message)
                .map_err(|error| self.explain_branch(error, order, context, branch))?;
            self.git.attach_head(context, branch)?;
        }
        let row = making.row();
        row.state = State::Held;
        marker::create(&admin.path.join(marker::FILE_NAME), row)?;
        row.state = State::Making;
        let git_entry = making.tree().join(".git");
        match order.rules.request.mode {
            Mode::Standalone if admin.path == git_entry => {}
            Mode::Standalone => fs_sys::rename_noreplace(&admin.path, &git_entry)?,
            Mode::Linked => {
                fs_sys::write_new(&git_entry, &admin.git_file(), fs_sys::Mode(0o666))?;
            }
        }
        making.publish()?;
        let path = making.row().path.clone();
        if order.rules.request.mode == Mode::Linked {
            admin.set_tree(&path)?;
        }
        self.require_top_level(order, admin, &path)?;
        match order.rules.request.mode {
            Mode::Linked if is_overlay(making.row()) => Ok(admin.change_lock(MOUNTED_REASON)?),
            Mode::Linked => Ok(admin.unlock(MAKING_REASON)?),
            Mode::Standalone => Ok(()),
        }
    }

    /// An error if git, in the tree, would take another directory for its top.
    fn require_top_level(
        &self,
        order: &Order<'_>,
        admin: &Admin,
        tree: &Path,
    ) -> Result<(), ApiError> {
        let source = order.source;
        // Configuration of the worktree's own can put its top somewhere else.
        if order.rules.request.mode == Mode::Linked
            && !source.has_worktree_config()
            && source.repository.is_found_from(tree, admin)
        {
            return Ok(());
        }
        let top_level = self.git.top_level(tree)?;
        if fs_sys::canonicalize(&top_level)? == fs_sys::canonicalize(tree)? {
            return Ok(());
        }
        let text = format!("git takes {} for {}", tree.display(), top_level.display());
        Err(ApiError::new(Code::GitFailed, text))
    }

    /// Why git could not make a branch: somebody else may have been quicker, or hold a lock.
    fn explain_branch(
        &self,
        error: git_cli::Error,
        order: &Order<'_>,
        context: Context<'_>,
        branch: &str,
    ) -> ApiError {
        if let Err(taken) = start::require_free(&self.git, context, branch) {
            return taken;
        }
        let common_dir = &order.source.repository.common_dir;
        let own = format!("refs/heads/{branch}.lock");
        let locks = [&*own, "reftable/tables.list.lock"].map(|lock| common_dir.join(lock));
        match locks.iter().find(|lock| fs_sys::exists(lock).unwrap_or(false)) {
            None => error.into(),
            Some(lock) => {
                let text =
                    format!("{} is held, so git cannot make the branch {branch}", lock.display());
                ApiError::new(Code::LockHeld, text)
                    .with_hint("try again; if no git is at work there any more, remove the file")
            }
        }
    }
}
