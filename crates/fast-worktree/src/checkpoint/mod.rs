//! Checkpoints of a tree of ours, of a person's own checkout, or of a plain directory.
//!
//! The logs, the last known states and the contents are together in the store on the tree's file
//! system, where large files can share their blocks with it. `FWT_HOME` says which store that is.

mod collect;
mod describe;
mod home;
mod read;
mod write;
