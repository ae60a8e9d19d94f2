//! Mounts of Linux: fsopen and its family, mount(2), umount2(2), /proc.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_fd, fsconfig_set_string, fsmount, fsopen, move_mount,
};
use rustix::thread::CapabilitySet;

use crate::dir::{Dir, OPEN_DIR};
use crate::error::{Error, ErrorKind, Result, call};
use crate::mount::{Failed, Overlay, Unmount, Unmounted, Way};

/// The word that stands for the device in the table of mounts.
const SOURCE: &str = "fwt";

/// Options of every overlay; [`Overlay`] says why each.
const OPTIONS: [(&str, &str); 4] =
    [("index", "on"), ("nfs_export", "off"), ("metacopy", "off"), ("redirect_dir", "on")];
/// Without an upper layer there is nothing to index, redirects are only followed.
const VIEW_OPTIONS: [(&str, &str); 2] = [("metacopy", "off"), ("redirect_dir", "follow")];
const XINO: (&str, &str) = ("xino", "on");

fn options(overlay: &Overlay<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let own: &'static [(&str, &str)] =
        if overlay.writable.is_some() { &OPTIONS } else { &VIEW_OPTIONS };
    own.iter().copied().chain([XINO])
}

/// fsconfig(2) takes strings of 256 bytes with the zero at the end.
const CONFIG_VALUE_BYTES: usize = 255;

/// mount(2) copies one page of options, the zero at the end included; 4 KiB is the smallest page.
const MOUNT_DATA_BYTES: usize = 4095;

/// A mount that is not in the tree of directories yet.
#[derive(Debug)]
pub struct DetachedMount {
    fd: OwnedFd,
    name: std::path::PathBuf,
}

impl DetachedMount {
    /// Its topmost directory. While it or any directory or file below it is open, the mount lives.
    pub fn root(&self) -> Result<Dir> {
        let none = rustix::fs::Mode::empty();
        let fd = call("open", || self.name.clone(), || openat(&self.fd, ".", OPEN_DIR, none))?;
        Ok(Dir::from_fd(fd, self.name.clone()))
    }

    /// Mounts it at the directory `point`, which is not followed if it is a link.
    pub fn attach(self, point: &Path) -> Result<()> {
        let path = || point.to_owned();
        let target = open_point(point)?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        call("mount", path, || move_mount(&self.fd, "", &target, "", flags))
    }
}

fn open_point(point: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let none = rustix::fs::Mode::empty();
    call("open", || point.to_owned(), || openat(CWD, point, flags, none))
}

/// Makes the overlay by fsopen(2); `name` is for messages.
pub(crate) fn detached_overlay(
    way: Way,
    overlay: &Overlay<'_>,
    name: &Path,
) -> std::result::Result<DetachedMount, Failed> {
    let path = || name.to_owned();
    let context = call("mount", path, || fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC))
        .map_err(|error| without_overlayfs(error, name))?;
    let set = |key: &str, value: &OsStr| {
        call("mount", path, || fsconfig_set_string(&context, key, value)).map_err(Failed::Way)
    };
    set("source", OsStr::new(SOURCE))?;
    for (key, value) in options(overlay) {
        set(key, OsStr::new(value)).map_err(into_mount)?;
    }
    let layers = overlay.lower.iter().map(|layer| ("lowerdir+", layer.as_path()));
    let writable =
        overlay.writable.iter().flat_map(|it| [("upperdir", it.upper), ("workdir", it.work)]);
    for (key, layer) in layers.chain(writable) {
        match way {
            Way::Descriptors => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let none = rustix::fs::Mode::empty();
                let fd = call("open", || layer.to_owned(), || openat(CWD, layer, flags, none))
                    .map_err(Failed::Mount)?;
                let is_set =
                    call("mount", || layer.to_owned(), || fsconfig_set_fd(&context, key, &fd));
                is_set.map_err(unknown_way)?;
            }
            Way::Paths | Way::Options => {
                // The writable layer's paths are unescaped by the kernel, `lowerdir+` is taken as it is.
                let value = if key == "lowerdir+" {
                    layer.as_os_str().as_bytes().to_vec()
                } else {
                    escape(layer)
                };
                if value.len() > CONFIG_VALUE_BYTES {
                    return Err(Failed::Way(Error::new("mount", layer.into(), Errno::NAMETOOLONG)));
                }
                let value = OsStr::from_bytes(&value);
                let is_set = call(
                    "mount",
                    || layer.to_owned(),
                    || fsconfig_set_string(&context, key, value),
                );
                is_set.map_err(unknown_way)?;
            }
        }
    }
    call("mount", path, || fsconfig_create(&context)).map_err(|error| {
        tracing::debug!(%error, says = %messages(&context), "the kernel refuses an overlay");
        Failed::Mount(refusal(error))
    })?;
    let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if overlay.writable.is_none() {
        attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    let fd = call("mount", path, || fsmount(&context, flags, attributes)).map_err(Failed::Mount)?;
    Ok(DetachedMount { fd, name: name.to_owned() })
}

/// A kernel without fsopen (before Linux 5.2) or a sandbox that hides it may still have mount(2). One
/// without overlayfs has no way.
fn without_overlayfs(error: Error, name: &Path) -> Failed {
    if error.is_errno(Errno::NODEV) {
        let error = Error { path: name.to_owned(), ..error };
        return Failed::Mount(error.with_kind(ErrorKind::Unsupported));
    }
    if error.is_errno(Errno::NOSYS) || error.is_errno(Errno::PERM) {
        return Failed::Way(error);
    }
    Failed::Mount(error)
}

/// EINVAL: this kernel's overlayfs does not know the parameter, or not of this type.
fn unknown_way(error: Error) -> Failed {
    if error.is_errno(Errno::INVAL) || error.is_errno(Errno::OPNOTSUPP) {
        return Failed::Way(error);
    }
    Failed::Mount(error)
}

fn into_mount(failed: Failed) -> Failed {
    let (Failed::Way(error) | Failed::Mount(error)) = failed;
    if error.is_errno(Errno::OPNOTSUPP) {
        Failed::Way(error)
    } else {
        Failed::Mount(refusal(error))
    }
}

/// EINVAL of the mount itself is what overlayfs says of layers and options that it cannot do.
fn refusal(error: Error) -> Error {
    let is_cannot = error.is_errno(Errno::INVAL) || error.is_errno(Errno::NODEV);
    if is_cannot { error.with_kind(ErrorKind::Unsupported) } else { error }
}

/// What the kernel wrote about a context, one message a line.
fn messages(context: &OwnedFd) -> String {
    let mut text = Vec::new();
    let mut message = [0_u8; 1024];
    // Each read is one message; ENODATA is the end.
    while let Ok(length @ 1..) = rustix::io::read(context, &mut message) {
        text.extend_from_slice(&message[..length]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Mounts by mount(2), where all layers share one page. The length is checked before: the kernel
/// would cut what is too long.
pub(crate) fn mount_overlay_with_options(
    overlay: &Overlay<'_>,
    point: &Path,
) -> std::result::Result<(), Failed> {
    let mut data: Vec<u8> = Vec::new();
    for (key, value) in options(overlay) {
        data.extend_from_slice(format!("{key}={value},").as_bytes());
    }
    data.extend_from_slice(b"lowerdir=");
    for (number, layer) in overlay.lower.iter().enumerate() {
        if number > 0 {
            data.push(b':');
        }
        data.extend_from_slice(&escape(layer));
    }
    if let Some(writable) = overlay.writable {
        for (key, path) in [(",upperdir=", writable.upper), (",workdir=", writable.work)] {
            data.extend_from_slice(key.as_bytes());
            data.extend_from_slice(&escape(path));
        }
    }
    let too_long = || Failed::Way(Error::new("mount", point.into(), Errno::NAMETOOLONG));
    if data.len() > MOUNT_DATA_BYTES {
        return Err(too_long());
    }
    let data = CString::new(data).map_err(|_| too_long())?;
    let target = open_point(point).map_err(Failed::Mount)?;
    // mount(2) takes no descriptor; this name of one leads to the very directory that was opened.
    let through = format!("/proc/thread-self/fd/{}", target.as_raw_fd());
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    if overlay.writable.is_none() {
        flags |= MountFlags::RDONLY;
    }
    let mounted = call(
        "mount",
        || point.to_owned(),
        || rustix::mount::mount(SOURCE, through.as_str(), "overlay", flags, data.as_c_str()),
    );
    mounted.map_err(|error| Failed::Mount(refusal(error)))
}

/// A path as overlayfs reads it in its options: `\` quotes the next byte, `,` ends an option and `:` a
/// layer.
fn escape(path: &Path) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(path.as_os_str().len());
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'\\' | b':' | b',') {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    escaped
}

pub(crate) fn unmount(point: &Path, how: Unmount) -> Result<Unmounted> {
    let flags = match how {
        Unmount::Now => UnmountFlags::NOFOLLOW,
        Unmount::Lazily => UnmountFlags::NOFOLLOW | UnmountFlags::DETACH,
    };
    match call("unmount", || point.to_owned(), || rustix::mount::unmount(point, flags)) {
        Ok(()) => Ok(Unmounted::Done),
        // EINVAL is what umount2(2) says of a directory at which nothing is mounted.
        Err(error) if error.is_errno(Errno::INVAL) || error.kind == ErrorKind::NotFound => {
            Ok(Unmounted::NotMounted)
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn may_mount() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

pub(crate) fn mount_table(path: &str) -> Result<Vec<u8>> {
    crate::path::read_file(Path::new(path))
}
