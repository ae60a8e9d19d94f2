//! What must hold however a run ends, whoever else is at work, and whatever is asked for.

mod crash;
mod leftovers;
mod misuse;
mod mount;
mod race;
mod removal;
mod scene;
