//! The conformance suite: every case on every backend, file system and mode, compared with what plain
//! git makes.

mod carried;
mod cases;
mod chain;
mod check;
mod matrix;
mod stage;
mod trace;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, matrix::trials()).exit_code()
}
