//! What is said on standard error of what was done.

use fast_worktree::api::{PassedOver, RemoveResponse, Worktree};
use indicatif::{BinaryBytes, HumanCount};

use crate::escape;

/// Of a worktree that was made: by what and at what cost, and who was passed over and why.
pub(crate) fn created(worktree: &Worktree) -> String {
    let time = worktree.elapsed_ms.map(|elapsed_ms| format!(" in {elapsed_ms} ms"));
    let made = format!("made {} by {}", worktree.name, worktree.backend.name());
    let first = format!("{made}{}{}", time.unwrap_or_default(), cost(worktree));
    if worktree.passed_over.is_empty() {
        return first;
    }
    let passed_over: Vec<String> = worktree.passed_over.iter().map(passed_over).collect();
    format!("{first}\npassed over {}", passed_over.join("; "))
}

/// Of a worktree that was removed.
pub(crate) fn removed(removed: &RemoveResponse) -> String {
    let first = format!("removed {} ({})", removed.name, escape::path(&removed.path.0));
    match &removed.branch {
        Some(branch) => format!("{first}\nits branch {branch} stays"),
        None => first,
    }
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
        };
        assert_eq!(removed(&response), r"removed fix (/trees/a\nb)");
        response.branch = Some("work".to_owned());
        assert_eq!(removed(&response), "removed fix (/trees/a\\nb)\nits branch work stays");
    }
}
