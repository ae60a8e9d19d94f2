//! Bind mounts that end with the test.

use std::path::{Path, PathBuf};

use fwt_tests::environment::succeed;

/// A mount, taken away when dropped.
#[derive(Debug)]
pub(crate) struct Bind {
    place: PathBuf,
}

impl Bind {
    /// Shows `from` at `place`, which must exist.
    pub(crate) fn new(from: &Path, place: &Path) -> Self {
        succeed(command("mount").arg("--bind").args([from, place]));
        Self { place: place.to_owned() }
    }

    /// Shows `place` in its own place, read-only.
    pub(crate) fn read_only(place: &Path) -> Self {
        let bind = Self::new(place, place);
        succeed(command("mount").args(["-o", "remount,bind,ro"]).arg(place));
        bind
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        // Not a panic: it would hide the one that is on its way.
        drop(command("umount").arg("--lazy").arg(&self.place).status());
    }
}

/// Whether mounts can be made; where not, says that the test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says what it lacks")]
pub(crate) fn can_mount() -> bool {
    if is_root() {
        return true;
    }
    eprintln!("skipped: only root can mount");
    false
}

/// Whether this runs as root.
pub(crate) fn is_root() -> bool {
    let id = succeed(command("id").arg("-u")).stdout;
    id == b"0\n"
}

fn command(program: &str) -> std::process::Command {
    fwt_tests::environment::command(program, Path::new("/"))
}
