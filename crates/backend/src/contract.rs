//! The contract that every backend keeps, and the words it is written in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use copy_engine::{Cancel, Filter, Gate, Listed, Manifest, Progress, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::active::{Active, Sealed};
use crate::{Changes, Error, Reason, Unfinished, capture};

/// What leads from a worktree to its repository: each tree has its own, and none is ever sealed.
pub const GIT: &str = ".git";

/// A way to make an active tree.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A writable layer is mounted over sealed ones.
    Overlay,
    /// A snapshot of a sealed subvolume.
    Btrfs,
    /// Every file shares its bytes with the source.
    Reflink,
    /// Every file is copied.
    Copy,
    /// Plain git writes every file: the chain's last rung, which always works.
    Checkout,
}

impl Kind {
    /// Those that make a tree from a source as it is, in the order of the chain.
    pub const ALL: [Self; 3] = [Self::Reflink, Self::Copy, Self::Checkout];

    /// Those that make a tree over a sealed one only, which come before [`Self::ALL`] in the chain.
    pub const OVER_SEALED: [Self; 2] = [Self::Overlay, Self::Btrfs];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Btrfs => "btrfs",
            Self::Reflink => "reflink",
            Self::Copy => "copy",
            Self::Checkout => "checkout",
        }
    }

    /// Whether a tree made this way shares its bytes until one side writes.
    pub fn shares_bytes(self) -> bool {
        match self {
            Self::Overlay | Self::Btrfs | Self::Reflink => true,
            Self::Copy | Self::Checkout => false,
        }
    }

    /// Whether its trees stand on a sealed one, which must stay as long as they do.
    pub fn needs_sealed_parent(self) -> bool {
        Self::OVER_SEALED.contains(&self)
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
    /// A sealed tree.
    Sealed {
        /// Which.
        sealed: &'a Sealed,
        /// A directory for what the tree has besides its files, in the same store as the sealed tree;
        /// it must not exist. Overlays alone need it.
        private: &'a Path,
    },
    /// Another tree as it is now, but for its [`GIT`]: the new one stands on what that stands on, and gets a
    /// copy of what was written to it.
    Active {
        /// Which.
        active: &'a Active,
        /// As of a sealed parent.
        private: &'a Path,
        /// What does not come along, with all that is below it. What the parent itself stands on shows there.
        left_out: &'a BTreeSet<PathBuf>,
    },
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
            Self::Sealed { sealed, private } => formatter
                .debug_struct("Sealed")
                .field("sealed", sealed)
                .field("private", private)
                .finish(),
            Self::Active { active, private, left_out } => formatter
                .debug_struct("Active")
                .field("active", active)
                .field("private", private)
                .field("left_out", left_out)
                .finish(),
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
    /// Nothing: all of it is the parent's.
    Shared,
    /// What became of a manifest's entries.
    Listed(Listed),
    /// What a filter admitted.
    Carried(Tree),
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

    /// Begins the tree over a sealed one or from another tree at `dest`, under the same conditions. What it is
    /// to differ in is written before anybody can reach it. A parent that keeps being written to is a failure
    /// ([`copy_engine::Error::KeepsChanging`]).
    fn begin(
        &self,
        _parent: &Parent<'_>,
        _dest: &Path,
        _progress: &Progress,
        _cancel: &Cancel,
    ) -> Result<Unfinished, Error> {
        Err(Error::WrongParent(self.kind()))
    }

    /// Makes the tree reachable again after a reboot. Idempotent.
    fn attach(&self, active: &Active) -> Result<(), Error>;

    /// What differs from the tree it was made from; `None` where this backend cannot tell without
    /// comparing everything. The tree must be attached.
    fn changed(&self, _active: &Active) -> Result<Option<Changes>, Error> {
        Ok(None)
    }

    /// Seals the tree's state as it is now at `dest`, which must not exist; its parent does. All but the
    /// tree's own [`GIT`]. The active tree stays as it is, and what is written to it later is not in what
    /// was sealed. On failure nothing is left; a tree that keeps being written to is a failure
    /// ([`copy_engine::Error::KeepsChanging`]).
    fn commit(
        &self,
        active: &Active,
        dest: &Path,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Sealed, Error>;

    /// Removes what [`Backend::commit`] made at `dest`, or left there and beside it when its process was
    /// killed. Already gone is success. Whether a tree still stands on it is the caller's to know.
    fn discard(&self, dest: &Path) -> Result<(), Error> {
        for path in [capture::part_of(dest), dest.to_owned()] {
            fs_sys::remove_tree(&path)?;
        }
        Ok(())
    }

    /// Removes the tree. One that is already gone is a success, and so is a half-made one; one that is
    /// in use stays ([`Error::InUse`]).
    fn remove(&self, active: &Active) -> Result<(), Error>;
}
