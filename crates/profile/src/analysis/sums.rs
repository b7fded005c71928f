//! Sums over entries that belong to one lock, site, thread or condition variable.

use super::clock::Clock;
use crate::model::{Distribution, Events, Step, Usage};
use std::collections::BTreeMap;
use turnwise_recording::scale::{self, STEPS};
use turnwise_recording::{
    DetailCopy, EntryCopy, LOCK_EVENTS, LOCK_HANDOFFS, LOCK_SLEEPS, LOCK_SPINS_OFF_CPU, LOCK_SPINS_TIMED_OUT,
    LOCK_SPINS_WON, LOCK_STEALS, Op,
};

/// A sum of entries and distributions, in ticks.
#[derive(Clone, Default)]
pub(super) struct Sum {
    pub(super) acquisitions: u64,
    pub(super) reads: u64,
    pub(super) failed: u64,
    contended: u64,
    wait: Ticks,
    hold: Ticks,
    holds: Holds,
    /// For merged sums: their total hold time.
    merged_hold: Option<u64>,
    pub(super) inside: Inside,
    courses: Vec<Course>,
}

/// Holds that were measured, and the ticks that they lasted.
#[derive(Clone, Copy, Default)]
struct Holds {
    contended: (u64, u64),
    /// Holds that stand for themselves.
    single: (u64, u64),
    /// Holds that stand for the rest.
    sampled: (u64, u64),
}

impl Holds {
    fn add(&mut self, detail: &DetailCopy) {
        let add = |to: &mut (u64, u64), number, ticks| *to = (to.0 + number, to.1.saturating_add(ticks));
        add(&mut self.contended, detail.hold_contended, detail.hold_contended_sum);
        add(&mut self.single, detail.hold_single, detail.hold_single_sum);
        add(&mut self.sampled, detail.hold_sampled, detail.hold_sampled_sum);
    }

    fn measured(&self) -> (u64, u64) {
        let all = [self.contended, self.single, self.sampled];
        all.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1.saturating_add(one.1)))
    }

    /// Returns the ticks of all holds, scaled up from the measured ones.
    fn all(&self, acquisitions: u64, contended: u64) -> u64 {
        let rest = acquisitions.saturating_sub(contended).saturating_sub(self.single.0);
        // Without a sample, holds that stand for themselves are the best estimate.
        let of_rest = if self.sampled.0 > 0 { self.sampled } else { self.single };
        let scaled = [(contended, self.contended), (rest, of_rest)].map(|(number, measured)| scaled(number, measured));
        scaled.iter().fold(self.single.1, |sum, ticks| sum.saturating_add(*ticks))
    }
}

/// The components of the waits.
#[derive(Clone, Copy, Default)]
pub(super) struct Inside {
    reported: u64,
    watched: u64,
    /// Immediate acquisitions, past sleepers.
    pub(super) stolen: u64,
    events: [u64; LOCK_EVENTS],
}

impl Inside {
    fn merge(&mut self, other: &Inside) {
        self.reported += other.reported;
        self.watched += other.watched;
        self.stolen += other.stolen;
        for (sum, count) in self.events.iter_mut().zip(other.events) {
            *sum += count;
        }
    }

    /// Converts to events. `reports`: the locks of this run report them. Without waits, they have reported all.
    fn events(&self, contended: u64, reports: bool) -> Events {
        let known = self.reported > 0 || self.stolen > 0 || reports && contended == 0;
        let reported = |place: usize| known.then(|| self.events[place]);
        Events {
            sleeps: (known || self.watched > 0).then(|| self.events[LOCK_SLEEPS]),
            steals: reported(LOCK_STEALS).map(|steals| steals + self.stolen),
            handoffs: reported(LOCK_HANDOFFS),
            spins_won: reported(LOCK_SPINS_WON),
            spins_off_cpu: reported(LOCK_SPINS_OFF_CPU),
            spins_timed_out: reported(LOCK_SPINS_TIMED_OUT),
            watched: self.reported + self.watched,
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

    /// Adds another distribution; `weight`: the number that each of its values stands for.
    fn merge(&mut self, other: &Ticks, weight: f64) {
        self.sum = self.sum.saturating_add((other.sum as f64 * weight) as u64);
        self.max = self.max.max(other.max);
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += (*count as f64 * weight).round() as u64;
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

/// Merges buckets: short lengths may share a nanosecond.
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
    /// Adds a thread's operations on one lock from one site; of sleeps, nothing but their lengths is known.
    pub(super) fn add(&mut self, entry: &EntryCopy, detail: Option<&DetailCopy>) {
        let op = Op::split(entry.site).map(|(op, _)| op);
        if op != Some(Op::Sleep) {
            self.acquisitions += entry.acquisitions;
            self.inside.stolen += entry.timed_out_or_stolen;
        }
        if op == Some(Op::Read) {
            self.reads += entry.acquisitions;
        }
        self.failed += u64::from(entry.failed);
        if let Some(detail) = detail {
            self.add_detail(detail);
        }
    }

    /// Adds the time of sleeps in locks to that of a thread's other waits.
    pub(super) fn add_time(&mut self, detail: &DetailCopy) {
        let contended = self.contended;
        self.add_detail(detail);
        self.contended = contended;
    }

    pub(super) fn add_detail(&mut self, detail: &DetailCopy) {
        self.contended += detail.contended;
        self.wait.add(detail.wait_sum, detail.wait_max, &detail.wait);
        let mut holds = Holds::default();
        holds.add(detail);
        self.hold.add(holds.measured().1, detail.hold_max, &detail.hold);
        self.holds.add(detail);
        let (reported, watched, events) = (detail.reported, detail.watched, detail.events);
        self.inside.merge(&Inside { reported, watched, stolen: 0, events });
        let step = |at: usize| {
            (u64::from(detail.step_acquisitions[at]), u64::from(detail.step_contended[at]), detail.step_wait[at])
        };
        self.courses.push(Course { shift: detail.step_shift.min(63), steps: (0..STEPS).map(step).collect() });
    }

    /// Adds a wait that had not ended at the end of the recording, `ticks` after its beginning.
    pub(super) fn add_pending(&mut self, ticks: u64, end: u64) {
        self.wait.sum = self.wait.sum.saturating_add(ticks);
        self.wait.max = self.wait.max.max(ticks);
        *self.wait.buckets.entry(scale::bucket(ticks)).or_default() += 1;
        let shift = (0..63).find(|shift| end >> shift < STEPS as u64).unwrap_or(63);
        let mut steps = vec![(0, 0, 0); STEPS];
        steps[(end >> shift) as usize].2 = ticks;
        self.courses.push(Course { shift, steps });
    }

    /// Adds a site's sum to its lock's. Its holds are weighted by what they stand for: rare sites have more measured.
    pub(super) fn merge(&mut self, other: &Sum) {
        self.merged_hold = Some(self.merged_hold.unwrap_or(0).saturating_add(other.hold_ticks()));
        self.acquisitions += other.acquisitions;
        self.reads += other.reads;
        self.failed += other.failed;
        self.contended += other.contended;
        self.wait.merge(&other.wait, 1.0);
        let measured = other.holds.measured().0.max(1);
        self.hold.merge(&other.hold, (other.acquisitions as f64 / measured as f64).max(1.0));
        self.inside.merge(&other.inside);
        self.courses.extend(other.courses.iter().cloned());
    }

    /// Returns the ticks held in total, scaled up from the measured holds.
    fn hold_ticks(&self) -> u64 {
        self.merged_hold.unwrap_or_else(|| self.holds.all(self.acquisitions, self.contended))
    }

    pub(super) fn wait_ticks(&self) -> u64 {
        self.wait.sum
    }

    pub(super) fn waits(&self, clock: Clock) -> Distribution {
        self.wait.distribution(clock)
    }

    /// Converts to usage. `reports`: the locks of this run report what happens inside.
    pub(super) fn usage(&self, clock: Clock, reports: bool) -> Usage {
        Usage {
            acquisitions: self.acquisitions,
            reads: self.reads,
            contended: self.contended,
            failed: self.failed,
            wait: self.wait.distribution(clock),
            hold: self.hold.distribution(clock),
            hold_total_ns: clock.ns(self.hold_ticks()),
            events: self.inside.events(self.contended, reports),
        }
    }

    /// Returns the time course, and the length of a step.
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

    /// Scales the sampled acquisitions of all steps to the actual number.
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

/// Limits the usage of a lock that one thread holds at a time: it was not held for longer than the program ran, though
/// a hold with a long interruption may be in the sample, and stand for many.
pub(super) fn held_by_one(usage: Usage, duration_ns: u64) -> Usage {
    Usage { hold_total_ns: usage.hold_total_ns.min(duration_ns), ..usage }
}

/// Returns the ticks of `count` holds, by the mean of the measured ones.
fn scaled(count: u64, (measured, ticks): (u64, u64)) -> u64 {
    if measured == 0 { 0 } else { (ticks as f64 / measured as f64 * count as f64) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_one_at_a_time_is_not_held_for_longer_than_the_run() {
        let second = 1_000_000_000;
        let holds = Holds { sampled: (1, second), ..Holds::default() };
        let sum = Sum { acquisitions: 512, holds, ..Sum::default() };
        let usage = sum.usage(Clock::NANOSECONDS, false);
        assert_eq!(usage.hold_total_ns, 512 * second, "readers may hold it side by side");
        assert_eq!(held_by_one(usage, 2 * second).hold_total_ns, 2 * second);
    }

    /// Returns a site's sum, with all measured holds in one bucket.
    fn site(acquisitions: u64, holds: Holds, bucket: usize) -> Sum {
        let (count, sum) = holds.measured();
        let hold = Ticks { sum, max: sum, buckets: BTreeMap::from([(bucket, count)]) };
        Sum { acquisitions, holds, hold, ..Sum::default() }
    }

    #[test]
    fn first_holds_stand_for_themselves() {
        let holds = Holds { single: (4, 4_000), sampled: (2, 20), ..Holds::default() };
        assert_eq!(holds.all(1_004, 0), 4_000 + 1_000 * 10, "the slow first ones are not scaled up");
        let holds = Holds { single: (4, 400), ..Holds::default() };
        assert_eq!(holds.all(8, 0), 800, "no sample: the first ones stand for the rest");
        let holds = Holds { contended: (2, 100), sampled: (1, 10), ..Holds::default() };
        assert_eq!(holds.all(110, 10), 10 * 50 + 100 * 10);
    }

    #[test]
    fn a_rare_site_of_long_holds_does_not_weigh_more_than_it_is_used() {
        let rare = site(4, Holds { single: (4, 4_000), ..Holds::default() }, 40);
        let often = site(996, Holds { sampled: (2, 20), ..Holds::default() }, 3);
        let mut lock = Sum::default();
        lock.merge(&rare);
        lock.merge(&often);
        let usage = lock.usage(Clock::NANOSECONDS, false);
        assert_eq!(usage.hold_total_ns, 4_000 + 9_960);
        assert_eq!((usage.hold.count, usage.hold.sum_ns), (1_000, 13_960));
        assert_eq!(usage.hold.quantile(0.5), scale::bound(3), "half of its holds are short");
    }
}
