//! The platform, chosen once: each file has the same functions.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "macos")), path = "fallback.rs")]
mod current;

#[cfg_attr(target_os = "linux", path = "linux/only.rs")]
#[cfg_attr(not(target_os = "linux"), path = "unsupported.rs")]
mod only;

pub use current::mount_id;
pub(crate) use current::{
    NO_ATTRIBUTE, boot_id, copy_range, create_clone, find_process, list, liveness,
    open_dir_beneath, rename_noreplace, set_mode_unopened, this_process,
};
pub use only::DetachedMount;
pub(crate) use only::{
    create_subvolume, destroy_subvolume, detached_overlay, has_nested_subvolumes, make_whiteout,
    may_mount, mount_inside, mount_overlay_with_options, mount_table, set_immutable,
    set_subvolume_access, snapshot_subvolume, subvolume_access, superblock_of, unmount,
};

/// What a file system is, as far as it decides anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileSystem {
    /// ext2, ext3 or ext4: no reflinks.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// tmpfs.
    Tmpfs,
    /// An overlay mount.
    Overlay,
    /// APFS.
    Apfs,
    /// NFS, SMB or another network file system: locks and mmap are not to be trusted.
    Network,
    /// FUSE: anything may be behind it.
    Fuse,
    /// Anything else.
    Other,
}

impl FileSystem {
    /// What the file system at `dir` is.
    pub fn of(dir: &crate::Dir) -> crate::Result<Self> {
        current::file_system(dir)
    }
}

/// What tells a directory apart from any other, also after it was moved (`st_dev` is left out: it
/// changes with every boot).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Inode number.
    pub ino: u64,
    /// When it was made; `None` where the file system does not keep it.
    pub birth: Option<crate::Time>,
    /// Who owns it.
    pub uid: u32,
}

impl Identity {
    /// The identity of an open directory.
    pub fn of(dir: &crate::Dir) -> crate::Result<Self> {
        current::identity(dir)
    }
}
