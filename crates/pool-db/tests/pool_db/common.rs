//! A registry in a temporary home, and worktrees to put into it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use fs_sys::process::ProcessId;
use pool_db::{
    Base, Birth, Mode, Nonce, PassedOver, Placement, Registry, Repository, RepositoryIdentity,
    State, Worktree, WorktreeId,
};
use tempfile::TempDir;

pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) const REPOSITORY: RepositoryIdentity = RepositoryIdentity {
    ino: 42,
    birth: Some(Birth { seconds: 1_700_000_000, nanos: 5 }),
    uid: 1000,
};

pub(crate) fn registry() -> (TempDir, Registry) {
    let home = tempfile::tempdir().unwrap();
    let registry = Registry::open(home.path()).unwrap();
    (home, registry)
}

/// A plain worktree of [`REPOSITORY`], its path made from its name.
pub(crate) fn worktree(name: &str) -> Worktree {
    Worktree {
        id: WorktreeId::random().unwrap(),
        nonce: Nonce::random().unwrap(),
        name: name.to_owned(),
        state: State::Making,
        epoch: 0,
        repository: Repository { common_dir: "/source/.git".into(), identity: REPOSITORY },
        source: "/source".into(),
        path: PathBuf::from("/trees").join(name),
        making_path: None,
        admin_dir: None,
        trash_path: None,
        placement: Placement::Store,
        mode: Mode::Linked,
        backend: "overlay".to_owned(),
        passed_over: Vec::new(),
        carry: "clean".to_owned(),
        base: None,
        branch: None,
        maker: ProcessId {
            pid: 7,
            start_ticks: 1,
            boot_id: "boot".to_owned(),
            pid_namespace: 4_026_531_836,
        },
        created_at: NOW,
        last_used_at: NOW,
        rebuilt_at: None,
        directory: None,
        sealed: None,
        extra: BTreeMap::new(),
    }
}

/// A worktree with everything set, and nothing of it tame.
pub(crate) fn odd_worktree() -> Worktree {
    let bytes = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    Worktree {
        repository: Repository {
            common_dir: bytes(b"/s\xff\n/.git"),
            identity: RepositoryIdentity { ino: u64::MAX, birth: None, uid: u32::MAX },
        },
        source: bytes(b"/s\xff\n"),
        path: bytes(b"/t/'\"; DROP TABLE worktrees; --\xc3\x28"),
        making_path: Some(bytes(b"/t/.making\x01")),
        admin_dir: Some(bytes(b"/s\xff\n/.git/worktrees/x")),
        trash_path: Some("/t/\u{1F980}".into()),
        placement: Placement::At,
        mode: Mode::Standalone,
        passed_over: vec![PassedOver {
            backend: "btrfs".to_owned(),
            reason: "wrong-filesystem".to_owned(),
            detail: "\"ext4\"\n".to_owned(),
        }],
        base: Some(Base {
            rev: "HEAD~1".to_owned(),
            commit: "0".repeat(40),
            from: "source".to_owned(),
        }),
        branch: Some("fwt/ü'\"".to_owned()),
        maker: ProcessId {
            pid: u32::MAX,
            start_ticks: u64::MAX,
            boot_id: String::new(),
            pid_namespace: u64::MAX,
        },
        created_at: i64::MIN,
        last_used_at: i64::MAX,
        sealed: Some("/store/sealed/\u{1F980}".into()),
        directory: Some(RepositoryIdentity { ino: 7, birth: None, uid: 0 }),
        extra: BTreeMap::from([("later".to_owned(), serde_json::json!({"a": [1, null]}))]),
        ..worktree("a'b\"c/\u{1F980} %_\\")
    }
}
