//! The filesystems of the set, and how one of them is made.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::{directory, mounts, teardown};
use crate::command::require_output;
use crate::machine::find_program;

/// One filesystem of the set.
#[derive(Debug)]
pub(crate) struct Filesystem {
    /// Names its image and its mount point.
    pub(crate) name: &'static str,
    /// Tells the tests where it is mounted.
    pub(crate) variable: &'static str,
    /// Its type, as `mount -t` and `mkfs.` know it.
    kind: &'static str,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// A sparse file, so that its size costs nothing until it is used.
    Image { size: Size, mkfs_options: &'static [&'static str] },
    /// Memory.
    Memory,
}

#[derive(Debug)]
enum Size {
    /// As large as whoever asks for the set wants.
    Roomy,
    /// Always the same, because the tests fill it.
    Fixed { bytes: u64 },
}

/// How large the roomy filesystems of the set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Enough for the tests.
    Tests,
    /// So many bytes, on those that have no fixed size; the others are not made.
    Bytes(u64),
}

impl Room {
    fn image_bytes(self) -> u64 {
        match self {
            Self::Tests => ROOMY_BYTES,
            Self::Bytes(bytes) => bytes,
        }
    }

    fn memory_bytes(self) -> u64 {
        match self {
            Self::Tests => MEMORY_BYTES,
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Filesystem {
    /// The file name of its image, where it has one.
    pub(crate) fn image_name(&self) -> String {
        format!("{}.img", self.name)
    }

    /// Whether it belongs to a set of this room.
    pub(crate) fn is_wanted(&self, room: Room) -> bool {
        let is_fixed = matches!(self.backing, Backing::Image { size: Size::Fixed { .. }, .. });
        room == Room::Tests || !is_fixed
    }
}

const MEBIBYTE: u64 = 1 << 20;
/// Room for a few copies of a large tree.
const ROOMY_BYTES: u64 = 3 << 30;
/// The same, with an eye on the memory of small machines.
const MEMORY_BYTES: u64 = 2 << 30;

/// Small files are what the tests make most: twice the default number of inodes.
const EXT4_OPTIONS: &[&str] = &["-q", "-F", "-m", "0", "-i", "8192"];
/// Without reserved blocks, it is full for root when it is full for anybody.
const FULL_OPTIONS: &[&str] = &["-q", "-F", "-m", "0"];

/// The whole set.
pub(crate) const FILESYSTEMS: &[Filesystem] = &[
    Filesystem {
        name: "ext4",
        variable: "FWT_TEST_EXT4",
        kind: "ext4",
        backing: Backing::Image { size: Size::Roomy, mkfs_options: EXT4_OPTIONS },
    },
    Filesystem {
        name: "xfs",
        variable: "FWT_TEST_XFS",
        kind: "xfs",
        backing: Backing::Image {
            size: Size::Roomy,
            mkfs_options: &["-q", "-f", "-m", "reflink=1"],
        },
    },
    Filesystem {
        name: "btrfs",
        variable: "FWT_TEST_BTRFS",
        kind: "btrfs",
        backing: Backing::Image { size: Size::Roomy, mkfs_options: &["-q", "-f"] },
    },
    Filesystem {
        name: "tmpfs",
        variable: "FWT_TEST_TMPFS",
        kind: "tmpfs",
        backing: Backing::Memory,
    },
    Filesystem {
        name: "full",
        variable: "FWT_TEST_FULL",
        kind: "ext4",
        backing: Backing::Image {
            size: Size::Fixed { bytes: 40 * MEBIBYTE },
            mkfs_options: FULL_OPTIONS,
        },
    },
];

/// Every variable that may tell a test of a filesystem, on any platform.
pub(crate) const VARIABLES: &[&str] = &[
    "FWT_TEST_EXT4",
    "FWT_TEST_XFS",
    "FWT_TEST_BTRFS",
    "FWT_TEST_TMPFS",
    "FWT_TEST_FULL",
    "FWT_TEST_APFS",
];

/// Mounts one filesystem unless it is mounted already; a failure leaves nothing of it.
pub(crate) fn require_mounted(
    filesystem: &Filesystem,
    directory: &Path,
    room: Room,
) -> anyhow::Result<PathBuf> {
    let point = directory.join(directory::MOUNTS).join(filesystem.name);
    if mounts::load()?.iter().any(|mount| mount.point == point) {
        return Ok(point);
    }
    let image = directory.join(directory::IMAGES).join(filesystem.image_name());
    // What a crashed run left is of unknown age: it is made anew.
    teardown::remove_one(&point, &image)?;
    make(filesystem, &point, &image, room).inspect_err(|_| {
        teardown::say_if_failed(teardown::remove_one(&point, &image));
    })?;
    Ok(point)
}

fn make(filesystem: &Filesystem, point: &Path, image: &Path, room: Room) -> anyhow::Result<()> {
    fs::create_dir(point).with_context(|| format!("cannot make {}", point.display()))?;
    // The mounts are open to every user of the machine: no way up to root may be left in one.
    let mut options = "nosuid,nodev".to_owned();
    let source = match &filesystem.backing {
        Backing::Image { size, mkfs_options } => {
            let size_bytes = match size {
                Size::Roomy => room.image_bytes(),
                Size::Fixed { bytes } => *bytes,
            };
            make_image(filesystem.kind, mkfs_options, image, size_bytes)?;
            // With this option the loop device goes away with the mount.
            options.push_str(",loop");
            image
        }
        Backing::Memory => {
            options = format!("{options},size={}", room.memory_bytes());
            Path::new("fwt-test")
        }
    };
    let mut mount = Command::new("mount");
    mount.args(["-t", filesystem.kind, "-o", &options]).arg(source).arg(point);
    require_output(&mut mount)?;
    let open_to_all = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(point, open_to_all)
        .with_context(|| format!("cannot open {} to all users", point.display()))
}

fn make_image(kind: &str, options: &[&str], image: &Path, size_bytes: u64) -> anyhow::Result<()> {
    let program = format!("mkfs.{kind}");
    let mkfs = find_program(&program).with_context(|| format!("{program} is not installed"))?;
    let file =
        File::create_new(image).with_context(|| format!("cannot make {}", image.display()))?;
    file.set_len(size_bytes).with_context(|| format!("cannot size {}", image.display()))?;
    require_output(Command::new(mkfs).args(options).arg(image))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FILESYSTEMS, Room, VARIABLES};

    #[test]
    fn every_filesystem_has_a_known_variable() {
        for filesystem in FILESYSTEMS {
            assert!(VARIABLES.contains(&filesystem.variable), "{}", filesystem.variable);
        }
    }

    #[test]
    fn the_full_one_is_for_the_tests_alone() {
        let names = |room| {
            let wanted = FILESYSTEMS.iter().filter(move |filesystem| filesystem.is_wanted(room));
            wanted.map(|filesystem| filesystem.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Room::Tests), ["ext4", "xfs", "btrfs", "tmpfs", "full"]);
        assert_eq!(names(Room::Bytes(1)), ["ext4", "xfs", "btrfs", "tmpfs"]);
    }
}
