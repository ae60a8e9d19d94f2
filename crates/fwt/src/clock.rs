//! The clocks.

use std::time::{SystemTime, UNIX_EPOCH};

use fs_sys::Time;

/// The time now.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub(crate) fn now() -> Time {
    since_epoch(SystemTime::now())
}

/// Seconds since boot, time asleep included; `None` where the platform does not say. The first number of
/// `/proc/uptime` (`proc_uptime(5)`) is that of `CLOCK_BOOTTIME`.
pub(crate) fn since_boot() -> Option<i64> {
    let text = fs_sys::read_file("/proc/uptime".as_ref()).ok()?;
    let seconds = text.split(|byte| *byte == b'.').next()?;
    std::str::from_utf8(seconds).ok()?.parse().ok()
}

/// A clock that was never set may stand before 1970; what is 0.25 s before it is −1 s + 0.75 s.
fn since_epoch(time: SystemTime) -> Time {
    let (seconds, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (seconds(after.as_secs()), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            match before.subsec_nanos() {
                0 => (-seconds(before.as_secs()), 0),
                nanos => (-seconds(before.as_secs()) - 1, 1_000_000_000 - nanos),
            }
        }
    };
    Time { seconds, nanos }
}

fn seconds(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn both_sides_of_1970() {
        let check = |time, seconds, nanos| assert_eq!(since_epoch(time), Time { seconds, nanos });
        check(UNIX_EPOCH, 0, 0);
        check(UNIX_EPOCH + Duration::from_millis(1_250), 1, 250_000_000);
        check(UNIX_EPOCH - Duration::from_secs(2), -2, 0);
        check(UNIX_EPOCH - Duration::from_millis(250), -1, 750_000_000);
    }
}
