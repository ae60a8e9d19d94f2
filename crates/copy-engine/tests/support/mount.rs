//! A mount that goes away with its guard.
#![expect(clippy::print_stderr, reason = "what a test skips or leaves is said on its stderr")]

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Runs `mount` with these arguments and the mount point behind them. `None` where this process
    /// may not mount.
    pub(crate) fn new(arguments: &[&str], point: &Path) -> Option<Self> {
        let output = Command::new("mount").args(arguments).arg(point).output().unwrap();
        output.status.success().then(|| Self(point.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let status = Command::new("umount").arg("-l").arg(&self.0).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("{} stays mounted", self.0.display());
        }
    }
}
