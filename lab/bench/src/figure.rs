//! The figures of a lock: columns of tables, and what is compared with the best peer.

use crate::report::{KindReport, LockReport, ScenarioReport, Waits};
use turnwise_present::figures::time;

/// A figure of a lock.
pub struct Figure {
    /// The column's heading.
    pub name: &'static str,
    /// The value.
    pub get: fn(&LockReport) -> Option<f64>,
    /// The value as text.
    pub show: fn(f64) -> String,
    /// Whether more is better.
    pub more_is_better: bool,
}

const fn low(name: &'static str, get: fn(&LockReport) -> Option<f64>, show: fn(f64) -> String) -> Figure {
    Figure { name, get, show, more_is_better: false }
}

/// Waits of either kind together are of interest where there is one kind.
fn wait(lock: &LockReport) -> Option<Waits> {
    lock.wait.filter(|_| lock.reads.is_none())
}

fn kind(kind: &Option<KindReport>) -> Option<f64> {
    Some(kind.as_ref()?.op_ns?.median)
}

fn kind_wait(kind: &Option<KindReport>) -> Option<Waits> {
    kind.as_ref()?.wait
}

/// The figures; [`crate::subject::Subject::figures`] names those that its tables show.
pub static FIGURES: &[Figure] = &[
    low("per op", |l| l.op_ns.map(|s| s.median), time),
    low("CPU per op", |l| l.cpu_ns.map(|s| s.median), time),
    Figure { more_is_better: true, ..low("fairness", |l| l.fairness.map(|s| s.median), two_places) },
    Figure { more_is_better: true, ..low("share of the few", |l| l.share.map(|s| s.median), two_places) },
    Figure { more_is_better: true, ..low("disturbed: CPU", |l| l.beside.map(|b| b.cpu.median), two_places) },
    Figure { more_is_better: true, ..low("disturbed: ops", |l| l.beside.map(|b| b.operations.median), two_places) },
    low("throttled", |l| l.throttled.map(|s| s.median), two_places),
    Figure { more_is_better: true, ..low("served", |l| Some(l.late.as_ref()?.served.median), two_places) },
    low("p50 wait", |l| wait(l).map(|w| w.p50_ns as f64), time),
    low("p99 wait", |l| wait(l).map(|w| w.p99_ns as f64), time),
    low("p99.9 wait", |l| wait(l).map(|w| w.p999_ns as f64), time),
    low("longest wait", |l| wait(l).map(|w| w.max_ns as f64), time),
    low("per read", |l| kind(&l.reads), time),
    low("longest read wait", |l| kind_wait(&l.reads).map(|w| w.max_ns as f64), time),
    low("per write", |l| kind(&l.writes), time),
    low("longest write wait", |l| kind_wait(&l.writes).map(|w| w.max_ns as f64), time),
    low("sleeps per op", |l| l.voluntary.map(|s| s.median), rate),
    low("sleeps per s", |l| l.voluntary_per_s.map(|s| s.median), rate),
    low("preempted per op", |l| l.involuntary.map(|s| s.median), rate),
];

/// Returns the figure of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

/// A figure of ours next to the best peer's.
#[derive(Clone, PartialEq, Debug)]
pub struct AgainstBest {
    /// The peer that is best at it.
    pub peer: String,
    /// Our value over the peer's.
    pub ratio: f64,
}

/// Returns how one of our locks compares in one figure with the peer that is best at it; `None` where there is no
/// value, or the peer's is zero. Peers that only spin do not count, unless ours does nothing else.
#[must_use]
pub fn against_best(scenario: &ScenarioReport, ours: &LockReport, figure: &Figure) -> Option<AgainstBest> {
    let value = (figure.get)(ours)?;
    let peers = scenario.locks.iter().filter(|l| !l.ours && (l.sleeps || !ours.sleeps));
    let better = |a: &(f64, &String), b: &(f64, &String)| {
        let order = a.0.total_cmp(&b.0);
        if figure.more_is_better { order.reverse() } else { order }
    };
    let (best, peer) = peers.filter_map(|l| Some(((figure.get)(l)?, &l.name))).min_by(better)?;
    (best > 0.0).then(|| AgainstBest { peer: peer.clone(), ratio: value / best })
}

/// Formats a ratio with two decimal places.
#[must_use]
pub fn two_places(value: f64) -> String {
    format!("{value:.2}")
}

/// Returns a number per operation, small or not.
#[must_use]
pub fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if (0.01..1000.0).contains(&v) => format!("{v:.2}"),
        v => format!("{v:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::scenario;
    use crate::subject::SUBJECTS;

    #[test]
    fn ours_is_compared_with_the_best_in_each_figure() {
        let mut s = scenario();
        let best = against_best(&s, &s.locks[0], &FIGURES[0]);
        assert_eq!(best, Some(AgainstBest { peer: "fast".to_owned(), ratio: 1.0 }));
        assert_eq!(against_best(&s, &s.locks[0], &FIGURES[1]), None);
        s.locks[0].sleeps = false;
        let best = against_best(&s, &s.locks[0], &FIGURES[0]);
        assert_eq!(best, Some(AgainstBest { peer: "spins".to_owned(), ratio: 20.0 }), "one that spins against all");
    }

    #[test]
    fn subjects_show_figures_that_exist() {
        for subject in SUBJECTS.iter() {
            assert!(subject.figures.iter().all(|name| find(name).is_some()), "{}", subject.name);
        }
    }

    #[test]
    fn rates_may_be_small() {
        assert_eq!([0.0, 2.2e-5, 0.814, 12_000.0].map(rate), ["0", "2.2e-5", "0.81", "1.2e4"]);
    }
}
