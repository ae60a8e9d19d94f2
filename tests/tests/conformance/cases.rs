//! The cases, by area.

mod bystanders;
mod carry;
mod carry_all;
mod changes;
mod content;
mod conversion;
mod dirty_source;
mod formats;
mod git_use;
mod hand_over;
mod ignored_roots;
mod include;
mod kinds;
mod large_files;
mod later_commits;
mod modes;
mod names;
mod neighbours;
mod own_repository;
mod partial_clone;
mod places;
mod plain;
pub(crate) mod programs;
mod refusals;
mod revisions;
mod sharing;
mod sparse_checkout;
mod special_files;
mod standalone;
mod submodules;
mod subvolumes;

use crate::matrix::Case;

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let areas = [
        dirty_source::CASES,
        bystanders::CASES,
        carry::CASES,
        carry_all::CASES,
        changes::CASES,
        content::CASES,
        conversion::CASES,
        formats::CASES,
        git_use::CASES,
        hand_over::CASES,
        ignored_roots::CASES,
        include::CASES,
        kinds::CASES,
        large_files::CASES,
        later_commits::CASES,
        modes::CASES,
        names::CASES,
        neighbours::CASES,
        own_repository::CASES,
        partial_clone::CASES,
        places::CASES,
        plain::CASES,
        programs::CASES,
        refusals::CASES,
        revisions::CASES,
        sharing::CASES,
        sparse_checkout::CASES,
        special_files::CASES,
        standalone::CASES,
        submodules::CASES,
        subvolumes::CASES,
    ];
    areas.into_iter().flatten().copied()
}
