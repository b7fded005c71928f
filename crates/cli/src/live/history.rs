//! The last minute: how many threads waited for each lock.

use super::model::{LockId, LockView, ProcessId};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use turnwise_live::Kind;

/// The time that is kept.
pub(crate) const MINUTE_NS: u64 = 60_000_000_000;

/// The data of the last minute. There may be thousands of locks, so the data of each look are stored together.
#[derive(Default)]
pub(crate) struct History {
    steps: VecDeque<Step>,
}

/// The time from one look at a process to the next.
struct Step {
    process: ProcessId,
    end_ns: u64,
    span_ns: u64,
    /// The mean number of threads that waited for each of its locks with any waiters.
    waiting: Vec<(u64, Kind, f32)>,
}

impl History {
    /// Notes the locks of one process, at a look and since the previous one.
    pub(super) fn note(&mut self, process: ProcessId, locks: &[LockView], end_ns: u64, span_ns: u64) {
        let waited = locks.iter().filter(|lock| lock.waited_ns > 0);
        let waiting = waited.map(|lock| {
            let mean = lock.waited_ns as f64 / span_ns.max(1) as f64;
            (lock.id.address, lock.id.kind, mean as f32)
        });
        self.steps.push_back(Step { process, end_ns, span_ns, waiting: waiting.collect() });
    }

    /// Drops data older than a minute, and processes that have ended.
    pub(super) fn forget(&mut self, now_ns: u64, is_there: impl Fn(ProcessId) -> bool) {
        self.steps.retain(|step| !is_old(step.end_ns, now_ns) && is_there(step.process));
    }

    /// Returns the mean number of threads that waited for these locks in `parts` equal parts of the last minute.
    pub(crate) fn minute(&self, locks: &[LockId], now_ns: u64, parts: usize) -> Vec<f64> {
        let part_ns = MINUTE_NS as f64 / parts as f64;
        let mut means = vec![0.0; parts];
        let wanted: FxHashSet<LockId> = locks.iter().copied().collect();
        for step in &self.steps {
            let is_wanted = |(address, kind)| wanted.contains(&LockId { process: step.process, address, kind });
            let waits = step.waiting.iter().filter(|(address, kind, _)| is_wanted((*address, *kind)));
            let waiting: f64 = waits.map(|(.., mean)| f64::from(*mean)).sum();
            let end = MINUTE_NS as f64 - now_ns.saturating_sub(step.end_ns) as f64;
            let begin = end - step.span_ns as f64;
            for (part, mean) in means.iter_mut().enumerate() {
                let from = part as f64 * part_ns;
                let overlap = end.min(from + part_ns) - begin.max(from);
                *mean += waiting * overlap.max(0.0) / part_ns;
            }
        }
        means
    }
}

/// Returns whether a time is more than a minute ago.
pub(super) fn is_old(at_ns: u64, now_ns: u64) -> bool {
    now_ns.saturating_sub(at_ns) > MINUTE_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_minute_has_parts_whatever_the_interval_was() {
        let process = ProcessId { pid: 1, start: 1 };
        let lock = |address| LockId { process, address, kind: Kind::Mutex };
        let mut history = History::default();
        let step = |end: u64, span: u64, waiting: f32| {
            let waiting = [8, 16, 24].map(|address| (address, Kind::Mutex, waiting)).into();
            Step { process, end_ns: end * SECOND, span_ns: span * SECOND, waiting }
        };
        history.steps = [step(70, 10, 3.0), step(100, 1, 8.0)].into();
        let minute = history.minute(&[lock(8), lock(24), lock(32)], 100 * SECOND, 12);
        let mut expected = [0.0; 12];
        expected[4..6].fill(6.0);
        expected[11] = 16.0 / 5.0;
        assert!(minute.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-9), "{minute:?}");
        history.forget(131 * SECOND, |_| true);
        assert_eq!(history.steps.len(), 1, "older than a minute");
        history.forget(131 * SECOND, |_| false);
        assert!(history.steps.is_empty(), "its process is gone");
    }
}
