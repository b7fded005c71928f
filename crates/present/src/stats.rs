//! Order statistics.

use serde::{Deserialize, Serialize};

/// Returns the value below which a `share` of the sample lies, linear between the neighbours (type 7 of Hyndman and
/// Fan). `sorted` rises and is not empty.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

/// Returns the middle value, or the mean of the middle two; sorts the sample, which is not empty.
pub fn median(sample: &mut [f64]) -> f64 {
    sample.sort_unstable_by(f64::total_cmp);
    quantile(sample, 0.5)
}

/// Returns the geometric mean; `None` of nothing.
pub fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, number) = ratios.fold((0.0, 0), |(sum, number), ratio| (sum + ratio.ln(), number + 1));
    (number > 0).then(|| (sum / f64::from(number)).exp())
}

/// The median and extremes of several samples.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The middle value; the mean of the middle two of an even number.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Summarises `values`; `None` if there are none or any is not a number.
    pub fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() || values.iter().any(|v| v.is_nan()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Spread { median: quantile(&sorted, 0.5), min: sorted[0], max: sorted[sorted.len() - 1] })
    }

    /// Summarises `a / b`, round by round: what happened to both in a round (another process, a slower clock) cancels
    /// out. Rounds in which either is missing do not count.
    pub fn of_ratios(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Spread> {
        let ratios: Vec<f64> =
            a.iter().zip(b).filter_map(|(a, b)| Some((*a)? / (*b)?)).filter(|r| r.is_finite()).collect();
        Spread::of(&ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 5.0];
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|share| quantile(&sorted, share)), [1.0, 2.5, 4.4, 5.0]);
        assert_eq!([median(&mut [3.0, 1.0, 2.0]), median(&mut [7.0])], [2.0, 7.0]);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // Each round is twice as slow as the one before; the ratio does not notice.
        let a = [Some(2.0), Some(4.0), Some(8.0)];
        let b = [Some(1.0), Some(2.0), Some(4.0)];
        assert_eq!(Spread::of_ratios(&a, &b), Some(Spread { median: 2.0, min: 2.0, max: 2.0 }));
    }

    #[test]
    fn rounds_with_a_gap_do_not_count() {
        let a = [Some(2.0), None, Some(9.0), Some(1.0)];
        let b = [Some(1.0), Some(2.0), Some(3.0), Some(0.0)];
        assert_eq!(Spread::of_ratios(&a, &b), Some(Spread { median: 2.5, min: 2.0, max: 3.0 }));
        assert_eq!(Spread::of_ratios(&a, &[]), None);
    }
}
