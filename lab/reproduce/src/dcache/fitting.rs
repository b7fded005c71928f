//! The one constant, what a job computes, from one figure: a job that computes longer comes to the locks less often, so
//! it falls as the constant grows; and where the queue at the root forms, it falls at once.

use super::{LOCKS, plan};
use crate::Context;
use crate::aim7_runs::Sample;
use crate::bracket::{Nearest, Tried, nearest};
use crate::report::figure;
use anyhow::{Context as _, Result};
use std::sync::Arc;
use turnwise_sim::spec::Machine;

/// The bracket that the search starts with: with the lower bound the queue is always there, with the upper one never.
const BRACKET_NS: [f64; 2] = [1_000_000.0, 4_000_000.0];

/// Finds the constant; with it the first kernel, with all seeds.
pub(super) fn fit(context: &Context<'_>, machine: &Arc<Machine>, wanted: f64) -> Result<Nearest<Sample>> {
    nearest(BRACKET_NS, context.rounds(3, 6), wanted, |compute_ns| {
        let run = plan(context, machine, LOCKS[0], compute_ns, true);
        let mut kernels = Sample::run_all(context, "dcache: fit", &[(run, super::runs(context))])?;
        let kernel = kernels.pop().context("one for each run")?;
        let figures = kernel.0.iter().map(|outcome| super::spin_percent(outcome, "total")).collect();
        Ok((kernel, figures))
    })
}

/// Returns where the figure falls most between two constants that were tried.
pub(super) fn cliff(tried: &[Tried]) -> Option<String> {
    let fall = |pair: &&[Tried]| pair[0].mean() - pair[1].mean();
    let pair = tried.windows(2).max_by(|a, b| fall(a).total_cmp(&fall(b)))?;
    let [before, after] = [&pair[0], &pair[1]];
    Some(format!(
        "From {} to {} ms of computing it falls from {} to {}%.",
        figure(before.value / 1e6),
        figure(after.value / 1e6),
        figure(before.mean()),
        figure(after.mean())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cliff_is_where_it_falls_most() {
        let tried = |(value, figure)| Tried { value, figures: vec![figure] };
        let all = [(8e5, 50.0), (9e5, 45.0), (1e6, 5.0), (2e6, 1.0)].map(tried);
        assert_eq!(cliff(&all).expect("it falls"), "From 0.90 to 1 ms of computing it falls from 45 to 5%.");
        assert_eq!(cliff(&all[..1]), None);
    }
}
