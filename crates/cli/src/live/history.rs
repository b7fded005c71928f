//! The last minute: how many threads waited for each lock.

use super::model::{LockId, LockView, ProcessId};
use std::collections::{HashMap, VecDeque};

/// So much is kept.
pub(crate) const MINUTE_NS: u64 = 60_000_000_000;

/// What is kept of the last minute.
#[derive(Default)]
pub(crate) struct History {
    /// Looks before which threads waited for a lock.
    locks: HashMap<LockId, VecDeque<Step>>,
}

/// The time from one look to the next.
struct Step {
    end_ns: u64,
    span_ns: u64,
    /// How many threads waited, in the mean.
    waiting: f64,
}

impl History {
    /// Notes the locks of one process, at a look and since the one before.
    pub(super) fn note(&mut self, locks: &[LockView], end_ns: u64, span_ns: u64) {
        for lock in locks.iter().filter(|lock| lock.now.waited_ns() > 0) {
            let waiting = lock.now.waited_ns() as f64 / span_ns.max(1) as f64;
            self.locks.entry(lock.id).or_default().push_back(Step { end_ns, span_ns, waiting });
        }
    }

    /// Whether threads waited for a lock within the last minute.
    pub(super) fn knows(&self, lock: LockId) -> bool {
        self.locks.contains_key(&lock)
    }

    /// Forgets what is older than a minute, and processes that are gone.
    pub(super) fn forget(&mut self, now_ns: u64, is_there: impl Fn(ProcessId) -> bool) {
        self.locks.retain(|id, past| {
            while past.front().is_some_and(|step| now_ns.saturating_sub(step.end_ns) > MINUTE_NS) {
                past.pop_front();
            }
            !past.is_empty() && is_there(id.process)
        });
    }

    /// Threads that waited for these locks together, in the mean, in so many equal parts of the last minute.
    pub(crate) fn minute(&self, locks: &[LockId], now_ns: u64, parts: usize) -> Vec<f64> {
        let part_ns = MINUTE_NS as f64 / parts as f64;
        let mut means = vec![0.0; parts];
        let steps = locks.iter().filter_map(|lock| self.locks.get(lock)).flatten();
        for step in steps {
            let end = MINUTE_NS as f64 - now_ns.saturating_sub(step.end_ns) as f64;
            let begin = end - step.span_ns as f64;
            for (part, mean) in means.iter_mut().enumerate() {
                let from = part as f64 * part_ns;
                let overlap = end.min(from + part_ns) - begin.max(from);
                *mean += step.waiting * overlap.max(0.0) / part_ns;
            }
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_minute_has_parts_whatever_the_interval_was() {
        let lock = LockId { process: ProcessId { pid: 1, start: 1 }, address: 8, kind: turnwise_live::Kind::Mutex };
        let mut history = History::default();
        let step = |end: u64, span: u64, waiting| Step { end_ns: end * SECOND, span_ns: span * SECOND, waiting };
        history.locks.insert(lock, [step(70, 10, 3.0), step(100, 1, 8.0)].into());
        let minute = history.minute(&[lock, lock], 100 * SECOND, 12);
        let mut expected = [0.0; 12];
        expected[4..6].fill(6.0);
        expected[11] = 16.0 / 5.0;
        assert!(minute.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-9), "{minute:?}");
        history.forget(131 * SECOND, |_| true);
        assert_eq!(history.locks[&lock].len(), 1, "older than a minute");
        history.forget(131 * SECOND, |_| false);
        assert!(history.locks.is_empty(), "its process is gone");
    }
}
