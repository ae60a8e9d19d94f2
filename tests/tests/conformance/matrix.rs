//! The matrix: which trials there are, and by which name.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;

use backend::Kind;
use fwt_tests::filesystem::{Filesystem, is_ci};
use fwt_tests::{Sandbox, environment};
use libtest_mimic::Trial;

use crate::cases::programs;
use crate::stage::{Cell, Mode, Stage};
use crate::{cases, chain};

/// One rule of conformance.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// The rule, after the id of the failure that it guards against.
    pub(crate) name: &'static str,
    /// What must hold.
    pub(crate) check: fn(&Stage),
    /// Where it can be told.
    pub(crate) needs: Needs,
}

/// What a case needs besides a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// A backend that takes files of the source by itself; plain git takes none.
    Donors,
    /// A backend that carries more than a commit.
    Carries,
    /// A backend that shares bytes with the source.
    SharedBytes,
    /// A backend whose trees stand on sealed ones.
    SealedParent,
    /// `strace`, to see which files a program opens.
    Trace,
    /// A backend that carries more than a commit, and `strace`.
    CarriesAndTrace,
    /// A user whom permissions can stop.
    PlainUser,
    /// btrfs, whatever makes the tree.
    Subvolumes,
    /// A compiler of C.
    Compiler,
    /// A backend that carries more than a commit, and `cargo`.
    CarriesAndCargo,
}

impl Case {
    pub(crate) const fn new(name: &'static str, check: fn(&Stage)) -> Self {
        Self { name, check, needs: Needs::Nothing }
    }

    pub(crate) const fn needing(name: &'static str, needs: Needs, check: fn(&Stage)) -> Self {
        Self { name, check, needs }
    }

    /// Whether the case means anything in a cell.
    fn is_about(self, backend: Kind, filesystem: Filesystem) -> bool {
        match self.needs {
            Needs::Nothing | Needs::Trace | Needs::PlainUser | Needs::Compiler => true,
            Needs::Subvolumes => filesystem == Filesystem::Btrfs,
            Needs::Donors => backend != Kind::Checkout && !backend.needs_sealed_parent(),
            Needs::Carries | Needs::CarriesAndTrace | Needs::CarriesAndCargo => {
                backend != Kind::Checkout
            }
            Needs::SharedBytes => backend.shares_bytes(),
            Needs::SealedParent => backend.needs_sealed_parent(),
        }
    }

    /// What this machine or user lacks for it.
    fn lacks(self) -> Option<&'static str> {
        match self.needs {
            Needs::Nothing
            | Needs::Donors
            | Needs::Carries
            | Needs::SharedBytes
            | Needs::SealedParent
            | Needs::Subvolumes => None,
            Needs::Compiler => {
                (!environment::has_program("cc")).then_some("there is no C compiler")
            }
            Needs::CarriesAndCargo => programs::cargo().is_none().then_some("cargo does not run"),
            Needs::Trace | Needs::CarriesAndTrace => {
                (!environment::has_program("strace")).then_some("strace is not installed")
            }
            // The suite is run a second time as a plain user.
            Needs::PlainUser => is_root().then_some("permissions do not stop root"),
        }
    }
}

/// All trials.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut lacking = BTreeSet::new();
    for filesystem in Filesystem::ROOMY {
        let missing = filesystem.directory().err().map(|missing| missing.to_string());
        for cell in cells(filesystem) {
            for case in cases_of(cell) {
                let lack = missing.clone().or_else(|| case.lacks().map(str::to_owned));
                lacking.extend(lack.clone());
                trials.push(trial(cell, case, lack));
            }
        }
    }
    for lack in lacking {
        say(&format!("trials are skipped: {lack}"));
    }
    trials
}

fn cells(filesystem: Filesystem) -> Vec<Cell> {
    let on = |backend, mode| Cell { backend, filesystem, mode };
    let named = Kind::OVER_SEALED
        .into_iter()
        .chain(Kind::ALL)
        .map(|backend| on(Some(backend), Mode::Linked));
    // The chain as a whole, and the short name of its last rung.
    let all = named.chain([on(None, Mode::Linked), on(Some(Kind::Checkout), Mode::Checkout)]);
    all.filter(|cell| is_root() || is_enough_for_plain_users(*cell)).collect()
}

/// A plain user differs from root in what permissions allow, which is the same on every file system: each
/// backend is tried on one.
fn is_enough_for_plain_users(cell: Cell) -> bool {
    let filesystem = match cell.backend {
        None => return true,
        Some(Kind::Btrfs) => Filesystem::Btrfs,
        Some(Kind::Reflink) => Filesystem::Xfs,
        Some(Kind::Checkout) => Filesystem::Tmpfs,
        Some(_) => Filesystem::Ext4,
    };
    cell.filesystem == filesystem
}

fn cases_of(cell: Cell) -> Vec<Case> {
    let Some(backend) = cell.backend else { return chain::CASES.to_vec() };
    if cell.mode == Mode::Checkout {
        return chain::SHORT_NAME_CASES.to_vec();
    }
    if !is_possible(backend, cell.filesystem) {
        return chain::IMPOSSIBLE_CASES.to_vec();
    }
    cases::all().filter(|case| case.is_about(backend, cell.filesystem)).collect()
}

fn trial(cell: Cell, case: Case, lack: Option<String>) -> Trial {
    // Where `CI` is set every file system is there, or the run has failed.
    let is_skipped = lack.is_some() && (!is_ci() || case.lacks().is_some());
    let trial = Trial::test(format!("{cell}::{}", case.name), move || {
        match (lack, cell.filesystem.directory()) {
            (None, Ok(directory)) => {
                (case.check)(&Stage::new(cell, Sandbox::below(&directory)));
                Ok(())
            }
            (Some(lack), _) => Err(lack.into()),
            (None, Err(missing)) => Err(missing.to_string().into()),
        }
    });
    trial.with_ignored_flag(is_skipped)
}

/// Whether a backend can work on a file system, for this user.
fn is_possible(backend: Kind, filesystem: Filesystem) -> bool {
    match backend {
        Kind::Overlay => is_root(),
        Kind::Btrfs => filesystem == Filesystem::Btrfs,
        Kind::Reflink => filesystem.has_reflinks(),
        Kind::Copy | Kind::Checkout | _ => true,
    }
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

#[expect(clippy::print_stderr, reason = "a run says what it could not try")]
fn say(text: &str) {
    eprintln!("{text}");
}
