//! A measured number with its spread, and its origin.

use serde::Serialize;
use turnwise_present::figures::time;
use turnwise_present::stats::{Spread, quantile};
use turnwise_sim::spec::Class;

/// The scope of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// There is only one.
    All,
    /// This distance between two CPUs, or between a CPU and a node.
    Class(#[serde(serialize_with = "class_number")] Class),
    /// A CPU that has been idle for this many nanoseconds.
    IdleNs(u64),
}

fn class_number<S: serde::Serializer>(class: &Class, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(class.0)
}

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Thousandths.
    Permille,
}

impl Unit {
    /// Formats a value with three digits, in a unit of a fitting size.
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        match self {
            Unit::Permille => format!("x {:.2}", value / 1000.0),
            Unit::Ns => time(value),
        }
    }
}

/// Returns the name of a distance.
#[must_use]
pub fn class(class: Class) -> String {
    if class <= Class::SAME_NODE { format!("same {}", class.name()) } else { class.name() }
}

/// Samples in a few numbers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// How many samples.
    pub samples: usize,
    /// A quarter are below.
    pub q1: f64,
    /// Three quarters are below.
    pub q3: f64,
    /// Median and extremes.
    #[serde(flatten)]
    pub spread: Spread,
}

impl Summary {
    /// Summarises those of `samples` that are numbers; `None` if none is.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Summary> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let spread = Spread::of(&sorted)?;
        let at = |share| quantile(&sorted, share);
        Some(Summary { samples: sorted.len(), q1: at(0.25), q3: at(0.75), spread })
    }
}

/// One number of the machine file.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Its key in the machine file.
    pub key: &'static str,
    /// Its scope.
    pub at: At,
    /// The number that goes into the file.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// The samples' spread; `None` if it was not measured.
    pub spread: Option<Summary>,
    /// How it was found, in one sentence.
    pub how: String,
    /// Guessed, or rests on a guess.
    pub provisional: bool,
}

/// No cost is below a picosecond: the file counts in them, and a difference of two costs may be negative.
const LEAST_NS: f64 = 0.001;

impl Figure {
    /// Makes a figure from samples in nanoseconds, represented by their median; without any, a guess.
    pub(super) fn measured(key: &'static str, at: At, samples: &[f64], how: &str, guess: f64) -> Figure {
        let Some(summary) = Summary::of(samples) else {
            return Figure::guess(key, at, guess, &format!("no sample succeeded; a guess instead ({how})"));
        };
        let how = format!("measured: {how}; median of {}", summary.samples);
        let value = summary.spread.median.max(LEAST_NS);
        Figure { key, at, value, unit: Unit::Ns, spread: Some(summary), how, provisional: false }
    }

    /// Returns the same, represented by the mean of the samples except the longest twentieth, which others caused.
    pub(super) fn mean(key: &'static str, at: At, samples: &[f64], how: &str, guess: f64) -> Figure {
        let median = Figure::measured(key, at, samples, how, guess);
        let Some(summary) = median.spread else { return median };
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.truncate((sorted.len() * 19).div_ceil(20));
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        let how = format!("measured: {how}; mean of {}, the longest twentieth left out", summary.samples);
        Figure { value: mean.max(LEAST_NS), how, ..median }
    }

    /// Returns a number that was not measured.
    pub(super) fn guess(key: &'static str, at: At, value: f64, how: &str) -> Figure {
        Figure { key, at, value, unit: Unit::Ns, spread: None, how: how.to_owned(), provisional: true }
    }

    /// Returns a number that another one of this run stands for.
    pub(super) fn like(key: &'static str, at: At, value: f64, how: &str) -> Figure {
        Figure { provisional: false, ..Figure::guess(key, at, value, how) }
    }

    /// Returns the figure as a phrase, for sources: how, and the spread.
    pub(super) fn source(&self) -> String {
        match self.spread {
            Some(Summary { q1, q3, .. }) => {
                let (q1, q3) = (self.unit.shown(q1), self.unit.shown(q3));
                format!("{}; middle half {q1} to {q3}", self.how)
            }
            None => self.how.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = |ns| Unit::Ns.shown(ns);
        assert_eq!([shown(1.234), shown(123.44), shown(12_345.0)], ["1.23 ns", "123 ns", "12.3 us"]);
        assert_eq!([shown(4e6), Unit::Permille.shown(1550.0)], ["4.00 ms", "x 1.55"]);
    }

    #[test]
    fn distances_have_names() {
        assert_eq!(class(Class::hops(1)), "1 hop");
        assert_eq!(class(Class::hops(3)), "3 hops");
    }

    #[test]
    fn summaries_are_order_statistics() {
        let summary = Summary::of(&[5.0, 1.0, 3.0, f64::NAN, 2.0, 4.0]).unwrap();
        assert_eq!((summary.samples, summary.q1, summary.q3), (5, 2.0, 4.0));
        assert_eq!(summary.spread, Spread { min: 1.0, median: 3.0, max: 5.0 });
        assert_eq!(Summary::of(&[f64::NAN]), None);
    }

    #[test]
    fn what_was_not_measured_is_marked() {
        let figure = Figure::measured("cpu.pause", At::All, &[], "a loop", 40.0);
        assert!(figure.provisional && figure.value == 40.0 && figure.spread.is_none());
        assert!(figure.how.contains("guess"), "{}", figure.how);
    }

    #[test]
    fn no_cost_is_zero_or_less() {
        let figure = Figure::measured("system.wake", At::All, &[-3.0, -1.0], "a difference", 1.0);
        assert!(figure.value > 0.0 && !figure.provisional);
    }
}
