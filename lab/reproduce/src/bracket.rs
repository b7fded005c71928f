//! A search for a constant of a workload by simulated evaluations: one constant from one figure, which falls as the
//! constant grows, and may fall off a cliff. A bisected bracket finds that place. A constant is rounded to three digits
//! before it is tried, so that the reported value is the one that was run.

use super::mean::mean;
use super::report::figure;
use anyhow::{Context as _, Result};
use serde::Serialize;

/// Returns a value as it is reported.
pub(super) fn three_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// A constant that was tried.
#[derive(Serialize)]
pub(super) struct Tried {
    pub(super) value: f64,
    /// The figure, with each seed.
    pub(super) figures: Vec<f64>,
}

impl Tried {
    pub(super) fn mean(&self) -> f64 {
        mean(self.figures.iter().copied()).0
    }

    /// Returns the standard error of [`mean`](Tried::mean); `None` with one seed.
    fn standard_error(&self) -> Option<f64> {
        mean(self.figures.iter().copied()).1
    }

    /// Returns whether the seeds cannot distinguish the figure from this one: the mean is within two standard errors.
    fn agrees(&self, wanted: f64) -> bool {
        self.standard_error().is_some_and(|error| (self.mean() - wanted).abs() <= 2.0 * error)
    }

    /// Returns how far the mean is from this figure: the logarithm of their ratio.
    fn off(&self, wanted: f64) -> f64 {
        (self.mean().max(1e-12) / wanted).ln().abs()
    }
}

/// Returns the index of the chosen one of those tried, the least constant first: the middle one of those that agree
/// with the wanted figure, of two the one with the nearer mean; if none does, the one with the nearest. Near a cliff
/// the nearest of several noisy means is nearest by luck.
fn taken(tried: &[Tried], wanted: f64) -> Option<usize> {
    let nearer = |a: &usize, b: &usize| tried[*a].off(wanted).total_cmp(&tried[*b].off(wanted));
    let agree: Vec<usize> = (0..tried.len()).filter(|&n| tried[n].agrees(wanted)).collect();
    match agree.len() {
        0 => (0..tried.len()).min_by(nearer),
        n => agree[(n - 1) / 2..=n / 2].iter().copied().min_by(nearer),
    }
}

/// What was found.
pub(super) struct Nearest<T> {
    pub(super) value: f64,
    /// Its outcome, apart from the figures.
    pub(super) outcome: T,
    /// All that were tried, the least first.
    pub(super) tried: Vec<Tried>,
}

/// Tries the middle of a bracket (in the logarithm, to three digits), and continues with the half in which the mean of
/// the figures becomes less than wanted, this many times; of those tried, takes the middle one of those that the seeds
/// cannot distinguish from it (see [`taken`]).
///
/// # Errors
/// Those of `outcome`, which returns the figures, too.
pub(super) fn nearest<T>(
    [mut low, mut high]: [f64; 2],
    rounds: u64,
    wanted: f64,
    mut outcome: impl FnMut(f64) -> Result<(T, Vec<f64>)>,
) -> Result<Nearest<T>> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        let value = three_digits((low * high).sqrt());
        let (this, figures) = outcome(value)?;
        let now = Tried { value, figures };
        *(if now.mean() > wanted { &mut low } else { &mut high }) = value;
        all.push((now, this));
    }
    all.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
    let (tried, mut outcomes): (Vec<Tried>, Vec<T>) = all.into_iter().unzip();
    let at = taken(&tried, wanted).context("nothing was tried")?;
    Ok(Nearest { value: tried[at].value, outcome: outcomes.swap_remove(at), tried })
}

/// Returns a listing's rows of all that were tried, in units of `unit`: constant, mean, standard error, each seed.
pub(super) fn rows(unit: f64, tried: &[Tried]) -> Vec<[String; 4]> {
    let row = |each: &Tried| {
        let figures: Vec<String> = each.figures.iter().copied().map(figure).collect();
        let error = each.standard_error().map_or_else(|| "-".to_owned(), figure);
        [figure(each.value / unit), figure(each.mean()), error, figures.join(", ")]
    };
    tried.iter().map(row).collect()
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
    fn of_those_that_the_seeds_cannot_tell_from_the_wanted_the_middle_one_is_taken() {
        let tried = |figures: [[f64; 2]; 5]| {
            figures.iter().zip(1..).map(|(two, n)| Tried { value: f64::from(n), figures: two.to_vec() }).collect()
        };
        // Two standard errors of two seeds are the distance between them.
        let noisy: Vec<Tried> = tried([[9.0, 9.1], [3.0, 7.0], [6.0, 2.0], [1.0, 6.1], [1.0, 1.1]]);
        assert_eq!(taken(&noisy, 4.0), Some(2));
        assert_eq!(taken(&noisy[..3], 4.0), Some(2), "of two the one with the nearer mean");
        assert_eq!(taken(&noisy[..1], 4.0), Some(0), "none agrees");
        assert_eq!(taken(&[], 4.0), None);
    }

    #[test]
    fn of_those_tried_the_nearest_is_taken_with_what_came_of_it() {
        let found = nearest([1.0, 100.0], 9, 4.0, |value| Ok((value, vec![80.0 / value, 120.0 / value])));
        let Nearest { value, outcome, tried } = found.expect("nothing fails");
        assert!((value - 25.0).abs() < 0.5 && outcome == value, "{value}");
        assert!(tried.len() == 9 && tried.is_sorted_by_key(|tried| tried.value));
        let rows = rows(10.0, &tried[..1]);
        assert_eq!(rows[0][0], figure(tried[0].value / 10.0));
    }
}
