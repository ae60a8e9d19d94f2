//! Comparing what is known of a tree with what is there now, in one pass over both.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::slice;

use crate::error::Result;
use crate::manifest::{Group, Known};
use crate::scan::{Listing, Seen};

/// An entry as it was known and as it is seen; at least one of them is there.
#[derive(Debug)]
pub(crate) struct Pair<'p> {
    /// The directory it is in.
    pub(crate) directory: &'p [u8],
    pub(crate) known: Option<Known>,
    /// With the place of it: which listing, and which of its entries.
    pub(crate) seen: Option<(&'p Seen, Spot)>,
}

/// A place among what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Spot {
    pub(crate) listing: u32,
    pub(crate) entry: u32,
}

impl Pair<'_> {
    /// Its path below the root.
    pub(crate) fn path(&self) -> Vec<u8> {
        let name = match (&self.known, self.seen) {
            (_, Some((seen, _))) => &seen.name,
            (Some(known), None) => &known.name,
            (None, None) => return self.directory.to_vec(),
        };
        if self.directory.is_empty() {
            return name.to_vec();
        }
        [self.directory, b"/", name].concat()
    }
}

/// Calls `each` for every entry that is known or seen, directory by directory, and `end` after each
/// directory.
pub(crate) fn compare(
    known: impl Iterator<Item = Group>,
    seen: &[Listing],
    visit: &mut impl Visit,
) -> Result<()> {
    let mut known = known.peekable();
    let mut seen = seen.iter().zip(0..).peekable();
    loop {
        let (group, listing) = match (known.peek(), seen.peek()) {
            (None, None) => return Ok(()),
            (Some(group), Some((listing, _))) => match group.directory.cmp(&listing.path) {
                Ordering::Less => (known.next(), None),
                Ordering::Greater => (None, seen.next()),
                Ordering::Equal => (known.next(), seen.next()),
            },
            (Some(_), None) => (known.next(), None),
            (None, Some(_)) => (None, seen.next()),
        };
        let group = group.unwrap_or_default();
        let (listing, number) = listing.map_or((None, 0), |(listing, at)| (Some(listing), at));
        let directory = listing.map_or(&group.directory, |listing| &listing.path);
        let entries = listing.map_or(&[][..], |listing| &listing.entries);
        let mut seen = entries.iter().zip(0..).peekable();
        let mut known = group.entries.into_iter().peekable();
        while let Some((known, seen)) = next_pair(&mut known, &mut seen) {
            let spot = |entry| Spot { listing: number, entry };
            let seen = seen.map(|(seen, entry)| (seen, spot(entry)));
            visit.pair(Pair { directory, known, seen })?;
        }
        visit.end(directory)?;
    }
}

/// What is done with the pairs.
pub(crate) trait Visit {
    fn pair(&mut self, pair: Pair<'_>) -> Result<()>;

    /// After the last pair of a directory.
    fn end(&mut self, directory: &[u8]) -> Result<()>;
}

type SeenEntry<'p> = (&'p Seen, u32);

fn next_pair<'p>(
    known: &mut Peekable<impl Iterator<Item = Known>>,
    seen: &mut Peekable<std::iter::Zip<slice::Iter<'p, Seen>, std::ops::RangeFrom<u32>>>,
) -> Option<(Option<Known>, Option<SeenEntry<'p>>)> {
    let order = match (known.peek(), seen.peek()) {
        (None, None) => return None,
        (Some(known), Some((seen, _))) => known.name.cmp(&seen.name),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    };
    Some(match order {
        Ordering::Less => (known.next(), None),
        Ordering::Greater => (None, seen.next()),
        Ordering::Equal => (known.next(), seen.next()),
    })
}
