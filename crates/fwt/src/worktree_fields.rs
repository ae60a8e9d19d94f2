//! What `fwt show` prints of a worktree: a line a field.

use std::fmt::Write as _;

use fast_worktree::api::{Carried, LeaseInfo, Worktree};
use fs_sys::Time;
use serde::Serialize;

use crate::{age, escape};

/// The stable name of a value that JSON writes as a string.
pub(crate) fn wire_name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => unreachable!("stable names are strings: {other:?}"),
    }
}

/// The fields, a line each, in one column of names and one of values.
pub(crate) fn fields(worktree: &Worktree, now: Time) -> String {
    let mut text = String::new();
    for (name, value) in named(worktree, now) {
        writeln!(text, "{name:<13}{value}").expect("a String takes any text");
    }
    text
}

fn named(worktree: &Worktree, now: Time) -> Vec<(&'static str, String)> {
    let none = || "none".to_owned();
    let base = &worktree.base;
    let mut fields = vec![
        ("name", escape::text(&worktree.name)),
        ("id", worktree.id.clone()),
        ("path", escape::path(&worktree.path.0)),
        ("state", wire_name(worktree.state)),
        ("source", escape::path(&worktree.source.0)),
        ("mode", wire_name(worktree.mode)),
        ("backend", worktree.backend.name().to_owned()),
    ];
    for passed in &worktree.passed_over {
        let text = format!("{} ({}): {}", passed.backend, passed.reason, passed.detail);
        fields.push(("passed over", escape::text(&text)));
    }
    fields.extend([
        ("base", format!("{} ({})", base.commit, escape::text(&base.rev))),
        ("head", worktree.head.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("branch", worktree.branch.as_deref().map_or_else(none, escape::text)),
        ("carry", format!("{}{}", wire_name(worktree.carry), carried(worktree.carried))),
        ("lease", worktree.lease.as_ref().map_or_else(none, lease)),
        ("created", moment(&worktree.created_at, now)),
        ("last used", moment(&worktree.last_used_at, now)),
    ]);
    fields
}

fn carried(carried: Carried) -> String {
    if carried == Carried::default() {
        return String::new();
    }
    let Carried { modified, untracked, deleted, ignored } = carried;
    format!(": {modified} modified, {untracked} untracked, {deleted} deleted, {ignored} ignored")
}

fn lease(lease: &LeaseInfo) -> String {
    escape::text(&format!("{} by {} until {}", lease.id, lease.holder, lease.expires_at))
}

fn moment(time: &str, now: Time) -> String {
    match age::since(time, now) {
        Some(age) => format!("{time} ({age} ago)"),
        None => escape::text(time),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use fast_worktree::Kind;
    use fast_worktree::api::{Base, Carry, Mode, PassedOver, State, WirePath};

    use super::*;

    pub(crate) fn example() -> Worktree {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        Worktree {
            id: "abcdefghijklm".to_owned(),
            name: "fix-login".to_owned(),
            path: WirePath("/home/me/.local/share/fwt/worktrees/shop-1a2b/fix-login".into()),
            source: WirePath("/home/me/shop".into()),
            mode: Mode::Linked,
            state: State::Held,
            backend: Kind::Copy,
            passed_over: vec![PassedOver {
                backend: "reflink".to_owned(),
                reason: "no-reflink".to_owned(),
                detail: "cloning a file failed".to_owned(),
            }],
            base: Base {
                rev: "HEAD".to_owned(),
                commit: commit.to_owned(),
                from: "head".to_owned(),
            },
            head: Some(commit.to_owned()),
            branch: Some("fix".to_owned()),
            carry: Carry::Clean,
            carried: Carried::default(),
            included: Vec::new(),
            skipped: Vec::new(),
            hooks: Vec::new(),
            stats: None,
            elapsed_ms: None,
            lease: None,
            created_at: "2027-01-15T05:00:00Z".to_owned(),
            last_used_at: "2027-01-15T07:59:00Z".to_owned(),
        }
    }

    #[test]
    fn every_field_has_a_line() {
        let now = Time { seconds: 1_800_000_000, nanos: 0 };
        insta::assert_snapshot!(fields(&example(), now), @r"
        name         fix-login
        id           abcdefghijklm
        path         /home/me/.local/share/fwt/worktrees/shop-1a2b/fix-login
        state        held
        source       /home/me/shop
        mode         linked
        backend      copy
        passed over  reflink (no-reflink): cloning a file failed
        base         0123456789abcdef0123456789abcdef01234567 (HEAD)
        head         0123456789abcdef0123456789abcdef01234567
        branch       fix
        carry        clean
        lease        none
        created      2027-01-15T05:00:00Z (3h ago)
        last used    2027-01-15T07:59:00Z (1m ago)
        ");
    }

    #[test]
    fn what_was_carried_is_counted() {
        let some = Carried { modified: 1, untracked: 2, deleted: 3, ignored: 4 };
        assert_eq!(carried(some), ": 1 modified, 2 untracked, 3 deleted, 4 ignored");
        assert_eq!(carried(Carried::default()), "");
    }
}
