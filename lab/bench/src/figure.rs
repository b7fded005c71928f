//! The figures of a lock: columns of tables.

use crate::report::{KindReport, LockReport, Waits};
use turnwise_present::figures::time;

/// A figure of a lock.
pub struct Figure {
    /// The column's heading.
    pub name: &'static str,
    /// The value.
    pub get: fn(&LockReport) -> Option<f64>,
    /// The value as text.
    pub show: fn(f64) -> String,
}

const fn figure(name: &'static str, get: fn(&LockReport) -> Option<f64>, show: fn(f64) -> String) -> Figure {
    Figure { name, get, show }
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
    figure("per op", |l| l.op_ns.map(|s| s.median), time),
    figure("CPU per op", |l| l.cpu_ns.map(|s| s.median), time),
    figure("fairness", |l| l.fairness.map(|s| s.median), two_places),
    figure("share of the few", |l| l.share.map(|s| s.median), two_places),
    figure("disturbed: CPU", |l| l.beside.map(|b| b.cpu.median), two_places),
    figure("disturbed: ops", |l| l.beside.map(|b| b.operations.median), two_places),
    figure("throttled", |l| l.throttled.map(|s| s.median), two_places),
    figure("served", |l| Some(l.late.as_ref()?.served.median), two_places),
    figure("p50 wait", |l| wait(l).map(|w| w.p50_ns as f64), time),
    figure("p99 wait", |l| wait(l).map(|w| w.p99_ns as f64), time),
    figure("p99.9 wait", |l| wait(l).map(|w| w.p999_ns as f64), time),
    figure("longest wait", |l| wait(l).map(|w| w.max_ns as f64), time),
    figure("per read", |l| kind(&l.reads), time),
    figure("longest read wait", |l| kind_wait(&l.reads).map(|w| w.max_ns as f64), time),
    figure("per write", |l| kind(&l.writes), time),
    figure("longest write wait", |l| kind_wait(&l.writes).map(|w| w.max_ns as f64), time),
    figure("sleeps per op", |l| l.voluntary.map(|s| s.median), rate),
    figure("sleeps per s", |l| l.voluntary_per_s.map(|s| s.median), rate),
    figure("preempted per op", |l| l.involuntary.map(|s| s.median), rate),
];

/// Returns the figure of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
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
    use crate::subject::SUBJECTS;

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
