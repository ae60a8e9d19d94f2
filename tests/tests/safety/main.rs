//! What must hold however a run ends, whoever else is at work, and whatever is asked for.

mod crash;
mod eviction;
mod hooks;
mod hot;
mod leases;
mod leftovers;
mod misuse;
mod mount;
mod owner;
mod race;
mod reboot;
mod removal;
mod room;
mod scene;
mod sealed;
mod ways;
