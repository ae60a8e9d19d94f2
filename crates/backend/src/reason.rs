//! Why a backend was passed over: one table of stable names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a backend cannot make this tree here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// It makes trees over sealed ones only, and this one's parent is not sealed.
    NoSealedParent,
    /// The kernel has no overlayfs, or not what a tree needs of it, on this file system.
    NoOverlay,
    /// The store is on an overlay itself, which cannot hold the upper layer of another.
    NestedOverlay,
    /// Mounting takes `CAP_SYS_ADMIN`.
    NoCapability,
    /// What is mounted here would be seen by this process and its children only.
    PrivateMountNamespace,
    /// The store is on a network file system.
    Network,
    /// The store is on a FUSE file system.
    Fuse,
    /// The store is not on btrfs.
    NotBtrfs,
    /// The store is on btrfs, and no subvolume can be made or snapshotted there.
    NoSubvolumes,
    /// The file system has no reflinks.
    NoReflink,
    /// Source and destination are on two file systems, which cannot share bytes.
    CrossFilesystem,
    /// Plain git checks out a commit, and cannot bring along what is not in one.
    OnlyCommits,
    /// The source's sparse checkout has no patterns for this other revision; git applies them.
    SparseCheckout,
}

impl Reason {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSealedParent => "no-sealed-parent",
            Self::NoOverlay => "no-overlay",
            Self::NestedOverlay => "nested-overlay",
            Self::NoCapability => "no-capability",
            Self::PrivateMountNamespace => "private-mount-namespace",
            Self::Network => "network",
            Self::Fuse => "fuse",
            Self::NotBtrfs => "not-btrfs",
            Self::NoSubvolumes => "no-subvolumes",
            Self::NoReflink => "no-reflink",
            Self::CrossFilesystem => "cross-filesystem",
            Self::OnlyCommits => "only-commits",
            Self::SparseCheckout => "sparse-checkout",
        }
    }
}
