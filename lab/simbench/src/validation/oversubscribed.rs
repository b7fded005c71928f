//! Locks with more threads than CPUs: where the curves break.
//!
//! A section reads and writes two lines, the time outside is 100 turns of an empty loop, no thread is pinned. The
//! figure is the time for each completed section. The published axis is not explained, so only ratios are judged.

use super::lockhammer::find;
use super::loops::{self, Loops, Section};
use super::published::Oversubscription;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use turnwise_sim::spec;

/// Sections before this do not count: until then every thread has had a slice, and some have lost their CPUs.
const WARM_UP_NS: u64 = 20_000_000;
/// 100 turns of an empty loop at about 3 GHz.
const OUTSIDE_NS: u64 = 35;
/// A curve breaks where it rises by more than this factor from one column to the next.
const BREAK: f64 = 50.0;

/// One lock's curve.
pub(super) struct Curve {
    pub(super) lock: String,
    pub(super) published_us: Option<Vec<f64>>,
    pub(super) predicted_us: Vec<f64>,
}

/// Returns the number of threads at which a curve breaks first.
pub(super) fn breaks_at(threads: &[u32], us: &[f64]) -> Option<u32> {
    let step = us.windows(2).position(|pair| pair[1] > BREAK * pair[0]);
    step.map(|step| threads[step + 1])
}

/// Returns how many runs there are.
pub(super) fn count(published: &Oversubscription) -> usize {
    published.threads.len() * (published.us.len() + published.locks.len())
}

/// Predicts the curves: those of the data, and others on the same machine.
///
/// # Errors
/// A machine or a lock is missing, or threads make no progress.
pub(super) fn predict(published: &Oversubscription, ms: u64, mut tick: impl FnMut()) -> Result<Vec<Curve>> {
    let machine = Arc::new(spec::load(&published.machine)?);
    let mut rows: BTreeMap<&str, Option<&Vec<f64>>> =
        published.us.iter().map(|(lock, us)| (lock.as_str(), Some(us))).collect();
    rows.extend(published.locks.iter().map(|lock| (lock.as_str(), None)));
    let mut curves = Vec::new();
    for (lock, published_us) in rows {
        let mut predicted_us = Vec::new();
        for &threads in &published.threads {
            let loops = Loops {
                threads,
                cpus: (0..machine.topology.cpus()).collect(),
                pinned: false,
                section: Section { written: 2, outside_ns: OUTSIDE_NS, ..Section::default() },
                warm_up_ns: WARM_UP_NS,
                duration_ns: ms * 1_000_000,
            };
            let ns = loops::once(&machine, find(lock)?, &loops);
            predicted_us.push(ns.with_context(|| format!("{lock} with {threads} threads"))? / 1_000.0);
            tick();
        }
        curves.push(Curve { lock: lock.to_owned(), published_us: published_us.cloned(), predicted_us });
    }
    Ok(curves)
}

/// Returns the table, and where each curve breaks.
pub(super) fn table(published: &Oversubscription, curves: &[Curve]) -> String {
    let mut text = String::from("| lock | |");
    published.threads.iter().for_each(|threads| text += &format!(" {threads} |"));
    text += &format!(" breaks at |\n|---|---|{}---|\n", "---|".repeat(published.threads.len()));
    for curve in curves {
        for (what, us) in [("published", curve.published_us.as_ref()), ("predicted", Some(&curve.predicted_us))] {
            let Some(us) = us else { continue };
            text += &format!("| `{}` | {what} |", curve.lock);
            us.iter().for_each(|us| text += &format!(" {us:.3} |"));
            let broken = breaks_at(&published.threads, us);
            text += &format!(" {} |\n", broken.map_or("nowhere".to_owned(), |threads| threads.to_string()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_breaks_where_it_jumps() {
        assert_eq!(breaks_at(&[100, 104, 110], &[0.7, 0.8, 9e4]), Some(110));
        assert_eq!(breaks_at(&[100, 104, 110], &[3.3, 3.8, 5.2]), None);
    }
}
