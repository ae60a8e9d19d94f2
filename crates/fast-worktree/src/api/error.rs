//! Why a request failed: a stable code, a message for people, and what to do next.

use git_cli::Shortage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Which kind of failure.
    pub code: Code,
    /// What happened, to what, and why.
    pub message: String,
    /// What to do next.
    pub hints: Vec<String>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $exit:literal,)+) => {
        /// Kinds of failure, by stable names.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $variant,)+
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The exit code of the command line.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)+ }
            }
        }
    };
}

codes! {
    /// Something failed that has no code of its own.
    Failed "failed" 1,
    /// git failed.
    GitFailed "git-failed" 1,
    /// The registry cannot be read or written.
    Registry "registry" 1,
    /// The store of checkpoints is damaged, or of another version.
    StoreDamaged "store-damaged" 1,
    /// A tracked file never held still.
    KeepsChanging "keeps-changing" 1,
    /// A command that was to run in the tree failed.
    HookFailed "hook-failed" 1,
    /// A name that cannot be one.
    BadName "bad-name" 2,
    /// Flags that exclude each other.
    BadRequest "bad-request" 2,
    /// A configuration file that cannot be meant.
    BadConfig "bad-config" 2,
    /// The destination is inside the source or its repository.
    DestinationInsideSource "destination-inside-source" 2,
    /// No such directory.
    NoSuchSource "no-such-source" 3,
    /// The directory belongs to no repository.
    NotARepository "not-a-repository" 3,
    /// No such revision.
    NoSuchRevision "no-such-revision" 3,
    /// No such worktree.
    NoSuchWorktree "no-such-worktree" 3,
    /// More than one worktree goes by this name.
    AmbiguousWorktree "ambiguous-worktree" 3,
    /// No checkpoint of that prompt, or none that can be used.
    NoSuchCheckpoint "no-such-checkpoint" 3,
    /// Something is at the destination.
    DestinationExists "destination-exists" 4,
    /// A worktree of this repository has the name.
    NameTaken "name-taken" 4,
    /// The branch exists.
    BranchExists "branch-exists" 4,
    /// A lock is held.
    LockHeld "lock-held" 4,
    /// The worktree holds work that is nowhere else.
    UnsavedWork "unsaved-work" 4,
    /// A merge, rebase or the like is under way in the worktree.
    OperationInProgress "operation-in-progress" 4,
    /// git has the worktree locked for a reason that is not ours.
    LockedByGit "locked-by-git" 4,
    /// The worktree is in another state than the request needs.
    WrongState "wrong-state" 4,
    /// What is at the worktree's path is not what fwt made.
    NotOurs "not-ours" 4,
    /// A process works in the worktree, or has a file of it open.
    InUse "in-use" 4,
    /// Somebody holds the worktree by a lease.
    Leased "leased" 4,
    /// What was presented is not the worktree's lease, or no longer.
    StaleLease "stale-lease" 4,
    /// Something is mounted inside the worktree.
    MountInside "mount-inside" 4,
    /// No backend that was allowed works here.
    BackendUnavailable "backend-unavailable" 5,
    /// Another user owns the source, and git refuses it.
    AnotherOwner "another-owner" 5,
    /// A kind of repository that cannot be a source.
    UnsupportedRepository "unsupported-repository" 5,
    /// The repository has no commit yet.
    UnbornHead "unborn-head" 5,
    /// Not allowed by permissions.
    PermissionDenied "permission-denied" 5,
    /// Mounted read-only.
    ReadOnly "read-only" 5,
    /// No space, inodes or quota left.
    NoSpace "no-space" 6,
    /// No file descriptors left.
    TooManyOpen "too-many-open" 6,
    /// Stopped by the caller, after cleaning up.
    Interrupted "interrupted" 130,
}

impl ApiError {
    /// A failure without hints.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

const SPACE_HINT: &str = "free some space, or choose another place with --at";
const DESCRIPTORS_HINT: &str = "raise the limit of open files (ulimit -n)";

/// An error and its causes in one line: `cannot open X: permission denied`.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl From<fs_sys::Error> for ApiError {
    fn from(error: fs_sys::Error) -> Self {
        use fs_sys::ErrorKind;
        let code = if error.kind == ErrorKind::NoSpace {
            Code::NoSpace
        } else if error.kind == ErrorKind::TooManyOpen {
            Code::TooManyOpen
        } else if error.kind == ErrorKind::ReadOnly {
            Code::ReadOnly
        } else if error.kind == ErrorKind::Denied {
            Code::PermissionDenied
        } else {
            Code::Failed
        };
        let api = Self::new(code, chain(&error));
        if code == Code::NoSpace {
            api.with_hint(SPACE_HINT)
        } else if code == Code::TooManyOpen {
            api.with_hint(DESCRIPTORS_HINT)
        } else if code == Code::ReadOnly {
            api.with_hint("choose another place with --at")
        } else {
            api
        }
    }
}

impl From<copy_engine::Error> for ApiError {
    fn from(error: copy_engine::Error) -> Self {
        if let copy_engine::Error::Fs(error) = error {
            return error.into();
        }
        if matches!(error, copy_engine::Error::Cancelled) {
            return Self::new(Code::Interrupted, "interrupted");
        }
        Self::new(Code::KeepsChanging, chain(&error))
    }
}

impl From<checkpoint::Error> for ApiError {
    fn from(error: checkpoint::Error) -> Self {
        use checkpoint::Error;
        let code = match error {
            Error::Fs(error) => return error.into(),
            Error::Missing(_) | Error::Damaged { .. } | Error::UnknownFormat { .. } => {
                Code::StoreDamaged
            }
            Error::Busy { .. } => Code::LockHeld,
            Error::NoSuchTurn(_) | Error::NoOpenTurn(_) | Error::Expired(_) | Error::Failed(_) => {
                Code::NoSuchCheckpoint
            }
            Error::Random(_) => Code::Failed,
        };
        let is_unknown = code == Code::NoSuchCheckpoint;
        let api = Self::new(code, chain(&error));
        if is_unknown { api.with_hint("fwt checkpoint list names them") } else { api }
    }
}

impl From<backend::Error> for ApiError {
    fn from(error: backend::Error) -> Self {
        let code = match error {
            backend::Error::Copy(error) => return error.into(),
            backend::Error::Fs(error) => return error.into(),
            backend::Error::InUse { .. } => Code::InUse,
            backend::Error::ForeignMount { .. } => Code::NotOurs,
            backend::Error::WrongParent(_)
            | backend::Error::WrongTree { .. }
            | backend::Error::NotAttached { .. }
            | backend::Error::NotSealable { .. }
            | _ => Code::Failed,
        };
        Self::new(code, chain(&error))
    }
}

impl From<git_cli::Error> for ApiError {
    fn from(error: git_cli::Error) -> Self {
        if let git_cli::Error::Fs(error) = error {
            return error.into();
        }
        let text = chain(&error);
        match (error.shortage(), &error) {
            (Some(Shortage::Space), _) => Self::new(Code::NoSpace, text).with_hint(SPACE_HINT),
            (Some(Shortage::Descriptors), _) => {
                Self::new(Code::TooManyOpen, text).with_hint(DESCRIPTORS_HINT)
            }
            (None, git_cli::Error::Start { .. }) => Self::new(Code::GitFailed, text)
                .with_hint("fwt needs git in the search path (PATH)"),
            (None, _) => Self::new(Code::GitFailed, text),
        }
    }
}

impl From<pool_db::Error> for ApiError {
    fn from(error: pool_db::Error) -> Self {
        use pool_db::Error;
        if let Error::Files(error) = error {
            return error.into();
        }
        let code = match &error {
            Error::Files(_)
            | Error::Busy { .. }
            | Error::Corrupt { .. }
            | Error::Newer { .. }
            | Error::Older { .. }
            | Error::NotAllowed { .. }
            | Error::Random(_)
            | Error::Database { .. } => Code::Registry,
            Error::Full { .. } => Code::NoSpace,
            Error::ReadOnly { .. } => Code::ReadOnly,
            Error::NameTaken(_) => Code::NameTaken,
            Error::PathTaken(_) => Code::DestinationExists,
            Error::Moved { .. } => Code::WrongState,
            Error::Leased { .. } => Code::Leased,
            Error::StaleLease { .. } => Code::StaleLease,
            Error::NoSuchWorktree { .. } => Code::NoSuchWorktree,
        };
        let mut api = Self::new(code, chain(&error));
        if let Error::NameTaken(holder) = &error {
            api = api.with_hint(format!("it is at {}", holder.path.display()));
        }
        if let Error::Leased { expires_at, .. } = &error {
            let until = crate::row::rfc3339(*expires_at);
            api = api.with_hint(format!("its holder can release it; it expires at {until}"));
        }
        match error.hint() {
            Some(hint) => api.with_hint(hint),
            None => api,
        }
    }
}

impl From<pool_db::marker::Error> for ApiError {
    fn from(error: pool_db::marker::Error) -> Self {
        if let pool_db::marker::Error::Files(error) = error {
            return error.into();
        }
        Self::new(Code::Registry, chain(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_on_the_wire() {
        for code in Code::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("{:?}", code.name()));
        }
    }
}
