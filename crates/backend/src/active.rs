//! What must be known of a tree to find all of it again: in a row, after a crash or a reboot.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Kind, Parent, paths};

/// An image that never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// Its layers, the topmost first. Without overlays there is one: a directory, or a read-only subvolume.
    #[serde(with = "paths::list")]
    pub layers: Vec<PathBuf>,
}

/// A tree that a backend made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// Who made it.
    pub kind: Kind,
    /// Where it is.
    #[serde(with = "paths::one")]
    pub path: PathBuf,
    /// What an overlay is mounted from; [`Kind::Overlay`] alone has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<Stack>,
}

/// What an overlay is mounted from. The tree's own path is only the mount point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The sealed layers, the topmost first. Never another list once the tree was mounted.
    #[serde(with = "paths::list")]
    pub layers: Vec<PathBuf>,
    /// A private directory with what was written (`upper`) and the kernel's own room (`work`).
    #[serde(with = "paths::one")]
    pub private: PathBuf,
}

impl Active {
    /// The tree that a backend would make from `parent` at `dest`. A row that holds it before the first
    /// directory is made lets a crash be cleaned up by [`crate::Backend::remove`].
    pub fn planned(kind: Kind, parent: &Parent<'_>, dest: &Path) -> Self {
        let overlay = match (kind, parent) {
            (Kind::Overlay, Parent::Sealed { sealed, private }) => {
                Some(Stack { layers: sealed.layers.clone(), private: (*private).to_owned() })
            }
            (Kind::Overlay, Parent::Active { active, private, .. }) => {
                let below = active.overlay.as_ref();
                below.map(|Stack { layers, .. }| Stack {
                    layers: layers.clone(),
                    private: (*private).to_owned(),
                })
            }
            _ => None,
        };
        Self { kind, path: dest.to_owned(), overlay }
    }
}

impl Stack {
    /// What was written.
    pub fn upper(&self) -> PathBuf {
        self.private.join("upper")
    }

    /// The kernel's own room.
    pub fn work(&self) -> PathBuf {
        self.private.join("work")
    }
}

/// What differs from the tree that another was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What is there now and may differ, or was not there: sorted. A directory is in it whose own
    /// attributes or whose entries may have changed.
    pub present: Vec<PathBuf>,
    /// What was there and is not any more, all of a directory with it: sorted.
    pub absent: Vec<PathBuf>,
}
