//! What is said on standard error of what was done.

use fast_worktree::api::{
    AttachResponse, Attached, HookOutcome, HookReport, PassedOver, ReleaseResponse, RemoveResponse,
    SealResponse, SealedCommit, TouchResponse, TrustResponse, Worktree,
};
use indicatif::{BinaryBytes, HumanCount};

use crate::escape;
use crate::worktree_fields::wire_name;

/// Of a worktree that was made: by what and at what cost, and who was passed over and why.
pub(crate) fn created(worktree: &Worktree) -> String {
    let time = worktree.elapsed_ms.map(|elapsed_ms| format!(" in {elapsed_ms} ms"));
    let made = format!("made {} by {}", worktree.name, worktree.backend.name());
    let first = format!("{made}{}{}", time.unwrap_or_default(), cost(worktree));
    let mut lines = vec![first];
    if !worktree.passed_over.is_empty() {
        let passed_over: Vec<String> = worktree.passed_over.iter().map(passed_over).collect();
        lines.push(format!("passed over {}", passed_over.join("; ")));
    }
    lines.extend(worktree.hooks.iter().filter_map(hook));
    lines.extend(
        worktree
            .lease
            .as_ref()
            .map(|lease| format!("held by lease {} until {}", lease.id, lease.expires_at)),
    );
    lines.join("\n")
}

/// Of a lease that was prolonged.
pub(crate) fn touched(touched: &TouchResponse) -> String {
    format!("{} is held until {}", escape::text(&touched.name), touched.lease.expires_at)
}

/// Of a lease that was given back.
pub(crate) fn released(released: &ReleaseResponse) -> String {
    let (name, path) = (escape::text(&released.name), escape::path(&released.path.0));
    format!("{name} is held no more; it stays at {path}")
}

/// Of a hook that did not do what it is for; one that did needs no words.
fn hook(report: &HookReport) -> Option<String> {
    let name = wire_name(report.hook);
    let detail = escape::lines(report.detail.as_deref().unwrap_or_default());
    match report.outcome {
        HookOutcome::Done => None,
        HookOutcome::Failed => Some(format!("the {name} hook failed: {detail}")),
        HookOutcome::NotTrusted => Some(format!("no {name} hook ran: {detail}; fwt trust lets it")),
    }
}

/// Of worktrees that were to be mounted.
pub(crate) fn attached(attached: &AttachResponse) -> String {
    if attached.worktrees.is_empty() {
        return "no worktree needs a mount".to_owned();
    }
    let line = |one: &Attached| {
        let (name, path) = (escape::text(&one.name), escape::path(&one.path.0));
        match &one.error {
            Some(error) => {
                format!("cannot mount {name} ({path}): {}", escape::lines(&error.message))
            }
            None if one.was_mounted => format!("{name} ({path}) is there"),
            None => format!("mounted {name} ({path})"),
        }
    };
    attached.worktrees.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Of commits that are sealed.
pub(crate) fn sealed(sealed: &SealResponse) -> String {
    let line = |one: &SealedCommit| {
        let what = if one.was_sealed { "was sealed before" } else { "is sealed" };
        let (files, bytes) = (HumanCount(one.files), BinaryBytes(one.bytes));
        let layers = if one.layers == 1 { "" } else { " over others" };
        format!(
            "{} {what} for {}: {files} files, {bytes}{layers}",
            escape::text(&one.rev),
            sealed.backend.name()
        )
    };
    let mut lines: Vec<String> = sealed.sealed.iter().map(line).collect();
    if !sealed.passed_over.is_empty() {
        let passed_over: Vec<String> = sealed.passed_over.iter().map(passed_over).collect();
        lines.push(format!("passed over {}", passed_over.join("; ")));
    }
    lines.join("\n")
}

/// Of what is trusted now.
pub(crate) fn trusted(trusted: &TrustResponse) -> String {
    let path = escape::path(&trusted.path.0);
    if !trusted.is_trusted {
        return format!("no {path} is trusted any more");
    }
    let mut lines = vec![format!("trusted {path} as it is now")];
    let commands = [("setup", &trusted.setup), ("cleanup", &trusted.cleanup)];
    for (name, command) in commands {
        if let Some(command) = command {
            lines.push(format!("{name}: {}", escape::lines(command)));
        }
    }
    lines.join("\n")
}

/// Of a worktree that was removed.
pub(crate) fn removed(removed: &RemoveResponse) -> String {
    let first = format!("removed {} ({})", removed.name, escape::path(&removed.path.0));
    let branch = removed.branch.as_ref().map(|branch| format!("its branch {branch} stays"));
    let hooks = removed.hooks.iter().filter_map(hook);
    [first].into_iter().chain(branch).chain(hooks).collect::<Vec<_>>().join("\n")
}

/// Of a list without lines, which a person could take for a mistake.
pub(crate) const NONE_LISTED: &str = "no worktrees";

fn cost(worktree: &Worktree) -> String {
    let Some(stats) = worktree.stats else { return String::new() };
    let files = HumanCount(stats.files);
    let shared = BinaryBytes(stats.bytes_cloned);
    let written = BinaryBytes(stats.bytes_copied.saturating_add(stats.bytes_from_git));
    let left_out = match worktree.skipped.len() {
        0 => String::new(),
        number => format!(", {number} left out"),
    };
    format!(": {files} files, {shared} shared, {written} written{left_out}")
}

fn passed_over(passed: &PassedOver) -> String {
    format!("{} ({}): {}", passed.backend, passed.reason, passed.detail)
}

#[cfg(test)]
mod tests {
    use fast_worktree::api::{Skipped, Stats, WirePath};

    use super::*;
    use crate::worktree_fields::tests::example;

    #[test]
    fn the_cost_and_the_reasons_are_said() {
        let mut worktree = example();
        worktree.elapsed_ms = Some(41);
        worktree.stats = Some(Stats {
            files: 1204,
            files_from_git: 4,
            bytes_cloned: 0,
            bytes_copied: 3 << 20,
            bytes_from_git: 1 << 19,
        });
        let reason = "special".to_owned();
        worktree.skipped = vec![Skipped { path: WirePath("pipe".into()), reason }];
        assert_eq!(
            created(&worktree),
            "made fix-login by copy in 41 ms: 1,204 files, 0 B shared, 3.50 MiB written, 1 left out\n\
             passed over reflink (no-reflink): cloning a file failed",
        );
        worktree.passed_over.clear();
        assert_eq!(created(&worktree).lines().count(), 1);
    }

    #[test]
    fn a_branch_stays() {
        let mut response = RemoveResponse {
            id: "abcdefghijklm".to_owned(),
            name: "fix".to_owned(),
            path: WirePath("/trees/a\nb".into()),
            branch: None,
            hooks: Vec::new(),
        };
        assert_eq!(removed(&response), r"removed fix (/trees/a\nb)");
        response.branch = Some("work".to_owned());
        assert_eq!(removed(&response), "removed fix (/trees/a\\nb)\nits branch work stays");
    }
}
