//! Why a backend fails.

use std::path::PathBuf;

use crate::Kind;

/// Why a backend failed after its probe said yes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Copying failed.
    #[error(transparent)]
    Copy(#[from] copy_engine::Error),
    /// Another call failed.
    #[error(transparent)]
    Fs(#[from] fs_sys::Error),
    /// This backend does not make trees from such a parent.
    #[error("{} makes no tree from this kind of parent", .0.name())]
    WrongParent(Kind),
    /// This backend did not make this tree.
    #[error("{} did not make the tree at {}", kind.name(), path.display())]
    WrongTree {
        /// The backend.
        kind: Kind,
        /// The tree.
        path: PathBuf,
    },
    /// A process works in the tree, or has a file of it open.
    #[error("{} is in use", path.display())]
    InUse {
        /// The tree.
        path: PathBuf,
    },
    /// The tree is not mounted.
    #[error("{} is not attached", path.display())]
    NotAttached {
        /// The tree.
        path: PathBuf,
    },
    /// Something that fwt did not put there is in the tree's place.
    #[error("something else is at {}", path.display())]
    ForeignMount {
        /// The place.
        path: PathBuf,
    },
    /// An entry that should be sealed may not be read, or is another mount.
    #[error("{} cannot be sealed", path.display())]
    NotSealable {
        /// The entry.
        path: PathBuf,
    },
}

/// Shorthand for results of this crate.
pub(crate) type Result<T> = std::result::Result<T, Error>;
