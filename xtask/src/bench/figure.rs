//! A number that is compared with a target.

use serde::{Serialize, Serializer};

/// What was found, and what it ought to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// What is compared, such as `fwt create / git worktree add`.
    pub(crate) name: String,
    /// The number.
    pub(crate) value: f64,
    /// What the number counts.
    pub(crate) unit: Unit,
    /// What it should be at most; none where there is nothing to reach.
    #[serde(serialize_with = "limit_or_null")]
    pub(crate) target: Target,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// One time by another.
    Ratio,
    /// Thousandths of a second.
    Milliseconds,
    /// Thousands of bytes.
    Kilobytes,
    /// Millions of bytes.
    Megabytes,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// Not above this.
    AtMost(f64),
    /// Whatever it is.
    None,
}

impl Figure {
    /// A figure, if there is a value for it.
    pub(crate) fn new(name: &str, value: Option<f64>, unit: Unit, target: Target) -> Option<Self> {
        value.map(|value| Self { name: name.to_owned(), value, unit, target })
    }

    /// Says whether the target is reached, in a word; nothing where there is none.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.target {
            Target::AtMost(limit) if self.value <= limit => "reached",
            Target::AtMost(_) => "MISSED",
            Target::None => "",
        }
    }

    /// The target as text.
    pub(crate) fn target_text(&self) -> String {
        match self.target {
            Target::AtMost(limit) => format!("<= {}", self.unit.text(limit)),
            Target::None => String::new(),
        }
    }

    /// The value as text.
    pub(crate) fn value_text(&self) -> String {
        self.unit.text(self.value)
    }
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Self::Ratio => format!("{value:.2}"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Kilobytes => format!("{value:.0} kB"),
            Self::Megabytes => format!("{value:.0} MB"),
        }
    }
}

fn limit_or_null<S: Serializer>(target: &Target, serializer: S) -> Result<S::Ok, S::Error> {
    match target {
        Target::AtMost(limit) => serializer.serialize_f64(*limit),
        Target::None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, Target, Unit};

    fn check(value: f64, target: Target, expected: &str) {
        let figure = Figure::new("a / b", Some(value), Unit::Ratio, target).unwrap();
        let text = format!("{} {} {}", figure.value_text(), figure.target_text(), figure.verdict());
        assert_eq!(text.trim(), expected);
    }

    #[test]
    fn a_target_is_reached_at_its_limit() {
        check(0.5, Target::AtMost(0.5), "0.50 <= 0.50 reached");
        check(0.51, Target::AtMost(0.5), "0.51 <= 0.50 MISSED");
        check(7.0, Target::None, "7.00");
    }

    #[test]
    fn without_a_value_there_is_no_figure() {
        assert_eq!(Figure::new("a / b", None, Unit::Ratio, Target::None), None);
    }
}
