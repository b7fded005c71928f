//! How near predictions are, and whether they put locks in the order in which they were measured.

use serde::Serialize;
use std::collections::BTreeSet;
use turnwise_present::stats::median;

/// Published figures that differ by less than this factor have no order: the data's own spread is up to 39%.
const APART: f64 = 1.2;

/// One published figure and its prediction.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) machine: &'a str,
    /// What the threads do.
    pub(super) what: &'a str,
    pub(super) threads: u32,
    pub(super) lock: &'a str,
    pub(super) published: f64,
    pub(super) predicted: f64,
}

/// Errors of predictions, as shares of what was measured.
#[derive(Serialize)]
pub(super) struct Judgement {
    pub(super) all: usize,
    within_25: usize,
    within_35: usize,
    within_factor_2: usize,
    /// With their signs.
    median: f64,
    median_error: f64,
}

/// Judges these errors.
pub(super) fn judge(errors: impl IntoIterator<Item = f64>) -> Judgement {
    let mut errors: Vec<f64> = errors.into_iter().collect();
    let within = |bound| errors.iter().filter(|error| error.abs() <= bound).count();
    let (within_25, within_35) = (within(0.25), within(0.35));
    let within_factor_2 = errors.iter().filter(|&&error| (0.5..=2.0).contains(&(1.0 + error))).count();
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let middle = |errors: &mut [f64]| if errors.is_empty() { 0.0 } else { median(errors) };
    let (all, median_error) = (errors.len(), middle(&mut sizes));
    Judgement { all, within_25, within_35, within_factor_2, median: middle(&mut errors), median_error }
}

fn judged<'a>(points: impl Iterator<Item = &'a Point<'a>>) -> Judgement {
    judge(points.map(|point| point.predicted / point.published - 1.0))
}

/// How often the prediction puts two locks in the order in which they were measured.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Order {
    right: usize,
    pairs: usize,
}

/// Judges each pair of locks at one host, section and number of threads, if their published figures differ clearly.
fn order<'a>(points: impl Iterator<Item = &'a Point<'a>> + Clone) -> Order {
    let mut order = Order::default();
    for slow in points.clone() {
        let same = |p: &&Point<'_>| p.machine == slow.machine && p.what == slow.what && p.threads == slow.threads;
        for fast in points.clone().filter(same).filter(|p| slow.published > APART * p.published) {
            order.pairs += 1;
            order.right += usize::from(slow.predicted > fast.predicted);
        }
    }
    order
}

/// By host and lock, and in all.
#[derive(Serialize)]
pub(super) struct Summary {
    machines: Vec<String>,
    /// For each lock a judgement for each machine.
    locks: Vec<(String, Vec<Judgement>)>,
    each: Vec<Judgement>,
    order_of_each: Vec<Order>,
    all: Judgement,
    order: Order,
}

impl Summary {
    pub(super) fn of<'a>(points: &'a [Point<'a>]) -> Summary {
        let machines: BTreeSet<&str> = points.iter().map(|p| p.machine).collect();
        let locks: BTreeSet<&str> = points.iter().map(|p| p.lock).collect();
        let cell = |lock: &str, machine| judged(on(points, machine).filter(|p| p.lock == lock));
        let row = |lock: &str| machines.iter().map(|machine| cell(lock, machine)).collect();
        Summary {
            locks: locks.iter().map(|&lock| (lock.to_owned(), row(lock))).collect(),
            each: machines.iter().map(|machine| judged(on(points, machine))).collect(),
            order_of_each: machines.iter().map(|machine| order(on(points, machine))).collect(),
            all: judged(points.iter()),
            order: order(points.iter()),
            machines: machines.into_iter().map(str::to_owned).collect(),
        }
    }
}

fn on<'a>(points: &'a [Point<'a>], machine: &'a str) -> impl Iterator<Item = &'a Point<'a>> + Clone {
    points.iter().filter(move |p| p.machine == machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_that_differ_are_ordered() {
        let point = |lock, published, predicted| Point {
            machine: "here",
            what: "0 ns with the lock",
            threads: 8,
            lock,
            published,
            predicted,
        };
        let points = [point("a", 100.0, 100.0), point("b", 110.0, 90.0), point("c", 200.0, 95.0)];
        let summary = Summary::of(&points);
        assert_eq!(summary.order, Order { right: 1, pairs: 2 });
        let (lock, of_c) = &summary.locks[2];
        assert_eq!((lock.as_str(), of_c[0].within_35, of_c[0].all, of_c[0].median), ("c", 0, 1, -0.525));
        assert_eq!((summary.all.within_35, summary.all.all), (2, 3));
    }

    #[test]
    fn errors_are_judged_both_ways() {
        let judged = judge([-0.3, 0.2, -0.6, 0.9]);
        assert_eq!((judged.within_25, judged.within_35, judged.within_factor_2), (1, 2, 3));
        assert!((judged.median_error - 0.45).abs() < 1e-9, "the mean of the middle two");
        assert!((judged.median + 0.05).abs() < 1e-9);
    }
}
