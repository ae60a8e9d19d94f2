//! The directory that holds the images and the mount points.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::{Context as _, bail};

use super::mounts;
use crate::command::require_output;
use crate::machine::is_world_traversable;
use crate::talk::say;
use crate::workspace::Workspace;

/// Where the images are, below the directory.
pub(crate) const IMAGES: &str = "images";

/// Where the mount points are, below the directory. Apart from the images: the kernel names the
/// image of a loop device by the mount that it was opened through, which must outlive these.
pub(crate) const MOUNTS: &str = "mounts";

/// Makes the directory, enterable by all.
pub(crate) fn prepare(workspace: &Workspace, chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    let directory = choose(workspace, chosen);
    let is_new = !directory.exists();
    for name in [IMAGES, MOUNTS] {
        fs::create_dir_all(directory.join(name))
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let directory = require_own(&directory)?;
    // A umask must not hide the mounts from the plain user whom the tests also run as.
    let open_to_all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory.join(MOUNTS), open_to_all.clone())?;
    if is_new {
        fs::set_permissions(&directory, open_to_all)?;
    }
    if !is_world_traversable(&directory) {
        say(&format!("{} can only be reached by root", directory.display()));
    }
    Ok(directory)
}

/// The directory, if an earlier run made it.
pub(crate) fn find(
    workspace: &Workspace,
    chosen: Option<&Path>,
) -> anyhow::Result<Option<PathBuf>> {
    let directory = choose(workspace, chosen);
    match directory.symlink_metadata() {
        Ok(_) => require_own(&directory).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", directory.display())),
    }
}

/// Keeps the mounts to this mount namespace: under a shared parent each would be copied into
/// every other namespace of the machine, and a copy there would keep it busy after the unmount.
pub(crate) fn isolate(directory: &Path) {
    let directory = &directory.join(MOUNTS);
    let outcome = mounts::load().and_then(|mounts| {
        if mounts.iter().any(|mount| mount.point == *directory) {
            return Ok(());
        }
        require_output(Command::new("mount").arg("--bind").arg(directory).arg(directory))?;
        require_output(Command::new("mount").arg("--make-private").arg(directory))?;
        Ok(())
    });
    // Where even this is forbidden, each filesystem says so by name.
    if let Err(error) = outcome {
        say(&format!("the mounts cannot be kept private: {error:#}"));
    }
}

/// The default has one name per checkout, so that `down` finds what an earlier `up` made.
fn choose(workspace: &Workspace, chosen: Option<&Path>) -> PathBuf {
    if let Some(directory) = chosen {
        return directory.to_owned();
    }
    let target = workspace.target_directory();
    // A checkout below /root is common in containers, and closed to everybody else.
    if target.ancestors().filter(|ancestor| ancestor.exists()).all(is_world_traversable) {
        return target.join("filesystems");
    }
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    PathBuf::from(format!("/var/tmp/fwt-filesystems-{:016x}", hasher.finish()))
}

/// In a directory like /var/tmp anybody can be first with a name; root works in its own only.
fn require_own(directory: &Path) -> anyhow::Result<PathBuf> {
    let metadata = directory.symlink_metadata()?;
    if !metadata.is_dir() || metadata.uid() != 0 {
        bail!("{} is not a directory of root", directory.display());
    }
    // The kernel names mounts by canonical path, and they are looked up by it.
    Ok(fs::canonicalize(directory)?)
}
