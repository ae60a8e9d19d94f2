//! A worktree's row, and the answer that is made of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use backend::Kind;
use fs_sys::ErrorKind;
use pool_db::{State as RowState, Worktree as Row};

use crate::api::{Base, Carried, Carry, Mode, PassedOver, State, Worktree};
use crate::create::carry_name;

/// Seconds since 1970 as RFC 3339 in UTC.
pub(crate) fn rfc3339(seconds: i64) -> String {
    let since = Duration::from_secs(seconds.max(0).cast_unsigned());
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// What the row says, with what can be seen of the tree now.
pub(crate) fn describe(row: &Row) -> Worktree {
    let (head, branch) = current_head(row);
    Worktree {
        id: row.id.to_string(),
        name: row.name.clone(),
        path: row.path.clone().into(),
        source: row.source.clone().into(),
        mode: mode(row),
        state: state(row),
        backend: kind(row),
        passed_over: row.passed_over.iter().map(passed_over).collect(),
        base: row.base.as_ref().map_or_else(no_base, base),
        head,
        branch,
        carry: carry(row),
        carried: Carried::default(),
        included: Vec::new(),
        skipped: Vec::new(),
        hooks: Vec::new(),
        stats: None,
        elapsed_ms: None,
        lease: None,
        created_at: rfc3339(row.created_at),
        last_used_at: rfc3339(row.last_used_at),
    }
}

fn state(row: &Row) -> State {
    match row.state {
        RowState::Making => State::Making,
        RowState::Ready => State::Ready,
        RowState::Condemned => State::Condemned,
        RowState::Removing => State::Removing,
        RowState::Held => match fs_sys::stat(&proof(row)) {
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                State::Missing
            }
            _ => State::Held,
        },
    }
}

/// What is there as long as the tree is.
fn proof(row: &Row) -> PathBuf {
    if row.is_plain() { row.path.clone() } else { row.path.join(".git") }
}

/// HEAD from its file: no process is spawned to list trees. A branch's commit is looked up among the
/// loose refs; where it is packed or in a reftable it is left out.
fn current_head(row: &Row) -> (Option<String>, Option<String>) {
    let git_dir = git_dir(row, &row.path);
    let Ok(head) = fs_sys::read_file(&git_dir.join("HEAD")) else { return (None, None) };
    let head = String::from_utf8_lossy(&head).trim().to_owned();
    let Some(name) = head.strip_prefix("ref: ") else { return (Some(head), None) };
    // The stand-in that a repository with reftables keeps here.
    let Some(branch) = name.strip_prefix("refs/heads/").filter(|branch| *branch != ".invalid")
    else {
        return (None, None);
    };
    let refs = match mode(row) {
        Mode::Linked => &row.repository.common_dir,
        Mode::Standalone => &git_dir,
    };
    let commit = fs_sys::read_file(&refs.join(name)).ok();
    let commit = commit.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    (commit, Some(branch.to_owned()))
}

fn mode(row: &Row) -> Mode {
    match row.mode {
        pool_db::Mode::Linked => Mode::Linked,
        pool_db::Mode::Standalone => Mode::Standalone,
    }
}

/// What git keeps for the tree, whose files are at `tree` now: its admin directory, or its own
/// repository.
pub(crate) fn git_dir(row: &Row, tree: &Path) -> PathBuf {
    row.admin_dir.clone().unwrap_or_else(|| tree.join(".git"))
}

fn carry(row: &Row) -> Carry {
    let all = [Carry::Clean, Carry::Dirty, Carry::All];
    all.into_iter().find(|carry| carry_name(*carry) == row.carry).unwrap_or_default()
}

pub(crate) fn kind(row: &Row) -> Kind {
    let named = crate::backends().find(|kind| kind.name() == row.backend);
    named.unwrap_or(Kind::Checkout)
}

fn base(base: &pool_db::Base) -> Base {
    Base { rev: base.rev.clone(), commit: base.commit.clone(), from: base.from.clone() }
}

/// A copy of a plain directory starts at no commit.
fn no_base() -> Base {
    Base { rev: String::new(), commit: String::new(), from: "directory".to_owned() }
}

fn passed_over(passed: &pool_db::PassedOver) -> PassedOver {
    PassedOver {
        backend: passed.backend.clone(),
        reason: passed.reason.clone(),
        detail: passed.detail.clone(),
    }
}
