//! A search for one to three constants of a workload, by simulated evaluations.
//!
//! Nelder and Mead's simplex (`argmin`) in the logarithms of the constants, within bounds. Each constant is rounded to
//! three digits before it is tried, so that the reported value is the one that was run, and none is tried twice.

use anyhow::{Result, anyhow, ensure};
use argmin::core::{CostFunction, Executor, State};
use argmin::solver::neldermead::NelderMead;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A constant that is not known.
#[derive(Clone, Copy, Debug)]
pub struct Unknown {
    /// Its name.
    pub name: &'static str,
    /// Not below this; above 0.
    pub low: f64,
    /// Not above this.
    pub high: f64,
    /// Where the search starts.
    pub start: f64,
    /// Whether it counts things.
    pub whole: bool,
}

impl Unknown {
    /// Returns the constant at a place between its bounds, where 0 is the lower.
    fn at(&self, place: f64) -> f64 {
        let value = self.low * (self.high / self.low).powf(place.clamp(0.0, 1.0));
        if self.whole { value.round() } else { three_digits(value) }
    }

    fn place(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }
}

/// Returns a value as it is reported.
pub(super) fn three_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit
}

struct Search<'a, F> {
    unknowns: &'a [Unknown],
    misfit: RefCell<F>,
    known: RefCell<BTreeMap<Vec<u64>, f64>>,
    /// The solver does not tolerate an error at its first corners: it is kept here, and nothing is tried any more.
    failure: RefCell<Option<anyhow::Error>>,
}

/// The cost of a place where the evaluation failed.
const FAILED: f64 = 1e300;

impl<F: FnMut(&[f64]) -> Result<f64>> Search<'_, F> {
    fn values(&self, places: &[f64]) -> Vec<f64> {
        self.unknowns.iter().zip(places).map(|(unknown, place)| unknown.at(*place)).collect()
    }

    fn evaluate(&self, values: &[f64]) -> Result<f64> {
        let key: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(*known);
        }
        let misfit = (self.misfit.borrow_mut())(values)?;
        ensure!(misfit.is_finite(), "the misfit at {values:?} is not a finite number");
        self.known.borrow_mut().insert(key, misfit);
        Ok(misfit)
    }
}

impl<F: FnMut(&[f64]) -> Result<f64>> CostFunction for &Search<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;

    /// Returns the cost of a place; beyond the bounds it exceeds that of the bound itself, and grows with the distance.
    fn cost(&self, places: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let beyond: f64 = places.iter().map(|place| (place - place.clamp(0.0, 1.0)).abs()).sum();
        if self.failure.borrow().is_some() {
            return Ok(FAILED);
        }
        let misfit = match self.evaluate(&self.values(places)) {
            Ok(misfit) => misfit,
            Err(error) => {
                *self.failure.borrow_mut() = Some(error);
                return Ok(FAILED);
            }
        };
        Ok(misfit * (1.0 + beyond) + beyond)
    }
}

/// Returns the constants within their bounds for which `misfit` is least, after at most about `rounds` simplex rounds,
/// in the order of the unknowns.
///
/// # Errors
/// Bounds make no sense, or `misfit` fails.
pub fn fit(unknowns: &[Unknown], rounds: u64, misfit: impl FnMut(&[f64]) -> Result<f64>) -> Result<Vec<f64>> {
    for Unknown { name, low, high, start, .. } in unknowns {
        ensure!(*low > 0.0 && low < high && (*low..=*high).contains(start), "{name}: {low} to {high}, from {start}");
    }
    let search =
        Search { unknowns, misfit: RefCell::new(misfit), known: RefCell::default(), failure: RefCell::default() };
    let first: Vec<f64> = unknowns.iter().map(|unknown| unknown.place(unknown.start)).collect();
    let mut simplex = vec![first.clone()];
    for axis in 0..unknowns.len() {
        let mut corner = first.clone();
        corner[axis] += if corner[axis] > 0.5 { -0.2 } else { 0.2 };
        simplex.push(corner);
    }
    let shown = |error: argmin::core::Error| anyhow!("{error}");
    let solver = NelderMead::new(simplex).with_sd_tolerance(1e-4).map_err(shown)?;
    let run = Executor::new(&search, solver).configure(|state| state.max_iters(rounds)).run().map_err(shown)?;
    if let Some(failure) = search.failure.borrow_mut().take() {
        return Err(failure);
    }
    let places = run.state().get_best_param().cloned().unwrap_or(first);
    Ok(search.values(&places))
}

/// Returns how far figures are from what they should be: the root of the mean square of the logarithms of their ratios.
#[must_use]
pub fn distance(pairs: &[(f64, f64)]) -> f64 {
    let squares = pairs.iter().map(|(ours, wanted)| (ours.max(1e-12) / wanted).ln().powi(2));
    (squares.sum::<f64>() / pairs.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Unknown = Unknown { name: "a", low: 1.0, high: 1000.0, start: 50.0, whole: false };

    #[test]
    fn a_constant_is_found_and_again_the_same() {
        let search = || fit(&[A], 60, |v| Ok(distance(&[(v[0] * 3.0, 21.0)]))).expect("it can be evaluated");
        let found = search();
        assert!((found[0] - 7.0).abs() < 0.1, "{found:?}");
        assert_eq!(found, search());
    }

    #[test]
    fn two_constants_are_found_from_two_figures() {
        let b = Unknown { name: "b", low: 0.01, high: 10.0, start: 1.0, whole: false };
        let curve =
            |v: &[f64]| Ok(distance(&[(v[0] * 8.0 + v[1] * 64.0, 240.0), (v[0] * 64.0 + v[1] * 4096.0, 6016.0)]));
        let found = fit(&[A, b], 200, curve).expect("it can be evaluated");
        assert!((found[0] - 20.9).abs() < 1.0 && (found[1] - 1.14).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn nothing_is_tried_twice_or_beyond_the_bounds() {
        let mut tried = Vec::new();
        let whole = Unknown { whole: true, high: 20.0, start: 3.0, ..A };
        let misfit = |v: &[f64]| {
            tried.push(v[0]);
            Ok((v[0] - 100.0).abs())
        };
        let found = fit(&[whole], 40, misfit).expect("it can be evaluated");
        assert_eq!(found, [20.0]);
        assert!(tried.iter().all(|v| (1.0..=20.0).contains(v) && v.fract() == 0.0), "{tried:?}");
        let evaluations = tried.len();
        tried.sort_by(f64::total_cmp);
        tried.dedup();
        assert_eq!(tried.len(), evaluations);
    }

    #[test]
    fn what_fails_and_what_makes_no_sense_is_reported() {
        let error = fit(&[A], 9, |_| anyhow::bail!("no such lock")).expect_err("it fails").to_string();
        assert!(error.contains("no such lock"), "{error}");
        let wrong = Unknown { start: 5000.0, ..A };
        assert!(fit(&[wrong], 9, |_| Ok(0.0)).is_err());
    }
}
