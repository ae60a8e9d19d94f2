//! How much is measured, worked out from what was asked for.

use super::corpus::{Content, Layout, Shape, Sizes};
use super::maker::Maker;

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thoroughness {
    /// All that the targets speak of.
    Full,
    /// Enough to see whether something went wrong.
    Quick,
}

/// The large repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Large {
    /// Made up.
    Generated,
    /// The crates that cargo keeps.
    Vendored,
}

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The large repository.
    pub(crate) large: Content,
    /// How many files a large repository has.
    pub(crate) files: usize,
    /// The sizes of repositories whose cost per file is compared, the smallest first.
    pub(crate) scale: Vec<usize>,
    /// How often everything is measured, after a warm-up.
    pub(crate) rounds: usize,
    /// How many trees live at once when that is measured.
    pub(crate) trees: usize,
    /// What fwt is compared with.
    pub(crate) peers: Vec<Maker>,
}

/// The targets are about so many files; each of the others is in proportion when it is fewer.
const FILES: usize = 92_000;
const QUICK_FILES: usize = 10_000;
const SCALE: [usize; 3] = [10_000, FILES, 300_000];

/// With real sizes: a tree, its packed objects, and one copy of the tree at a time.
const BYTES_PER_FILE: u64 = 35_000;
/// With small sizes: a block, an inode, a few hundred bytes in the pack.
const BYTES_PER_SMALL_FILE: u64 = 6_000;
/// The 5,000 files of the small repository, journals, and the hundred trees of the list.
const FIXED_BYTES: u64 = 600 << 20;

impl Plan {
    /// What was not asked for has its default.
    pub(crate) fn new(
        thoroughness: Thoroughness,
        large: Large,
        files: Option<usize>,
        rounds: usize,
        peers: Vec<Maker>,
    ) -> Self {
        let files = files.unwrap_or(match thoroughness {
            Thoroughness::Full => FILES,
            Thoroughness::Quick => QUICK_FILES,
        });
        let scale = match thoroughness {
            Thoroughness::Full => &SCALE[..],
            Thoroughness::Quick => &SCALE[..2],
        };
        let large = match large {
            Large::Generated => {
                Content::Generated(Shape { files, layout: Layout::Mixed, sizes: Sizes::Real })
            }
            Large::Vendored => Content::Vendored,
        };
        let scale = scale.iter().map(|one| (one * files).div_ceil(FILES)).collect();
        let trees = match thoroughness {
            Thoroughness::Full => 1_000,
            Thoroughness::Quick => 100,
        };
        Self { large, files, scale, rounds, trees, peers }
    }

    /// The room that all corpora and the trees made of them take at the worst moment.
    pub(crate) fn needed_bytes(&self) -> u64 {
        let largest = self.scale.last().copied().unwrap_or_default();
        // The two of the huge directory's comparison have as many files as the large one.
        let small = self.scale.iter().sum::<usize>() + largest + self.files;
        FIXED_BYTES + BYTES_PER_FILE * self.files as u64 + BYTES_PER_SMALL_FILE * small as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Large, Plan, Thoroughness};

    fn scale(thoroughness: Thoroughness, files: Option<usize>) -> Vec<usize> {
        Plan::new(thoroughness, Large::Generated, files, 5, Vec::new()).scale
    }

    #[test]
    fn everything_shrinks_in_proportion() {
        assert_eq!(scale(Thoroughness::Full, None), [10_000, 92_000, 300_000]);
        assert_eq!(scale(Thoroughness::Full, Some(9_200)), [1_000, 9_200, 30_000]);
    }

    #[test]
    fn a_quick_run_leaves_out_the_largest() {
        assert_eq!(scale(Thoroughness::Quick, None), [1_087, 10_000]);
    }
}
