//! Samples by the name of what was measured.

use super::measure::Sample;
use super::statistics::median;

/// Series in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    series: Vec<Series>,
}

/// The samples of one operation, one a round.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What was measured.
    pub(crate) name: String,
    /// One for each round.
    pub(crate) samples: Vec<Sample>,
}

impl Record {
    /// Adds a sample to the series of a name.
    pub(crate) fn note(&mut self, name: &str, sample: Sample) {
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.samples.push(sample),
            None => self.series.push(Series { name: name.to_owned(), samples: vec![sample] }),
        }
    }

    /// Adds the series of another record after these.
    pub(crate) fn append(&mut self, other: Self) {
        self.series.extend(other.series);
    }

    /// All of them.
    pub(crate) fn series(&self) -> &[Series] {
        &self.series
    }

    /// The wall times of a series; none if there is no such series.
    pub(crate) fn walls(&self, name: &str) -> Vec<f64> {
        self.find(name).map(Series::walls).unwrap_or_default()
    }

    /// The most memory that any run of a series held.
    pub(crate) fn memory_bytes(&self, name: &str) -> Option<u64> {
        self.find(name)?.samples.iter().map(|sample| sample.memory_bytes).max()
    }

    fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }
}

impl Series {
    /// The wall times, in the order of the rounds.
    pub(crate) fn walls(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.wall_s).collect()
    }

    /// The middle run by each measure alone.
    pub(crate) fn median(&self) -> Option<Sample> {
        let processors = self.samples.iter().map(|sample| sample.processor_s).collect::<Vec<_>>();
        Some(Sample {
            wall_s: median(&self.walls())?,
            processor_s: median(&processors)?,
            memory_bytes: self.samples.iter().map(|sample| sample.memory_bytes).max()?,
        })
    }
}
