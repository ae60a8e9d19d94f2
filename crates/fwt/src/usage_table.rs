//! The table of `fwt du`.

use fast_worktree::api::{DiskUsageResponse, SealedUsage, WorktreeUsage};
use fs_sys::Time;
use indicatif::{BinaryBytes, HumanCount};

use crate::table::{Column, Hidden, layout};
use crate::{age, escape};

/// For what is not known, or means nothing.
const NONE: &str = "-";
/// Shown whole or not at all.
const WHOLE: usize = usize::MAX;

const fn column(title: &'static str, least: usize, hidden: Hidden) -> Column {
    Column { title, least, hidden }
}

const COLUMNS: [Column; 8] = [
    column("WHAT", WHOLE, Hidden::Never),
    column("NAME", 8, Hidden::Rank(2)),
    column("OWN", WHOLE, Hidden::Never),
    column("ALL", WHOLE, Hidden::Rank(5)),
    column("FILES", WHOLE, Hidden::Rank(6)),
    column("NEEDED BY", WHOLE, Hidden::Rank(4)),
    column("USED", WHOLE, Hidden::Rank(3)),
    column("PATH", 24, Hidden::Rank(1)),
];

/// Worktrees first, and then what is sealed, store by store.
pub(crate) fn table(usage: &DiskUsageResponse, now: Time, width: Option<usize>) -> String {
    let worktrees = usage.worktrees.iter().map(worktree);
    let sealed = usage.stores.iter().flat_map(|store| &store.sealed).map(|one| sealed(one, now));
    let rows: Vec<_> = worktrees.chain(sealed).collect();
    layout(&COLUMNS, &rows, width)
}

fn worktree(usage: &WorktreeUsage) -> [String; 8] {
    [
        usage.backend.name().to_owned(),
        escape::text(&usage.name),
        usage.own_bytes.map_or_else(|| NONE.to_owned(), |bytes| BinaryBytes(bytes).to_string()),
        NONE.to_owned(),
        NONE.to_owned(),
        NONE.to_owned(),
        NONE.to_owned(),
        escape::path(&usage.path.0),
    ]
}

fn sealed(usage: &SealedUsage, now: Time) -> [String; 8] {
    let name = usage.path.0.file_name().unwrap_or_default().to_string_lossy();
    let needed = usage.worktrees.len() as u64 + usage.sealed_over_it;
    [
        "sealed".to_owned(),
        name.chars().take(10).collect(),
        BinaryBytes(usage.own_bytes).to_string(),
        BinaryBytes(usage.bytes).to_string(),
        HumanCount(usage.files).to_string(),
        needed.to_string(),
        age::since(&usage.last_used_at, now).unwrap_or_else(|| NONE.to_owned()),
        escape::path(&usage.path.0),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use fast_worktree::Kind;
    use fast_worktree::api::{StoreUsage, WirePath};

    use super::*;

    fn path(path: &str) -> WirePath {
        WirePath(PathBuf::from(path))
    }

    #[test]
    fn worktrees_come_before_what_they_stand_on() {
        let worktree = WorktreeUsage {
            id: "id".to_owned(),
            name: "fix".to_owned(),
            path: path("/w/fix"),
            backend: Kind::Btrfs,
            own_bytes: None,
        };
        let sealed = SealedUsage {
            path: path("/s/sealed/0123456789abcdef"),
            layers: 2,
            files: 1234,
            bytes: 3 << 20,
            own_files: 1,
            own_bytes: 1024,
            worktrees: vec!["id".to_owned()],
            sealed_over_it: 1,
            last_used_at: "2027-01-15T07:58:00Z".to_owned(),
        };
        let store = StoreUsage { path: path("/s"), sealed: vec![sealed], sealed_bytes: 1024 };
        let usage = DiskUsageResponse { stores: vec![store], worktrees: vec![worktree] };
        let found = table(&usage, Time { seconds: 1_800_000_000, nanos: 0 }, None);
        let expected = "\
WHAT    NAME        OWN       ALL       FILES  NEEDED BY  USED  PATH
btrfs   fix         -         -         -      -          -     /w/fix
sealed  0123456789  1.00 KiB  3.00 MiB  1,234  2          2m    /s/sealed/0123456789abcdef
";
        assert_eq!(found, expected, "{found}");
    }
}
