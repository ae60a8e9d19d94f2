//! Every system call of fwt: by descriptor where it matters, with typed errors and fault injection.
//!
//! This crate is the only home of `cfg(target_os)` and of any `unsafe`. It gives errno its meaning
//! once ([`ErrorKind`]), so that callers match on "cannot here" and "failed" as different values.
//!
//! It must never follow a symbolic link below a [`Dir`], cross a mount while removing, replace an
//! existing entry unless the function's name says so, or read the environment, the clock or the
//! current directory.

mod dir;
mod error;
pub mod faults;
mod file;
mod immutable;
mod lock;
mod mount;
mod mount_table;
mod node;
mod os;
mod overlay_mark;
mod path;
pub mod process;
mod remove;
mod stat;
mod subvolume;
mod xattr;

pub use dir::{Dir, Listed, Place};
pub use error::{Error, ErrorKind, Result};
pub use file::{File, Ranges};
pub use immutable::{Immutable, set_immutable};
pub use lock::{FileLock, Sharing, try_lock};
pub use mount::{
    DetachedMount, Failed, MAX_LAYERS, MountNamespace, Mounted, Overlay, Superblock, Unmount,
    Unmounted, Way, Writable, detached_overlay, may_mount, mount_inside, mount_namespace,
    mount_overlay, mount_overlay_by, mounted_elsewhere, mounts, superblock_of, unmount,
};
pub use node::{
    hard_link, make_dir_at, read_link, remove_dir_at, remove_file_at, rename_at, set_link_owner,
    set_times, stat_at, symlink,
};
pub use os::{FileSystem, Identity, mount_id};
pub use overlay_mark::{Mark, is_whiteout, load_mark, make_whiteout, remove_mark, set_mark};
pub use path::{
    canonicalize, exists, list, make_dir, make_dirs, open_dir, read_file, read_link_path,
    remove_dir, remove_file, rename, rename_noreplace, replace_file, stat, stat_following,
    symlink_path, write_new,
};
pub use remove::{Removed, remove_tree};
pub use stat::{Kind, Mode, Owner, Stat, Time};
pub use subvolume::{
    Access, SubvolumeRemoved, create_subvolume, is_subvolume_root, nested_subvolumes,
    remove_subvolume, set_subvolume_access, snapshot_subvolume, subvolume_access,
};
pub use xattr::{Xattr, Xattrs, copy_xattrs};
