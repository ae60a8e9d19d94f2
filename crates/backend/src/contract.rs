//! The contract that every backend keeps, and the words it is written in.

use std::path::{Path, PathBuf};

use copy_engine::{Cancel, Filter, Gate, Listed, Manifest, Progress, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reason;

/// A way to make an active tree.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Every file shares its bytes with the source.
    Reflink,
    /// Every file is copied.
    Copy,
    /// Plain git writes every file: the chain's last rung, which always works.
    Checkout,
}

impl Kind {
    /// All, in the order of the chain.
    pub const ALL: [Self; 3] = [Self::Reflink, Self::Copy, Self::Checkout];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reflink => "reflink",
            Self::Copy => "copy",
            Self::Checkout => "checkout",
        }
    }

    /// Whether a tree made this way shares its bytes until one side writes.
    pub fn shares_bytes(self) -> bool {
        match self {
            Self::Reflink => true,
            Self::Copy | Self::Checkout => false,
        }
    }
}

/// Where a tree would come from and go to.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// A private directory beside the destination, for scratch files.
    pub dest: &'a Path,
    /// A regular file of the source with bytes in it, if there is one: cloning it is the proof that
    /// the two places can share.
    pub sample: Option<&'a Path>,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It works here.
    Yes,
    /// It cannot here.
    No {
        /// Why, by its stable name.
        reason: Reason,
        /// Why, in words.
        detail: String,
    },
}

/// What an active tree is made from.
#[derive(Clone, Copy)]
pub enum Parent<'a> {
    /// Entries of a source that the manifest lists and the gate admits.
    Source {
        /// Root of the source.
        root: &'a Path,
        /// Which entries.
        manifest: &'a Manifest<'a>,
        /// Asked at each open file.
        gate: &'a dyn Gate,
    },
    /// A source as it is now: all that the filter admits.
    Carried {
        /// Root of the source.
        root: &'a Path,
        /// Asked for each entry.
        filter: &'a dyn Filter,
    },
}

impl std::fmt::Debug for Parent<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Source { root, manifest, .. } => formatter
                .debug_struct("Source")
                .field("root", root)
                .field("entries", &manifest.len())
                .finish_non_exhaustive(),
            Self::Carried { root, .. } => {
                formatter.debug_struct("Carried").field("root", root).finish_non_exhaustive()
            }
        }
    }
}

/// A tree that a backend made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// Who made it.
    pub kind: Kind,
    /// Where it is.
    pub path: PathBuf,
}

/// A tree, and what is known of its files.
#[derive(Debug)]
pub struct Prepared {
    /// The tree.
    pub active: Active,
    /// What is in it.
    pub content: Content,
}

/// What a backend put into a tree.
#[derive(Debug)]
pub enum Content {
    /// What became of a manifest's entries.
    Listed(Listed),
    /// What a filter admitted.
    Carried(Tree),
}

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
}

/// A way to make an active tree.
pub trait Backend: Sync {
    /// Its name.
    fn kind(&self) -> Kind;

    /// Whether it works at `site`, found out by doing it on scratch files. Leaves nothing behind.
    fn probe(&self, site: &Site<'_>) -> Support;

    /// Makes the tree at `dest`, which must not exist; its parent does. On failure nothing is left.
    fn prepare(
        &self,
        parent: &Parent<'_>,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Prepared, Error>;

    /// Makes the tree reachable again after a reboot. Idempotent.
    fn attach(&self, active: &Active) -> Result<(), Error>;

    /// Removes the tree. One that is already gone is a success.
    fn remove(&self, active: &Active) -> Result<(), Error>;
}
