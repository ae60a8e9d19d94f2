//! fast-worktree
