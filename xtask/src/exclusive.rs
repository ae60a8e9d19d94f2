//! One run of a chore at a time in a checkout.

use std::fs::File;

use anyhow::Context as _;

use crate::talk::say;
use crate::workspace::Workspace;

/// Held while a run uses the checkout's filesystems; ends with the process at the latest.
#[derive(Debug)]
pub(crate) struct Exclusive {
    _lock: File,
}

/// Waits until no other run of the chore holds the lock.
pub(crate) fn wait(workspace: &Workspace, chore: &str) -> anyhow::Result<Exclusive> {
    let path = workspace.target_directory().join(format!("{chore}.lock"));
    let lock = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    if lock.try_lock().is_err() {
        say(&format!("waiting for another run of `{chore}` in this checkout"));
        lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(Exclusive { _lock: lock })
}
