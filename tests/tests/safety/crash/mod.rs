//! Runs that end at any system call, by a fault or a kill.

mod create;
mod faults;
mod remove;
mod signals;
