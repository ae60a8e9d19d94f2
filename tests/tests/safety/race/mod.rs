//! Many at work at once: on the source, and with fwt.

mod creates;
mod source;
mod ways;

use std::sync::atomic::{AtomicBool, Ordering};

/// Does something over and over while `act` runs.
fn beside<T>(mut disturb: impl FnMut(usize) + Send, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            for round in 0.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                disturb(round);
            }
        });
        // Also when `act` panics: the scope waits for the other.
        let ended = Ended(&stop);
        let done = act();
        drop(ended);
        other.join().expect("the other side ends");
        done
    })
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
