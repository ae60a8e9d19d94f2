//! The cases, by area.

mod carry;
mod content;
mod conversion;
mod dirty_source;
mod formats;
mod git_use;
mod hand_over;
mod modes;
mod names;
mod places;
mod plain;
mod refusals;
mod revisions;
mod sharing;
mod sparse_checkout;
mod special_files;
mod standalone;
mod submodules;

use crate::matrix::Case;

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let areas = [
        dirty_source::CASES,
        carry::CASES,
        content::CASES,
        conversion::CASES,
        formats::CASES,
        git_use::CASES,
        hand_over::CASES,
        modes::CASES,
        names::CASES,
        places::CASES,
        plain::CASES,
        refusals::CASES,
        revisions::CASES,
        sharing::CASES,
        sparse_checkout::CASES,
        special_files::CASES,
        standalone::CASES,
        submodules::CASES,
    ];
    areas.into_iter().flatten().copied()
}
