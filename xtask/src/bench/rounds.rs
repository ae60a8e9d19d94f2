//! Runs contenders in turn, A B C A B C, so that what slows the machine slows all of them.

use super::record::Record;

/// What came of the rounds.
#[derive(Debug)]
pub(crate) struct Rounds<C> {
    /// The samples, without those of the warm-up.
    pub(crate) record: Record,
    /// Contenders that failed in the warm-up and were left out, with the reason.
    pub(crate) left_out: Vec<(C, anyhow::Error)>,
}

/// Runs every contender once to warm up, then once in each of so many rounds. Before each, what
/// the one before left to be written is written, so that nobody pays for another.
pub(crate) fn interleave<C>(
    rounds: usize,
    contenders: Vec<C>,
    mut once: impl FnMut(&C, &mut Record) -> anyhow::Result<()>,
) -> anyhow::Result<Rounds<C>> {
    let (mut able, mut left_out) = (Vec::new(), Vec::new());
    for contender in contenders {
        match once(&contender, &mut Record::default()) {
            Ok(()) => able.push(contender),
            Err(error) => left_out.push((contender, error)),
        }
    }
    let mut record = Record::default();
    for _ in 0..rounds {
        for contender in &able {
            rustix::fs::sync();
            once(contender, &mut record)?;
        }
    }
    Ok(Rounds { record, left_out })
}

#[cfg(test)]
mod tests {
    use super::{Rounds, interleave};
    use crate::bench::measure::Sample;

    const SAMPLE: Sample = Sample { wall_s: 1.0, processor_s: 1.0, memory_bytes: 1 };

    #[test]
    fn the_warm_up_is_run_and_not_counted() {
        let mut order = String::new();
        let Rounds { record, left_out } = interleave(2, vec!["a", "b"], |name, record| {
            order.push_str(name);
            record.note(name, SAMPLE);
            Ok(())
        })
        .unwrap();
        assert_eq!(order, "ababab");
        assert_eq!(record.walls("a").len(), 2);
        assert!(left_out.is_empty());
    }

    #[test]
    fn one_that_cannot_be_run_is_left_out() {
        let outcome = interleave(1, vec!["a", "b"], |name, record| {
            anyhow::ensure!(*name == "b", "not here");
            record.note(name, SAMPLE);
            Ok(())
        });
        let Rounds { record, left_out } = outcome.unwrap();
        assert_eq!(left_out.len(), 1);
        assert_eq!((record.walls("a").len(), record.walls("b").len()), (0, 1));
    }
}
