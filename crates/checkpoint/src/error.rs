//! Why a checkpoint cannot be taken or read.

use std::path::PathBuf;

use crate::store::ContentId;
use crate::turn::TurnKey;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a checkpoint cannot be taken or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error(transparent)]
    Fs(#[from] fs_sys::Error),
    /// The store has no such content. This is never the same as a file that was absent.
    #[error("the content {0} is missing from the store")]
    Missing(ContentId),
    /// What is stored is not what was put in.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file of the store.
        path: PathBuf,
    },
    /// A newer fwt wrote it.
    #[error("{} is of a format that this fwt does not know", path.display())]
    UnknownFormat {
        /// The file that says so.
        path: PathBuf,
    },
    /// Another process has the lock and does not give it up.
    #[error("another process works on {}", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// No turn of this session goes by the number.
    #[error("{0} has not begun")]
    NoSuchTurn(TurnKey),
    /// The session has no open turn.
    #[error("{}", no_open_turn(.0))]
    NoOpenTurn(String),
    /// The bytes of the checkpoint were given up to keep within a budget.
    #[error("the checkpoint of {0} was given up to keep within the budget")]
    Expired(TurnKey),
    /// The checkpoint could not be taken, and stands for nothing.
    #[error("the checkpoint of {0} failed when it was taken")]
    Failed(TurnKey),
    /// The kernel gives no random numbers.
    #[error("no random numbers")]
    Random(#[source] getrandom::Error),
}

fn no_open_turn(session: &str) -> String {
    if session.is_empty() {
        return "no prompt has begun, or its end was recorded".to_owned();
    }
    format!("no prompt of the session {session} has begun, or its end was recorded")
}
