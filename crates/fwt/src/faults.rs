//! `FWT_FAULTS`: lets a test fail or end this program at any file system call.

use fast_worktree::api::{ApiError, Code};
use fs_sys::faults::{Fault, arm, calls};

use crate::environment::Variables;
use crate::printer::to_stderr;

/// What the variable asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    /// Print the number of calls.
    Count,
    /// Meet the fault at the `nth` call, of those named `op` where it is given.
    Meet { nth: u64, fault: Fault, op: Option<String> },
}

/// Calls are counted from here on.
#[derive(Debug)]
pub(crate) struct Armed {
    wish: Option<Wish>,
}

/// Does what the variable asks for.
pub(crate) fn arm_from(variables: &Variables) -> Result<Armed, ApiError> {
    let Some(text) = variables.value("FWT_FAULTS") else { return Ok(Armed { wish: None }) };
    let wish = text.to_str().and_then(parse).ok_or_else(|| {
        let message = format!("FWT_FAULTS={}: not a fault", text.display());
        ApiError::new(Code::BadRequest, message).with_hint(
            "fail:N:ERRNO[:op], signal:N:NUMBER[:op], abort:N[:op] or count; N counts from 1",
        )
    })?;
    match &wish {
        // No call is the last of all.
        Wish::Count => arm(u64::MAX, Fault::Abort, None),
        Wish::Meet { nth, fault, op } => arm(*nth, *fault, op.as_deref()),
    }
    Ok(Armed { wish: Some(wish) })
}

impl Armed {
    /// Prints the number of calls, if that was asked for.
    pub(crate) fn report(&self) {
        if self.wish == Some(Wish::Count) {
            to_stderr(&format!("fs-sys calls: {}\n", calls()));
        }
    }
}

fn parse(text: &str) -> Option<Wish> {
    if text == "count" {
        return Some(Wish::Count);
    }
    let mut words = text.split(':');
    let kind = words.next()?;
    let nth = words.next()?.parse().ok().filter(|nth| *nth > 0)?;
    let fault = match kind {
        "fail" => Fault::Fail(words.next()?.parse().ok().filter(|errno| *errno > 0)?),
        "abort" => Fault::Abort,
        "signal" => Fault::Signal(words.next()?.parse().ok().filter(|number| *number > 0)?),
        _ => return None,
    };
    let op = words.next().map(str::to_owned);
    words.next().is_none().then_some(Wish::Meet { nth, fault, op })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read() {
        let meet = |nth, fault, op: Option<&str>| {
            Some(Wish::Meet { nth, fault, op: op.map(str::to_owned) })
        };
        let check = |text, expected| assert_eq!(parse(text), expected, "{text}");
        check("count", Some(Wish::Count));
        check("fail:3:28", meet(3, Fault::Fail(28), None));
        check("fail:1:5:rename", meet(1, Fault::Fail(5), Some("rename")));
        check("abort:7", meet(7, Fault::Abort, None));
        check("signal:2:15", meet(2, Fault::Signal(15), None));
        check("abort:7:open", meet(7, Fault::Abort, Some("open")));
        for wrong in [
            "",
            "fail",
            "fail:1",
            "fail:0:5",
            "fail:1:x",
            "signal:1:0",
            "abort:x",
            "abort:1:a:b",
            "no:1",
        ] {
            check(wrong, None);
        }
    }
}
