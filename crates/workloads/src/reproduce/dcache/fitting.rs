//! The one constant, what a job computes, from one figure.
//!
//! Whoever computes longer comes to the locks less often, so the figure falls as the constant grows; and where the queue
//! at the root forms, it falls at once. A bracket that is halved is at home there; a simplex, which looks at slopes, is
//! not.

use super::{Kernel, LOCKS, plan};
use crate::reproduce::Context;
use crate::reproduce::aim7_runs::Run;
use crate::reproduce::report::{Listing, figure};
use anyhow::Result;
use std::sync::Arc;
use turnwise_sim::spec::Machine;

/// The bracket that the search starts with: with the lower bound the queue is always there, with the upper one never.
const BRACKET_NS: [f64; 2] = [600_000.0, 2_000_000.0];
/// Each constant is tried with so many seeds.
const SEEDS: u64 = 2;

/// What was tried, and what came of it.
pub(super) struct Tried {
    compute_ns: f64,
    figures: Vec<f64>,
}

/// The constant, and all that were tried, in this order.
pub(super) fn fit(context: &Context<'_>, machine: &Arc<Machine>, wanted: f64) -> Result<(f64, Vec<Tried>)> {
    let mut tried = Vec::new();
    let found = halve(BRACKET_NS, context.rounds(3, 6), |compute_ns| {
        let run = plan(context, machine, LOCKS[0], compute_ns, true);
        let runs: Vec<Run> = (0..SEEDS).map(|n| Run { seed: run.seed + n, ..run.clone() }).collect();
        let kernel = Kernel(context.pool.map("dcache: fit", &runs, Run::run)?);
        let figure = kernel.mean(|outcome| super::spin_percent(outcome, "total"));
        let figures = kernel.0.iter().map(|outcome| super::spin_percent(outcome, "total")).collect();
        tried.push(Tried { compute_ns, figures });
        Ok(figure > wanted)
    })?;
    Ok((found, tried))
}

/// Where `above` becomes false within a bracket, which is halved so often (in the logarithm); rounded to three digits.
fn halve([mut low, mut high]: [f64; 2], rounds: u64, mut above: impl FnMut(f64) -> Result<bool>) -> Result<f64> {
    for _ in 0..rounds {
        let middle = rounded((low * high).sqrt());
        if above(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(rounded((low * high).sqrt()))
}

fn rounded(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// How steep it is there.
pub(super) fn listing(tried: &[Tried]) -> Listing {
    let mut listing =
        Listing::new("What the fit tried: spin locks, % of busy time", &["a job computes, ms", "with each seed"]);
    let mut sorted: Vec<&Tried> = tried.iter().collect();
    sorted.sort_by(|a, b| a.compute_ns.total_cmp(&b.compute_ns));
    for Tried { compute_ns, figures } in sorted {
        let figures: Vec<String> = figures.iter().copied().map(figure).collect();
        listing.rows.push(vec![figure(compute_ns / 1e6), figures.join(", ")]);
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cliff_is_found_and_a_bracket_without_one_ends_at_its_edge() {
        let find = |cliff: f64| halve([600.0, 2400.0], 12, |value| Ok(value < cliff)).expect("nothing fails");
        assert!((find(1234.0) / 1234.0 - 1.0).abs() < 0.01, "{}", find(1234.0));
        assert!(find(5000.0) > 2300.0 && find(1.0) < 610.0);
        assert!(halve([1.0, 2.0], 1, |_| anyhow::bail!("no such lock")).is_err());
    }
}
