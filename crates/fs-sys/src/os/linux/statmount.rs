//! statmount(2) and listmount(2), Linux 6.8: what is known of one mount, without reading the table of all,
//! which takes milliseconds where there are a thousand trees.
#![expect(unsafe_code, reason = "calls that rustix has no functions for")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use libc::{c_long, size_t};
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;

use crate::dir::Dir;
use crate::error::{Result, call};
use crate::mount::Superblock;

/// The same numbers on every architecture (`scripts/syscall.tbl` of the kernel).
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8): the id that these calls take, never used again.
const UNIQUE_ID: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// `struct mnt_id_req` in its first version.
#[repr(C)]
struct Request {
    size: u32,
    spare: u32,
    mount: u64,
    parameter: u64,
}

/// `MNT_ID_REQ_SIZE_VER0`.
const REQUEST_BYTES: u32 = 24;
const _: () = assert!(size_of::<Request>() == REQUEST_BYTES as usize, "the kernel checks it");

/// What is asked of statmount, as bits of `parameter` and of the answer's mask.
const SB_BASIC: u64 = 1;
const MNT_POINT: u64 = 0x10;
const MNT_OPTS: u64 = 0x80;

/// Where in `struct statmount` the answers are; texts follow its 512 bytes.
const AT_OPTIONS: usize = 4;
const AT_MASK: usize = 8;
const AT_MAJOR: usize = 16;
const AT_MINOR: usize = 20;
const AT_POINT: usize = 108;
const TEXT: usize = 512;

/// A path or options longer than this are left to the table of mounts.
const BUFFER_BYTES: usize = 64 << 10;

/// The file system of the mount that `dir` is on. `None` where the kernel has no such calls, or does not
/// tell the options (before Linux 6.11): the table of mounts says it too.
pub(crate) fn superblock_of(dir: &Dir) -> Result<Option<Superblock>> {
    let Some(id) = unique_id(dir, "")? else { return Ok(None) };
    let Some(answer) = stat_mount(id, SB_BASIC | MNT_OPTS) else { return Ok(None) };
    let device = answer.number(AT_MAJOR).zip(answer.number(AT_MINOR));
    Ok(device.zip(answer.text(AT_OPTIONS)).map(|(device, options)| Superblock { device, options }))
}

/// A mount point in the mount whose topmost directory `dir` is; `Err(NOSYS)` within where only the table of
/// mounts can tell.
pub(crate) fn mount_inside(dir: &Dir) -> Result<std::result::Result<Option<PathBuf>, Errno>> {
    let none = Ok(Err(Errno::NOSYS));
    let (Some(id), Some(above)) = (unique_id(dir, "")?, unique_id(dir, "..")?) else {
        return none;
    };
    if id == above {
        return none;
    }
    let mut first = [0_u64];
    match list_mounts(id, &mut first) {
        Ok(0) => Ok(Ok(None)),
        Ok(_) => {
            let point = stat_mount(first[0], MNT_POINT).and_then(|answer| answer.text(AT_POINT));
            point.map_or(none, |point| Ok(Ok(Some(point.into()))))
        }
        Err(_) => none,
    }
}

fn unique_id(dir: &Dir, name: &str) -> Result<Option<u64>> {
    let flags = AtFlags::EMPTY_PATH;
    let found = call("stat", || dir.path().join(name), || statx(dir, name, flags, UNIQUE_ID))?;
    Ok((found.stx_mask & UNIQUE_ID.bits() != 0).then_some(found.stx_mnt_id))
}

struct Answer(Vec<u8>);

impl Answer {
    fn number(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    /// The text whose place is at `at`.
    fn text(&self, at: usize) -> Option<OsString> {
        let start = TEXT + usize::try_from(self.number(at)?).ok()?;
        let text = self.0.get(start..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some(OsString::from_vec(text[..end].to_vec()))
    }
}

/// `None` if the kernel does not have the call or not all of the answers.
fn stat_mount(mount: u64, wanted: u64) -> Option<Answer> {
    let request = Request { size: REQUEST_BYTES, spare: 0, mount, parameter: wanted };
    let mut buffer = vec![0_u8; BUFFER_BYTES];
    // SAFETY: the request is a `struct mnt_id_req` of the size that it names, and the kernel writes at most
    // as many bytes as it is told that the buffer has.
    let done = unsafe {
        libc::syscall(
            STATMOUNT,
            &raw const request,
            buffer.as_mut_ptr(),
            buffer.len() as size_t,
            0_u32,
        )
    };
    let answer = Answer(buffer);
    let mask = answer.0[AT_MASK..AT_MASK + 8].try_into().map(u64::from_ne_bytes);
    (done == 0 && mask.is_ok_and(|mask| mask & wanted == wanted)).then_some(answer)
}

/// How many mounts there are below the mount, as far as there is room for their ids.
fn list_mounts(mount: u64, ids: &mut [u64]) -> rustix::io::Result<usize> {
    let request = Request { size: REQUEST_BYTES, spare: 0, mount, parameter: 0 };
    // SAFETY: the request is a `struct mnt_id_req` of the size that it names, and the kernel writes at most
    // as many ids as it is told that there is room for.
    let count = unsafe {
        libc::syscall(LISTMOUNT, &raw const request, ids.as_mut_ptr(), ids.len() as size_t, 0_u32)
    };
    usize::try_from(count).map_err(|_| Errno::NOSYS)
}
