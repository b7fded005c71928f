//! One constant from one figure, which falls as the constant grows, and may fall off a cliff: a bracket that is halved
//! finds that place; a simplex, which looks at slopes, may not.

use super::fit::three_digits;
use super::report::{Listing, figure};
use anyhow::{Context as _, Result};

/// A constant that was tried.
pub(super) struct Tried {
    pub(super) value: f64,
    /// The figure, with each seed.
    pub(super) figures: Vec<f64>,
}

impl Tried {
    pub(super) fn mean(&self) -> f64 {
        self.figures.iter().sum::<f64>() / self.figures.len() as f64
    }
}

/// What was found.
pub(super) struct Nearest<T> {
    pub(super) value: f64,
    /// What came of it beside the figures.
    pub(super) outcome: T,
    /// All that were tried, the least first.
    pub(super) tried: Vec<Tried>,
}

/// Tries the middle of a bracket (in the logarithm, to three digits), and goes on with the half in which the mean of
/// the figures becomes less than wanted, so often; of those tried, the one whose mean is nearest.
///
/// # Errors
/// Those of `outcome`, which gives the figures, too.
pub(super) fn nearest<T>(
    [mut low, mut high]: [f64; 2],
    rounds: u64,
    wanted: f64,
    mut outcome: impl FnMut(f64) -> Result<(T, Vec<f64>)>,
) -> Result<Nearest<T>> {
    let (mut tried, mut best) = (Vec::new(), None);
    let mut least_off = f64::INFINITY;
    for _ in 0..rounds {
        let value = three_digits((low * high).sqrt());
        let (this, figures) = outcome(value)?;
        let now = Tried { value, figures };
        let off = (now.mean().max(1e-12) / wanted).ln().abs();
        if off < least_off {
            (least_off, best) = (off, Some((value, this)));
        }
        *(if now.mean() > wanted { &mut low } else { &mut high }) = value;
        tried.push(now);
    }
    tried.sort_by(|a: &Tried, b| a.value.total_cmp(&b.value));
    let (value, outcome) = best.context("nothing was tried")?;
    Ok(Nearest { value, outcome, tried })
}

/// All that were tried, in units of `unit`.
pub(super) fn listing(title: &str, constant: &str, unit: f64, tried: &[Tried]) -> Listing {
    let mut listing = Listing::new(title, &[constant, "with each seed"]);
    for Tried { value, figures } in tried {
        let figures: Vec<String> = figures.iter().copied().map(figure).collect();
        listing.rows.push(vec![figure(value / unit), figures.join(", ")]);
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_closes_in_on_a_cliff_and_on_its_edge_without_one() {
        let found = |cliff: f64| {
            let figure = |value: f64| Ok((value, vec![if value < cliff { 3.0 } else { 1.0 }]));
            nearest([600.0, 2400.0], 12, 2.0, figure).expect("nothing fails")
        };
        let last = |found: &Nearest<f64>| {
            let above = found.tried.iter().filter(|tried| tried.mean() > 2.0).map(|tried| tried.value);
            above.fold(600.0, f64::max)
        };
        assert!((last(&found(1234.0)) / 1234.0 - 1.0).abs() < 0.01, "{}", last(&found(1234.0)));
        assert!(last(&found(5000.0)) > 2300.0 && found(1.0).tried[0].value < 610.0);
        let failed = nearest([1.0, 2.0], 1, 1.0, |_| -> Result<((), Vec<f64>)> { anyhow::bail!("no such lock") });
        assert!(failed.is_err() && nearest([1.0, 2.0], 0, 1.0, |value| Ok((value, vec![value]))).is_err());
    }

    #[test]
    fn of_those_tried_the_nearest_is_taken_with_what_came_of_it() {
        let found = nearest([1.0, 100.0], 9, 4.0, |value| Ok((value, vec![80.0 / value, 120.0 / value])));
        let Nearest { value, outcome, tried } = found.expect("nothing fails");
        assert!((value - 25.0).abs() < 0.5 && outcome == value, "{value}");
        assert!(tried.len() == 9 && tried.is_sorted_by_key(|tried| tried.value));
        let rows = listing("", "", 10.0, &tried[..1]).rows;
        assert_eq!(rows[0][0], figure(tried[0].value / 10.0));
    }
}
