//! Why a backend was passed over: one table of stable names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a backend cannot make this tree here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
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
            Self::NoReflink => "no-reflink",
            Self::CrossFilesystem => "cross-filesystem",
            Self::OnlyCommits => "only-commits",
            Self::SparseCheckout => "sparse-checkout",
        }
    }
}
