//! What only Linux has, in one list: `unsupported.rs` has the same.

mod mount;
mod node;
mod statmount;
mod subvolume;

pub use mount::DetachedMount;
pub(crate) use mount::{
    detached_overlay, may_mount, mount_overlay_with_options, mount_table, unmount,
};
pub(crate) use node::{make_whiteout, set_immutable};
pub(crate) use statmount::{mount_inside, superblock_of};
pub(crate) use subvolume::{
    create_subvolume, destroy_subvolume, has_nested_subvolumes, set_subvolume_access,
    snapshot_subvolume, subvolume_access,
};
