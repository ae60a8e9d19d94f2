//! Runs that end at any system call, by a fault or a kill.

mod checkpoint;
mod create;
mod doctor;
pub(crate) mod faults;
mod forking;
mod interrupts;
mod remove;
mod remove_ways;
mod sealing;
mod signals;
mod ways;
