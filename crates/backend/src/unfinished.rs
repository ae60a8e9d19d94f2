//! A tree over a sealed one that nobody can reach yet, so that it can still be made to differ.

use std::fmt;
use std::path::{Path, PathBuf};

use copy_engine::Bytes;

use crate::error::Result;
use crate::overlay::Difference;
use crate::undo::Undo;
use crate::{Active, Kind, overlay};

/// Takes away what was made when it is dropped before [`Self::finish`].
pub struct Unfinished {
    active: Active,
    layers: Vec<PathBuf>,
    bytes: Bytes,
    undo: Undo<Box<dyn FnMut()>>,
}

impl Unfinished {
    pub(crate) fn new(
        active: Active,
        layers: Vec<PathBuf>,
        bytes: Bytes,
        undo: impl FnMut() + 'static,
    ) -> Self {
        Self { active, layers, bytes, undo: Undo::new(Box::new(undo)) }
    }

    /// How the bytes came that another tree had over what the two stand on.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The directory that holds the tree's own files: what is written there is in the tree.
    pub fn root(&self) -> PathBuf {
        self.active.overlay.as_ref().map_or_else(|| self.active.path.clone(), crate::Stack::upper)
    }

    /// For writing what the tree is to differ in.
    pub fn difference(&self) -> Result<Difference> {
        Difference::within(&self.layers, &self.root())
    }

    /// Makes the tree reachable.
    pub fn finish(self) -> Result<Active> {
        let Self { active, undo, .. } = self;
        if active.kind == Kind::Overlay {
            overlay::mount_first(&active)?;
        }
        undo.disarm();
        Ok(active)
    }

    /// Where the tree will be.
    pub fn path(&self) -> &Path {
        &self.active.path
    }
}

impl fmt::Debug for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Unfinished").field("active", &self.active).finish_non_exhaustive()
    }
}
