//! Sums over waits that were observed one by one.

use crate::model::{Distribution, Step, Usage};
use std::collections::BTreeMap;
use turnwise_recording::scale::{self, STEPS};

/// A sum of waits, or of holds. Each stands for others like it, by its weight.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    number: f64,
    sum_ns: f64,
    max_ns: u64,
    buckets: BTreeMap<usize, f64>,
    /// The number of waits that ended without the lock.
    pub failed: u64,
}

impl Sum {
    /// Adds one.
    pub fn add(&mut self, ns: u64, weight: f64) {
        self.number += weight;
        self.sum_ns += weight * ns as f64;
        self.max_ns = self.max_ns.max(ns);
        *self.buckets.entry(scale::bucket(ns)).or_default() += weight;
    }

    /// Adds all of another sum.
    pub fn merge(&mut self, other: &Sum) {
        self.number += other.number;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.failed += other.failed;
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
    }

    /// Returns their number, and their time.
    pub fn totals(&self) -> (u64, u64) {
        (self.number.round() as u64, self.sum_ns.round() as u64)
    }

    /// Returns their distribution.
    pub fn distribution(&self) -> Distribution {
        let buckets = self.buckets.iter().map(|(bucket, count)| (scale::bound(*bucket), count.round() as u64));
        let (count, sum_ns) = self.totals();
        Distribution { count, sum_ns, max_ns: self.max_ns, buckets: buckets.filter(|(_, count)| *count > 0).collect() }
    }

    /// Returns them as the use of a lock of which only waits are known.
    pub fn usage(&self) -> Usage {
        Usage { contended: self.totals().0, failed: self.failed, wait: self.distribution(), ..Usage::default() }
    }
}

/// The waits of an address over time, each at its end. The steps double in length as the run gets longer.
#[derive(Clone, Debug)]
pub struct Course {
    step_ns: u64,
    steps: [(u64, u64); STEPS],
}

impl Default for Course {
    fn default() -> Course {
        Course { step_ns: 1 << 20, steps: [(0, 0); STEPS] }
    }
}

impl Course {
    /// Adds waits that ended at a time.
    pub fn add(&mut self, ended_ns: u64, waits: u64, waited_ns: u64) {
        while ended_ns / self.step_ns >= STEPS as u64 {
            self.coarsen();
        }
        let step = &mut self.steps[(ended_ns / self.step_ns) as usize];
        step.0 = step.0.saturating_add(waits);
        step.1 = step.1.saturating_add(waited_ns);
    }

    fn coarsen(&mut self) {
        for place in 0..STEPS {
            let pair = [2 * place, 2 * place + 1].map(|from| self.steps.get(from).copied().unwrap_or_default());
            self.steps[place] = (pair[0].0 + pair[1].0, pair[0].1.saturating_add(pair[1].1));
        }
        self.step_ns *= 2;
    }

    /// Returns the steps of a run of this length, and the length of each. Acquisitions are unknown.
    pub fn steps(&self, duration_ns: u64) -> (Vec<Step>, u64) {
        let step = |&(contended, wait_ns)| Step { acquisitions: 0, contended, wait_ns };
        let mut steps: Vec<Step> = self.steps.iter().map(step).collect();
        steps.truncate(duration_ns.div_ceil(self.step_ns).max(1) as usize);
        (steps, self.step_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_get_longer_with_the_run() {
        let mut course = Course::default();
        course.add(0, 1, 5);
        course.add(1 << 20, 1, 7);
        course.add(200 << 20, 1, 9);
        let (steps, step_ns) = course.steps(201 << 20);
        assert_eq!(step_ns, 4 << 20);
        assert_eq!((steps[0].contended, steps[0].wait_ns, steps[50].wait_ns), (2, 12, 9));
        assert_eq!(steps.len(), 51);
    }

    #[test]
    fn sums_add_up() {
        let (mut one, mut other) = (Sum::default(), Sum::default());
        one.add(10, 1.0);
        other.add(1000, 1.0);
        other.failed = 1;
        one.merge(&other);
        let times = one.distribution();
        assert_eq!((times.count, times.sum_ns, times.max_ns, one.usage().failed), (2, 1010, 1000, 1));
        assert!(times.quantile(0.5) >= 10 && times.quantile(0.5) < 14, "{times:?}");
        one.add(100, 50.0);
        assert_eq!(one.totals(), (52, 6010));
    }
}
