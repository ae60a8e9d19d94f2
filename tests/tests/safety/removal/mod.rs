//! What `rm` destroys, and what it never does.

mod foreign;
mod links;
mod meanwhile;
mod moved;
mod unsaved;
