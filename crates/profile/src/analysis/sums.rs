//! Sums over entries: what belongs to one lock, site, thread or condition variable.

use super::clock::Clock;
use crate::model::{Distribution, Events, Step, Usage};
use std::collections::BTreeMap;
use turnwise_recording::scale::{self, STEPS};
use turnwise_recording::{
    DetailCopy, EntryCopy, LOCK_EVENTS, LOCK_HANDOFFS, LOCK_SLEEPS, LOCK_SPINS_OFF_CPU, LOCK_SPINS_TIMED_OUT,
    LOCK_SPINS_WON, LOCK_STEALS, Op,
};

/// Entries and distributions added up, in ticks.
#[derive(Clone, Default)]
pub(super) struct Sum {
    pub(super) acquisitions: u64,
    pub(super) reads: u64,
    pub(super) failed: u64,
    contended: u64,
    wait: Ticks,
    hold: Ticks,
    hold_contended: (u64, u64),
    hold_sampled: (u64, u64),
    pub(super) inside: Inside,
    courses: Vec<Course>,
}

/// What the waits were made of.
#[derive(Clone, Copy, Default)]
pub(super) struct Inside {
    told: u64,
    watched: u64,
    /// Acquisitions at once, past sleepers.
    pub(super) stolen: u64,
    events: [u64; LOCK_EVENTS],
}

impl Inside {
    fn merge(&mut self, other: &Inside) {
        self.told += other.told;
        self.watched += other.watched;
        self.stolen += other.stolen;
        for (sum, count) in self.events.iter_mut().zip(other.events) {
            *sum += count;
        }
    }

    /// `tells`: the locks of this run tell. Where nobody waited, they have told all.
    fn events(&self, contended: u64, tells: bool) -> Events {
        let known = self.told > 0 || self.stolen > 0 || tells && contended == 0;
        let told = |place: usize| known.then(|| self.events[place]);
        Events {
            sleeps: (known || self.watched > 0).then(|| self.events[LOCK_SLEEPS]),
            steals: told(LOCK_STEALS).map(|steals| steals + self.stolen),
            handoffs: told(LOCK_HANDOFFS),
            spins_won: told(LOCK_SPINS_WON),
            spins_off_cpu: told(LOCK_SPINS_OFF_CPU),
            spins_timed_out: told(LOCK_SPINS_TIMED_OUT),
            watched: self.told + self.watched,
        }
    }
}

#[derive(Clone, Default)]
struct Ticks {
    sum: u64,
    max: u64,
    buckets: BTreeMap<usize, u64>,
}

#[derive(Clone)]
struct Course {
    shift: u32,
    steps: Vec<(u64, u64, u64)>,
}

impl Ticks {
    fn add(&mut self, sum: u64, max: u64, buckets: &[u32]) {
        self.sum = self.sum.saturating_add(sum);
        self.max = self.max.max(max);
        for (bucket, count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            *self.buckets.entry(bucket).or_default() += u64::from(*count);
        }
    }

    fn distribution(&self, clock: Clock) -> Distribution {
        let buckets: Vec<_> =
            self.buckets.iter().map(|(bucket, count)| (clock.ns(scale::bound(*bucket)), *count)).collect();
        Distribution {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum_ns: clock.ns(self.sum),
            max_ns: clock.ns(self.max),
            buckets: merged(buckets),
        }
    }
}

/// Short lengths may share a nanosecond.
fn merged(buckets: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::with_capacity(buckets.len());
    for (bound, count) in buckets {
        match found.last_mut() {
            Some(last) if last.0 == bound => last.1 += count,
            _ => found.push((bound, count)),
        }
    }
    found
}

impl Sum {
    /// Adds what a thread did at one lock from one site.
    pub(super) fn add(&mut self, entry: &EntryCopy, detail: Option<&DetailCopy>) {
        self.acquisitions += entry.acquisitions;
        self.failed += u64::from(entry.failed);
        self.inside.stolen += entry.timed_out_or_stolen;
        if Op::split(entry.site).is_some_and(|(op, _)| op == Op::Read) {
            self.reads += entry.acquisitions;
        }
        if let Some(detail) = detail {
            self.add_detail(detail);
        }
    }

    pub(super) fn add_detail(&mut self, detail: &DetailCopy) {
        self.contended += detail.contended;
        self.wait.add(detail.wait_sum, detail.wait_max, &detail.wait);
        let held = detail.hold_contended_sum.saturating_add(detail.hold_sampled_sum);
        self.hold.add(held, detail.hold_max, &detail.hold);
        self.hold_contended.0 += detail.hold_contended;
        self.hold_contended.1 += detail.hold_contended_sum;
        self.hold_sampled.0 += detail.hold_sampled;
        self.hold_sampled.1 += detail.hold_sampled_sum;
        let (told, watched, events) = (detail.told, detail.watched, detail.events);
        self.inside.merge(&Inside { told, watched, stolen: 0, events });
        let step = |at: usize| {
            (u64::from(detail.step_acquisitions[at]), u64::from(detail.step_contended[at]), detail.step_wait[at])
        };
        self.courses.push(Course { shift: detail.step_shift.min(63), steps: (0..STEPS).map(step).collect() });
    }

    pub(super) fn merge(&mut self, other: &Sum) {
        self.acquisitions += other.acquisitions;
        self.reads += other.reads;
        self.failed += other.failed;
        self.contended += other.contended;
        for (to, from) in [(&mut self.wait, &other.wait), (&mut self.hold, &other.hold)] {
            to.sum = to.sum.saturating_add(from.sum);
            to.max = to.max.max(from.max);
            for (bucket, count) in &from.buckets {
                *to.buckets.entry(*bucket).or_default() += count;
            }
        }
        for (to, from) in
            [(&mut self.hold_contended, other.hold_contended), (&mut self.hold_sampled, other.hold_sampled)]
        {
            to.0 += from.0;
            to.1 += from.1;
        }
        self.inside.merge(&other.inside);
        self.courses.extend(other.courses.iter().cloned());
    }

    /// Ticks waited in total.
    pub(super) fn wait_ticks(&self) -> u64 {
        self.wait.sum
    }

    /// All waits.
    pub(super) fn waits(&self, clock: Clock) -> Distribution {
        self.wait.distribution(clock)
    }

    /// `tells`: the locks of this run tell what happens inside.
    pub(super) fn usage(&self, clock: Clock, tells: bool) -> Usage {
        let uncontended = self.acquisitions.saturating_sub(self.contended);
        Usage {
            acquisitions: self.acquisitions,
            reads: self.reads,
            contended: self.contended,
            failed: self.failed,
            wait: self.wait.distribution(clock),
            hold: self.hold.distribution(clock),
            hold_total_ns: scaled(clock, self.contended, self.hold_contended).saturating_add(scaled(
                clock,
                uncontended,
                self.hold_sampled,
            )),
            events: self.inside.events(self.contended, tells),
        }
    }

    /// The course over time, and the length of a step.
    pub(super) fn over_time(&self, clock: Clock, duration_ns: u64) -> (Vec<Step>, u64) {
        let Some(shift) = self.courses.iter().map(|course| course.shift).max() else { return (Vec::new(), 0) };
        let mut steps = vec![Step::default(); STEPS];
        for course in &self.courses {
            for (index, (acquisitions, contended, wait)) in course.steps.iter().enumerate() {
                let step = &mut steps[index >> (shift - course.shift)];
                step.acquisitions += acquisitions;
                step.contended += contended;
                step.wait_ns += clock.ns(*wait);
            }
        }
        let step_ns = clock.ns(1 << shift).max(1);
        steps.truncate(duration_ns.div_ceil(step_ns) as usize);
        self.fit(&mut steps);
        (steps, step_ns)
    }

    /// The sampled acquisitions of all steps become as many as there were.
    fn fit(&self, steps: &mut [Step]) {
        let sampled: u64 = steps.iter().map(|step| step.acquisitions - step.contended.min(step.acquisitions)).sum();
        let uncontended = self.acquisitions.saturating_sub(self.contended);
        let factor = if sampled == 0 { 0.0 } else { uncontended as f64 / sampled as f64 };
        for step in steps {
            let own = step.acquisitions.saturating_sub(step.contended);
            step.acquisitions = step.contended + (own as f64 * factor).round() as u64;
        }
    }
}

/// Of a lock that one thread has at a time: it was not held for longer than the program ran, though a hold that was
/// interrupted for long may have come into the sample, and stand for many.
pub(super) fn held_by_one(usage: Usage, duration_ns: u64) -> Usage {
    Usage { hold_total_ns: usage.hold_total_ns.min(duration_ns), ..usage }
}

/// Time of `count` holds, by the mean of the measured ones.
fn scaled(clock: Clock, count: u64, (measured, ticks): (u64, u64)) -> u64 {
    if measured == 0 { 0 } else { clock.ns((ticks as f64 / measured as f64 * count as f64) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_one_at_a_time_is_not_held_for_longer_than_the_run() {
        let second = 1_000_000_000;
        let sum = Sum { acquisitions: 512, hold_sampled: (1, second), ..Sum::default() };
        let usage = sum.usage(Clock::NANOSECONDS, false);
        assert_eq!(usage.hold_total_ns, 512 * second, "readers may hold it side by side");
        assert_eq!(held_by_one(usage, 2 * second).hold_total_ns, 2 * second);
    }
}
