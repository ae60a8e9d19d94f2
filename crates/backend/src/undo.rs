//! A guard that takes away what was half made.

use std::path::PathBuf;

/// Runs its action when it is dropped, unless it was disarmed.
pub(crate) struct Undo<F: FnMut()>(Option<F>);

impl<F: FnMut()> Undo<F> {
    pub(crate) fn new(action: F) -> Self {
        Self(Some(action))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Undo<Box<dyn FnMut()>> {
    /// Removes the tree at `path`.
    pub(crate) fn tree(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::new(Box::new(move || {
            if let Err(error) = fs_sys::remove_tree(&path) {
                tracing::warn!(%error, path = %path.display(), "a half-made tree stays behind");
            }
        }))
    }
}

impl<F: FnMut()> Drop for Undo<F> {
    fn drop(&mut self) {
        if let Some(action) = &mut self.0 {
            action();
        }
    }
}
