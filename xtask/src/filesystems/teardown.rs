//! Unmounts and removes what was made, whatever state it was left in.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context as _, bail};

use super::{directory, kinds, loops, mounts};
use crate::command::require_output;
use crate::talk::say;

/// A device is let go by its last user, and something like udev may look at it for a moment.
const DETACH_ATTEMPTS: u32 = 20;
const DETACH_PAUSE: Duration = Duration::from_millis(100);

/// Removes the whole set and its directory. It goes on after a failure, and reports the first.
pub(crate) fn take_down(directory: &Path) -> anyhow::Result<()> {
    let images = directory.join(directory::IMAGES);
    let outcomes = [
        unmount_below(directory),
        detach_loops(&images),
        remove_images(&images),
        remove_directories(directory),
    ];
    outcomes
        .into_iter()
        .collect::<anyhow::Result<()>>()
        .with_context(|| format!("{} is not wholly removed", directory.display()))
}

/// Removes one filesystem's mount point and image.
pub(crate) fn remove_one(point: &Path, image: &Path) -> anyhow::Result<()> {
    unmount_below(point)?;
    // One that still holds a deleted image, for a process that somebody left, is in nobody's way.
    if image.exists() {
        detach_loops(image)?;
        fs::remove_file(image).with_context(|| format!("cannot remove {}", image.display()))?;
    }
    ignore_missing(fs::remove_dir(point), point)
}

/// For a clean-up after a failure, whose own failure must not hide the first.
pub(crate) fn say_if_failed(outcome: anyhow::Result<()>) {
    if let Err(error) = outcome {
        say(&format!("{error:#}"));
    }
}

fn unmount_below(directory: &Path) -> anyhow::Result<()> {
    for point in mounts::mounts_using(&mounts::load()?, directory) {
        let Err(error) = require_output(Command::new("umount").arg(point)) else { continue };
        say(&format!("{} is in use, and is detached: {error:#}", point.display()));
        // It disappears from here at once, and from the kernel when its last user ends.
        require_output(Command::new("umount").arg("--lazy").arg(point))?;
    }
    Ok(())
}

fn detach_loops(path: &Path) -> anyhow::Result<()> {
    for _ in 0..DETACH_ATTEMPTS {
        if loops::load_below(path)?.is_empty() {
            return Ok(());
        }
        // One that lost its last user meanwhile is no failure; the next look decides.
        if let Err(error) = loops::detach_below(path) {
            say(&format!("{error:#}"));
        }
        thread::sleep(DETACH_PAUSE);
    }
    bail!("a loop device still holds {}", path.display());
}

/// Only images by their names: a directory that somebody chose may hold more than ours.
fn remove_images(images: &Path) -> anyhow::Result<()> {
    for filesystem in kinds::FILESYSTEMS {
        let image = images.join(filesystem.image_name());
        ignore_missing(fs::remove_file(&image), &image)?;
    }
    Ok(())
}

/// Only empty directories go: were one of them still mounted, its contents are not ours to lose.
fn remove_directories(directory: &Path) -> anyhow::Result<()> {
    let mounts = directory.join(directory::MOUNTS);
    let points = kinds::FILESYSTEMS.iter().map(|filesystem| mounts.join(filesystem.name));
    for path in points.chain([mounts.clone(), directory.join(directory::IMAGES)]) {
        ignore_missing(fs::remove_dir(&path), &path)?;
    }
    match fs::remove_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => ignore_missing(outcome, directory),
    }
}

fn ignore_missing(outcome: io::Result<()>, path: &Path) -> anyhow::Result<()> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
