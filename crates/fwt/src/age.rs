//! How long ago something was, in as few characters as a table has.

use std::time::{Duration, SystemTime};

use fs_sys::Time;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The age of an RFC 3339 time; `None` where it is none.
pub(crate) fn since(then: &str, now: Time) -> Option<String> {
    let then = humantime::parse_rfc3339_weak(then).ok()?;
    let now = Duration::from_secs(u64::try_from(now.seconds).ok()?);
    let age = (SystemTime::UNIX_EPOCH + now).duration_since(then);
    // A clock may have been set back since; what is to come is new.
    Some(short(age.map_or(0, |age| age.as_secs())))
}

/// The largest unit that there is at least one of.
fn short(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_is_named() {
        let check = |then: &str, expected: Option<&str>| {
            let now = Time { seconds: 1_800_000_000, nanos: 0 };
            assert_eq!(since(then, now).as_deref(), expected, "{then}");
        };
        // 1,800,000,000 is 2027-01-15T08:00:00Z.
        check("2027-01-15T08:00:00Z", Some("0s"));
        check("2027-01-15T07:59:01Z", Some("59s"));
        check("2027-01-15T07:59:00.9Z", Some("59s"));
        check("2027-01-15T07:00:01Z", Some("59m"));
        check("2027-01-14T08:00:01Z", Some("23h"));
        check("2027-01-14T08:00:00Z", Some("1d"));
        check("2025-01-15T08:00:00Z", Some("730d"));
        check("2027-01-15T09:00:00Z", Some("0s"));
        check("yesterday", None);
    }
}
