//! A test that hangs fails.
#![expect(clippy::print_stderr, reason = "what a test skips or leaves is said on its stderr")]

use std::sync::mpsc;
use std::time::Duration;

/// Runs `act`, and ends the test binary if that takes longer than any honest run.
pub(crate) fn within_a_minute<T>(act: impl FnOnce() -> T) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("hangs");
            std::process::abort();
        }
    });
    let result = act();
    drop(done);
    watchdog.join().unwrap();
    result
}
