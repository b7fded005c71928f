//! The one constant, what a job computes, from one figure.
//!
//! Whoever computes longer comes to the locks less often, so the figure falls as the constant grows; and where the
//! queue at the root forms, it falls at once. A bracket that is halved finds that place; a simplex, which looks at
//! slopes, may not. What is taken is the constant that was tried whose figure is nearest.

use super::{LOCKS, plan};
use crate::reproduce::Context;
use crate::reproduce::aim7_runs::Sample;
use crate::reproduce::fit::halve;
use crate::reproduce::report::{Listing, figure};
use anyhow::{Context as _, Result};
use std::sync::Arc;
use turnwise_sim::spec::Machine;

/// The bracket that the search starts with: with the lower bound the queue is always there, with the upper one never.
const BRACKET_NS: [f64; 2] = [700_000.0, 1_400_000.0];
/// What was tried, and what came of it.
pub(super) struct Tried {
    compute_ns: f64,
    figures: Vec<f64>,
}

/// What was found.
pub(super) struct Found {
    pub(super) compute_ns: f64,
    /// The first kernel with it, with all seeds.
    pub(super) kernel: Sample,
    /// All that were tried, the least first.
    pub(super) tried: Vec<Tried>,
}

/// Finds the constant.
pub(super) fn fit(context: &Context<'_>, machine: &Arc<Machine>, wanted: f64) -> Result<Found> {
    let mut tried = Vec::new();
    let mut nearest: Option<(f64, f64, Sample)> = None;
    halve(BRACKET_NS, context.rounds(2, 5), |compute_ns| {
        let run = plan(context, machine, LOCKS[0], compute_ns, true);
        let mut kernels = Sample::run_all(context, "dcache: fit", &[(run, super::runs(context))])?;
        let kernel = kernels.pop().context("one for each run")?;
        let figures = kernel.0.iter().map(|outcome| super::spin_percent(outcome, "total")).collect();
        let this = Tried { compute_ns, figures };
        let (above, off) = (this.mean() > wanted, (this.mean().max(1e-12) / wanted).ln().abs());
        tried.push(this);
        if nearest.as_ref().is_none_or(|(best, ..)| off < *best) {
            nearest = Some((off, compute_ns, kernel));
        }
        Ok(above)
    })?;
    tried.sort_by(|a, b| a.compute_ns.total_cmp(&b.compute_ns));
    let (_, compute_ns, kernel) = nearest.context("nothing was tried")?;
    Ok(Found { compute_ns, kernel, tried })
}

impl Tried {
    fn mean(&self) -> f64 {
        self.figures.iter().sum::<f64>() / self.figures.len() as f64
    }
}

/// All that was tried.
pub(super) fn listing(tried: &[Tried]) -> Listing {
    let mut listing =
        Listing::new("What the fit tried: spin locks, % of busy time", &["a job computes, ms", "with each seed"]);
    for Tried { compute_ns, figures } in tried {
        let figures: Vec<String> = figures.iter().copied().map(figure).collect();
        listing.rows.push(vec![figure(compute_ns / 1e6), figures.join(", ")]);
    }
    listing
}

/// Where the figure falls most between two constants that were tried.
pub(super) fn cliff(tried: &[Tried]) -> Option<String> {
    let fall = |pair: &&[Tried]| pair[0].mean() - pair[1].mean();
    let pair = tried.windows(2).max_by(|a, b| fall(a).total_cmp(&fall(b)))?;
    let [before, after] = [&pair[0], &pair[1]];
    Some(format!(
        "From {} to {} ms of computing it falls from {} to {}%.",
        figure(before.compute_ns / 1e6),
        figure(after.compute_ns / 1e6),
        figure(before.mean()),
        figure(after.mean())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cliff_is_where_it_falls_most() {
        let tried = |(compute_ns, figure)| Tried { compute_ns, figures: vec![figure] };
        let all = [(8e5, 50.0), (9e5, 45.0), (1e6, 5.0), (2e6, 1.0)].map(tried);
        assert_eq!(cliff(&all).expect("it falls"), "From 0.90 to 1 ms of computing it falls from 45 to 5%.");
        assert_eq!(cliff(&all[..1]), None);
    }
}
