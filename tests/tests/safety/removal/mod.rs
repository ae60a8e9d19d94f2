//! What `rm` destroys, and what it never does.

mod dependents;
mod foreign;
mod links;
mod meanwhile;
mod moved;
mod unsaved;
