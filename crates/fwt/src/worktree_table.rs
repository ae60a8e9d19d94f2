//! The table of `fwt list`.

use fast_worktree::api::Worktree;
use fs_sys::Time;

use crate::table::{Column, Hidden, layout};
use crate::worktree_fields::wire_name;
use crate::{age, escape};

/// So many digits tell the commits of all but the largest repositories apart.
const SHORT_COMMIT: usize = 10;
/// For what is not known, or not there.
const NONE: &str = "-";

const fn column(title: &'static str, least: usize, hidden: Hidden) -> Column {
    Column { title, least, hidden }
}

/// A path cut to less than this says too little; others make room for it.
const LEAST_PATH: usize = 24;
/// Ids, states and the like are shown whole or not at all.
const WHOLE: usize = usize::MAX;

const COLUMNS: [Column; 8] = [
    column("NAME", 8, Hidden::Never),
    column("ID", WHOLE, Hidden::Rank(1)),
    column("STATE", WHOLE, Hidden::Rank(2)),
    column("BACKEND", WHOLE, Hidden::Rank(5)),
    column("HEAD", WHOLE, Hidden::Rank(6)),
    column("BRANCH", 8, Hidden::Rank(4)),
    column("AGE", WHOLE, Hidden::Rank(3)),
    column("PATH", LEAST_PATH, Hidden::Rank(0)),
];

/// The worktrees, one a line.
pub(crate) fn table(worktrees: &[Worktree], now: Time, width: Option<usize>) -> String {
    let rows: Vec<_> = worktrees.iter().map(|worktree| row(worktree, now)).collect();
    layout(&COLUMNS, &rows, width)
}

fn row(worktree: &Worktree, now: Time) -> [String; 8] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let short = |commit: &String| commit.chars().take(SHORT_COMMIT).collect();
    [
        escape::text(&worktree.name),
        worktree.id.clone(),
        wire_name(worktree.state),
        worktree.backend.name().to_owned(),
        or_none(worktree.head.as_ref().map(short)),
        or_none(worktree.branch.as_deref().map(escape::text)),
        or_none(age::since(&worktree.created_at, now)),
        escape::path(&worktree.path.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree_fields::tests::example;

    const NOW: Time = Time { seconds: 1_800_000_000, nanos: 0 };

    #[test]
    fn a_program_reads_everything() {
        let mut odd = example();
        odd.name = "line\nfeed".to_owned();
        odd.branch = None;
        odd.head = None;
        insta::assert_snapshot!(table(&[example(), odd], NOW, None), @r"
        NAME        ID             STATE  BACKEND  HEAD        BRANCH  AGE  PATH
        fix-login   abcdefghijklm  held   copy     0123456789  fix     3h   /home/me/.local/share/fwt/worktrees/shop-1a2b/fix-login
        line\nfeed  abcdefghijklm  held   copy     -           -       3h   /home/me/.local/share/fwt/worktrees/shop-1a2b/fix-login
        ");
    }

    #[test]
    fn a_narrow_terminal_reads_what_matters() {
        insta::assert_snapshot!(table(&[example()], NOW, Some(80)), @r"
        NAME       ID             STATE  BACKEND  BRANCH  AGE  PATH
        fix-login  abcdefghijklm  held   copy     fix     3h   /home/me/.lo…2b/fix-login
        ");
        insta::assert_snapshot!(table(&[example()], NOW, Some(40)), @r"
        NAME       PATH
        fix-login  /home/me/.loca…1a2b/fix-login
        ");
    }
}
