//! Whiteouts and inode flags of Linux.

use rustix::fs::{FileType, IFlags, ioctl_getflags, ioctl_setflags, mknodat};

use crate::dir::{Dir, Place};
use crate::error::{Result, call};
use crate::immutable::Immutable;

pub(crate) fn make_whiteout(place: Place<'_>) -> Result<()> {
    let (kind, mode) = (FileType::CharacterDevice, rustix::fs::Mode::empty());
    call("make the whiteout", || place.path(), || mknodat(place.dir, place.name, kind, mode, 0))
}

pub(crate) fn set_immutable(dir: &Dir, immutable: Immutable) -> Result<()> {
    call(
        "set flags of",
        || dir.path().to_owned(),
        || {
            let mut flags = ioctl_getflags(dir)?;
            flags.set(IFlags::IMMUTABLE, immutable == Immutable::Yes);
            ioctl_setflags(dir, flags)
        },
    )
}
