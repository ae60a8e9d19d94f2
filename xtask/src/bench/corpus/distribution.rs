//! Distributions by their percentiles, as a real repository shows them.

use crate::random::Random;

/// Points of a distribution: the share of values that are not above a value, and that value.
/// Between points the logarithm of the value grows in proportion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution(&'static [(f64, f64)]);

/// Sizes of files in bytes. The mean is about 12 kB, nearly all of it from the largest hundredth.
pub(crate) const SIZES: Distribution = Distribution(&[
    (0.0, 4.0),
    (0.10, 48.0),
    (0.50, 544.0),
    (0.75, 1_500.0),
    (0.90, 8_600.0),
    (0.95, 23_000.0),
    (0.99, 189_000.0),
    (0.999, 1_200_000.0),
    (1.0, 4_000_000.0),
]);

/// The same without its largest tenth: here the files cost, not their bytes.
pub(crate) const SMALL_SIZES: Distribution =
    Distribution(&[(0.0, 4.0), (0.111, 48.0), (0.556, 544.0), (0.833, 1_500.0), (1.0, 8_600.0)]);

/// Files in a directory that has any.
pub(crate) const FILES_PER_DIRECTORY: Distribution =
    Distribution(&[(0.0, 1.0), (0.50, 2.0), (0.90, 11.0), (0.99, 63.0), (1.0, 400.0)]);

/// Directories above a file.
pub(crate) const DEPTHS: Distribution =
    Distribution(&[(0.0, 1.0), (0.50, 3.0), (0.90, 6.0), (1.0, 10.0)]);

impl Distribution {
    /// A value of the distribution.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the values are positive and far below 2^53"
    )]
    pub(crate) fn draw(self, random: &mut Random) -> usize {
        self.at(random.fraction()).round() as usize
    }

    fn at(self, share: f64) -> f64 {
        let Self(points) = self;
        let above = points.partition_point(|(limit, _)| *limit < share).clamp(1, points.len() - 1);
        let ((from, low), (to, high)) = (points[above - 1], points[above]);
        low * (high / low).powf((share - from) / (to - from))
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTHS, Distribution, FILES_PER_DIRECTORY, SIZES, SMALL_SIZES};

    #[test]
    fn points_are_met_exactly() {
        for distribution in [SIZES, SMALL_SIZES, FILES_PER_DIRECTORY, DEPTHS] {
            let Distribution(points) = distribution;
            for (share, value) in points {
                let found = distribution.at(*share);
                assert!((found - value).abs() < value / 1e6, "{share}: {found}, not {value}");
            }
        }
    }
}
