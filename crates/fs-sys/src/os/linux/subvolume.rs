//! btrfs subvolumes by ioctl: numbers and structures of `linux/btrfs.h`, which are ABI.
#![expect(unsafe_code, reason = "ioctls that rustix has no functions for")]

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, ioctl, opcode};

use crate::dir::{Dir, Place};
use crate::error::{ErrorKind, Result, call};
use crate::subvolume::Access;

const MAGIC: u8 = 0x94;

/// `struct btrfs_ioctl_vol_args`: 4 KiB.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
    fd: i64,
    name: [u8; 4088],
}

/// `struct btrfs_ioctl_vol_args_v2`: 4 KiB.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArgumentsWithFlags {
    fd: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

/// `struct btrfs_ioctl_get_subvol_rootref_args`: 4 KiB.
#[repr(C)]
#[derive(Clone, Copy)]
struct Children {
    smallest_id: u64,
    /// Id of a child and inode of the directory it is in.
    found: [[u64; 2]; 255],
    count: u8,
    padding: [u8; 7],
}

const READ_ONLY: u64 = 1 << 1;

const DESTROY: Opcode = opcode::write::<Arguments>(MAGIC, 15);
const SNAPSHOT: Opcode = opcode::write::<ArgumentsWithFlags>(MAGIC, 23);
const CREATE: Opcode = opcode::write::<ArgumentsWithFlags>(MAGIC, 24);
const LOAD_FLAGS: Opcode = opcode::read::<u64>(MAGIC, 25);
const SET_FLAGS: Opcode = opcode::write::<u64>(MAGIC, 26);
const CHILDREN: Opcode = opcode::read_write::<Children>(MAGIC, 61);

/// The name as the kernel takes it: bytes and a zero behind. Room for more than a name can have.
fn name_in<const SIZE: usize>(name: &OsStr) -> rustix::io::Result<[u8; SIZE]> {
    let mut room = [0; SIZE];
    let bytes = name.as_bytes();
    if bytes.len() > 255 {
        return Err(Errno::NAMETOOLONG);
    }
    room[..bytes.len()].copy_from_slice(bytes);
    Ok(room)
}

fn with_flags(source: i64, flags: u64, name: &OsStr) -> rustix::io::Result<ArgumentsWithFlags> {
    let name = name_in(name)?;
    Ok(ArgumentsWithFlags { fd: source, transaction: 0, flags, unused: [0; 4], name })
}

pub(crate) fn create_subvolume(place: Place<'_>) -> Result<()> {
    call(
        "make the subvolume",
        || place.path(),
        || {
            let arguments = with_flags(0, 0, place.name)?;
            // SAFETY: BTRFS_IOC_SUBVOL_CREATE_V2 reads the structure that its number was made of.
            let request = unsafe { Setter::<CREATE, ArgumentsWithFlags>::new(arguments) };
            // SAFETY: the kernel only reads the structure, which lives until the call is back.
            unsafe { ioctl(place.dir, request) }
        },
    )
}

pub(crate) fn snapshot_subvolume(source: &Dir, place: Place<'_>, access: Access) -> Result<()> {
    use std::os::fd::AsRawFd as _;
    let flags = match access {
        Access::ReadOnly => READ_ONLY,
        Access::ReadWrite => 0,
    };
    call(
        "snapshot into",
        || place.path(),
        || {
            let arguments = with_flags(source.as_fd().as_raw_fd().into(), flags, place.name)?;
            // SAFETY: BTRFS_IOC_SNAP_CREATE_V2 reads the structure that its number was made of.
            let request = unsafe { Setter::<SNAPSHOT, ArgumentsWithFlags>::new(arguments) };
            // SAFETY: the kernel only reads the structure, and the descriptor in it is open.
            unsafe { ioctl(place.dir, request) }
        },
    )
    // EINVAL: the source is no subvolume's root.
    .map_err(|error| {
        let is_cannot = error.is_errno(Errno::INVAL);
        if is_cannot { error.with_kind(ErrorKind::Unsupported) } else { error }
    })
}

pub(crate) fn subvolume_access(subvolume: &Dir) -> Result<Access> {
    let path = || subvolume.path().to_owned();
    let flags = call("look at the subvolume", path, || load_flags(subvolume.as_fd()))?;
    Ok(if flags & READ_ONLY == 0 { Access::ReadWrite } else { Access::ReadOnly })
}

fn load_flags(subvolume: BorrowedFd<'_>) -> rustix::io::Result<u64> {
    // SAFETY: BTRFS_IOC_SUBVOL_GETFLAGS writes 64 bits.
    let request = unsafe { Getter::<LOAD_FLAGS, u64>::new() };
    // SAFETY: the room for them is in the request.
    unsafe { ioctl(subvolume, request) }
}

pub(crate) fn set_subvolume_access(subvolume: &Dir, access: Access) -> Result<()> {
    call(
        "set the access of",
        || subvolume.path().to_owned(),
        || {
            let others = load_flags(subvolume.as_fd())? & !READ_ONLY;
            let flags = match access {
                Access::ReadOnly => others | READ_ONLY,
                Access::ReadWrite => others,
            };
            // SAFETY: BTRFS_IOC_SUBVOL_SETFLAGS reads 64 bits.
            let request = unsafe { Setter::<SET_FLAGS, u64>::new(flags) };
            // SAFETY: they are in the request.
            unsafe { ioctl(subvolume, request) }
        },
    )
}

pub(crate) fn destroy_subvolume(place: Place<'_>) -> Result<()> {
    call(
        "remove the subvolume",
        || place.path(),
        || {
            let arguments = Arguments { fd: 0, name: name_in(place.name)? };
            // SAFETY: BTRFS_IOC_SNAP_DESTROY reads the structure that its number was made of.
            let request = unsafe { Setter::<DESTROY, Arguments>::new(arguments) };
            // SAFETY: the kernel only reads the structure, which lives until the call is back.
            unsafe { ioctl(place.dir, request) }
        },
    )
}

/// Whether subvolumes were made below this one (`BTRFS_IOC_GET_SUBVOL_ROOTREF`, Linux 4.18, for
/// everybody). `None` where the kernel cannot tell.
pub(crate) fn has_nested_subvolumes(subvolume: &Dir) -> Result<Option<bool>> {
    let mut children = Children { smallest_id: 0, found: [[0; 2]; 255], count: 0, padding: [0; 7] };
    let asked = call(
        "look at the subvolume",
        || subvolume.path().to_owned(),
        || {
            // SAFETY: BTRFS_IOC_GET_SUBVOL_ROOTREF reads and writes the structure its number was made of.
            let request = unsafe { Updater::<CHILDREN, Children>::new(&mut children) };
            // SAFETY: any bytes are a valid structure of integers, and it outlives the call.
            unsafe { ioctl(subvolume, request) }
        },
    );
    match asked {
        Ok(()) => Ok(Some(children.count > 0)),
        // More of them than the structure holds.
        Err(error) if error.is_errno(Errno::OVERFLOW) => Ok(Some(true)),
        Err(error) if error.kind == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_that_the_numbers_say() {
        assert_eq!(size_of::<Arguments>(), 4096);
        assert_eq!(size_of::<ArgumentsWithFlags>(), 4096);
        assert_eq!(size_of::<Children>(), 4096);
        // `linux/btrfs.h`, as a C compiler prints them on x86-64 and aarch64.
        assert_eq!(SNAPSHOT, 0x5000_9417);
        assert_eq!(LOAD_FLAGS, 0x8008_9419);
    }

    #[test]
    fn a_name_that_is_too_long_is_not_cut() {
        assert_eq!(name_in::<4040>(OsStr::new(&"n".repeat(256))), Err(Errno::NAMETOOLONG));
        assert_eq!(name_in::<4040>(OsStr::new("ab")).unwrap()[..3], *b"ab\0");
    }
}
