//! One lock as a Markov chain, for comparison: n CPUs of which k are at the lock; each of the others comes after a mean
//! time a; the lock serves one after s + c k / 2 (S. Boyd-Wickizer and others, "Non-scalable locks are dangerous",
//! 2012).

use crate::fit::{Unknown, distance, fit};
use anyhow::Result;

/// Returns the number served per time unit.
fn throughput(cpus: u32, away: f64, service: f64, line: f64) -> f64 {
    // Birth and death: p[k+1] / p[k] = (n - k) / a * (s + c (k+1) / 2).
    let mut weights = vec![1.0_f64];
    for k in 0..cpus {
        let last = weights[k as usize];
        let ratio = f64::from(cpus - k) / away * (service + line * f64::from(k + 1) / 2.0);
        weights.push(last * ratio);
        let most = weights.iter().copied().fold(0.0, f64::max);
        if most > 1e200 {
            weights.iter_mut().for_each(|weight| *weight /= most);
        }
    }
    let all: f64 = weights.iter().sum();
    let served = (1..=cpus).map(|k| weights[k as usize] / all / (service + line * f64::from(k) / 2.0));
    served.sum()
}

/// Returns the throughput on 10, 20, 40 and 80 CPUs of the chain that has the wanted ones on 10, 40 and 80.
pub(super) fn chain(wanted: [f64; 4]) -> Result<[f64; 4]> {
    let away = 10.0 / wanted[0];
    let unknown =
        |name, share: f64| Unknown { name, low: away * 1e-5, high: away * 0.5, start: away * share, whole: false };
    let curve = |v: &[f64]| [10, 20, 40, 80].map(|cpus| throughput(cpus, away - v[0], v[0], v[1]));
    let found = fit(&[unknown("service", 0.02), unknown("line", 0.001)], 200, |v| {
        let ours = curve(v);
        Ok(distance(&[(ours[0], wanted[0]), (ours[2], wanted[2]), (ours[3], wanted[3])]))
    })?;
    Ok(curve(&found.values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_lock_costs_nothing_and_a_slow_one_sets_the_pace() {
        assert!((throughput(8, 100.0, 1e-6, 0.0) - 0.08).abs() < 1e-4);
        assert!((throughput(80, 1.0, 10.0, 0.0) - 0.1).abs() < 1e-3);
    }

    #[test]
    fn a_chain_has_a_peak() {
        let [one, _, four, eight] = chain([198.0, 338.0, 394.0, 305.0]).expect("it can be fitted");
        assert!((one / 198.0 - 1.0).abs() < 0.2 && four > one && eight < four * 1.2, "{one} {four} {eight}");
    }
}
