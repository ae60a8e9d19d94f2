//! The little mathematics that a measurement needs.

/// The middle value, or the mean of the two in the middle; none of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 50.0)
}

/// The value that so many percent lie below, between neighbours in proportion.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list that fits in memory"
)]
pub(crate) fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = percent / 100.0 * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// The median of the ratios of the rounds. What slows the machine for a while slows both sides of
/// a round, so this is steadier than the ratio of the medians.
pub(crate) fn paired_ratio(numerators: &[f64], denominators: &[f64]) -> Option<f64> {
    let ratios = numerators.iter().zip(denominators).filter(|(_, below)| **below > 0.0);
    median(&ratios.map(|(above, below)| above / below).collect::<Vec<_>>())
}

/// One list minus another, round by round.
pub(crate) fn differences(values: &[f64], subtrahends: &[f64]) -> Vec<f64> {
    values.iter().zip(subtrahends).map(|(value, less)| value - less).collect()
}

#[cfg(test)]
mod tests {
    use super::{differences, median, paired_ratio, percentile};

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        let values = [0.0, 10.0, 20.0, 30.0, 40.0];
        let check = |percent, expected| assert_eq!(percentile(&values, percent), Some(expected));
        check(0.0, 0.0);
        check(25.0, 10.0);
        check(90.0, 36.0);
        check(100.0, 40.0);
    }

    #[test]
    fn a_slow_round_does_not_move_the_ratio() {
        assert_eq!(paired_ratio(&[1.0, 80.0, 1.2], &[2.0, 160.0, 2.4]), Some(0.5));
        assert_eq!(paired_ratio(&[1.0], &[0.0]), None);
        assert_eq!(paired_ratio(&[1.0], &[]), None);
    }

    #[test]
    fn differences_are_taken_round_by_round() {
        assert_eq!(differences(&[3.0, 5.0], &[1.0, 6.0]), [2.0, -1.0]);
    }
}
