//! Order statistics, and a bootstrap interval for the ratio of two medians.
//!
//! The interval is the percentile bootstrap (B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, 1993,
//! chapter 13), with whole rounds drawn: the runs of one round happened close together, so a disturbance of the machine
//! then affected them all, and cancels out of the ratio.

use fastrand::Rng;
use serde::Serialize;
use turnwise_present::stats::{median, quantile};

/// The number of resamples of the rounds.
const RESAMPLES: usize = 10_000;

/// Returns the fewest rounds for a verdict: fewer of them all agree by chance more often than the confidence allows
/// (five in one case of `2^(5-1)`, which is more than 5%).
pub(crate) fn rounds_for_a_verdict(confidence: f64) -> usize {
    (1.0 - (1.0 - confidence).log2()).ceil() as usize
}

/// A sample in six numbers, in the sample's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) n: usize,
    pub(crate) median: f64,
    /// The lower quartile.
    pub(crate) q1: f64,
    /// The upper quartile.
    pub(crate) q3: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Summary {
    pub(crate) fn of(sample: &[f64]) -> Option<Summary> {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |share| quantile(&sorted, share);
        Some(Summary { n: sorted.len(), median: at(0.5), q1: at(0.25), q3: at(0.75), min, max })
    }
}

/// The ratio of two medians with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Ratio {
    /// Returns whether the interval leaves no room for "the same".
    pub(crate) fn differs(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// Returns whether the interval leaves no room for a difference beyond `margin`, either way.
    pub(crate) fn is_within(&self, margin: f64) -> bool {
        self.low * (1.0 + margin) >= 1.0 && self.high <= 1.0 + margin
    }
}

/// Returns the ratio of the medians of `(policy, baseline)` over `rounds`.
///
/// `None` if there are no rounds, or if a value is not above zero, for which a ratio is meaningless.
pub(crate) fn ratio_of_medians(rounds: &[(f64, f64)], confidence: f64, rng: &mut Rng) -> Option<Ratio> {
    ratio_by(rounds, confidence, RESAMPLES, rng)
}

/// Computes [`ratio_of_medians`] by this many resamples.
pub(crate) fn ratio_by(rounds: &[(f64, f64)], confidence: f64, resamples: usize, rng: &mut Rng) -> Option<Ratio> {
    if rounds.is_empty() || rounds.iter().any(|(a, b)| !(*a > 0.0 && *b > 0.0)) {
        return None;
    }
    let (mut ours, mut base): (Vec<f64>, Vec<f64>) = rounds.iter().copied().unzip();
    let ratio = median(&mut ours) / median(&mut base);
    let mut ratios: Vec<f64> = (0..resamples)
        .map(|_| {
            for slot in 0..rounds.len() {
                (ours[slot], base[slot]) = rounds[rng.usize(..rounds.len())];
            }
            median(&mut ours) / median(&mut base)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Some(Ratio { ratio, low: quantile(&ratios, tail), high: quantile(&ratios, 1.0 - tail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_known_samples() {
        let five = Summary::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!(five, Summary { n: 5, median: 3.0, q1: 2.0, q3: 4.0, min: 1.0, max: 5.0 });
        let four = Summary::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((four.median, four.q1, four.q3), (2.5, 1.75, 3.25));
        assert_eq!(Summary::of(&[7.0]).unwrap().q3, 7.0);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let rounds: Vec<_> = (0..7).map(|i| (f64::from(20 + i), f64::from(10 + i % 3))).collect();
        let once = ratio_of_medians(&rounds, 0.95, &mut Rng::with_seed(1));
        assert_eq!(once, ratio_of_medians(&rounds, 0.95, &mut Rng::with_seed(1)));
        let ratio = once.unwrap();
        assert!(ratio.low <= ratio.ratio && ratio.ratio <= ratio.high && ratio.differs());
    }

    #[test]
    fn a_margin_holds_either_way() {
        let within = |low, high| Ratio { ratio: 1.0, low, high }.is_within(0.05);
        assert!(within(1.0 / 1.05, 1.05) && within(1.01, 1.02));
        assert!(!within(0.95, 1.0) && !within(1.0, 1.06));
    }

    #[test]
    fn fewest_rounds_that_can_tell() {
        assert_eq!([0.95, 0.99, 0.999].map(rounds_for_a_verdict), [6, 8, 11]);
    }

    #[test]
    fn what_disturbs_a_whole_round_cancels() {
        let rounds: Vec<_> = (1..=9).map(|load| (2.0 * f64::from(load), f64::from(load))).collect();
        let ratio = ratio_of_medians(&rounds, 0.95, &mut Rng::with_seed(3)).unwrap();
        assert_eq!((ratio.ratio, ratio.low, ratio.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn no_ratio_of_nothing() {
        assert_eq!(ratio_of_medians(&[], 0.95, &mut Rng::with_seed(1)), None);
        assert_eq!(ratio_of_medians(&[(1.0, 0.0), (1.0, 1.0)], 0.95, &mut Rng::with_seed(1)), None);
        assert_eq!(ratio_of_medians(&[(f64::NAN, 1.0)], 0.95, &mut Rng::with_seed(1)), None);
    }

    /// Checks with 7 rounds of equal policies and 5% noise how often the interval claims a difference.
    #[test]
    fn equal_policies_are_seldom_distinguished() {
        let mut rng = Rng::with_seed(42);
        let trials = 300;
        let mut noisy = move || 100.0 * (1.0 + 0.05 * ((0..12).map(|_| rng.f64()).sum::<f64>() - 6.0));
        let claims = (0..trials)
            .filter(|trial| {
                let rounds: Vec<_> = (0..7).map(|_| (noisy(), noisy())).collect();
                ratio_of_medians(&rounds, 0.95, &mut Rng::with_seed(*trial)).unwrap().differs()
            })
            .count();
        println!("{claims} of {trials}");
        assert!(claims as f64 <= 0.10 * trials as f64, "{claims} of {trials} claims are false");
    }
}
