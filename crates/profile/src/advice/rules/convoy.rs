//! A convoy: nearly all threads find the lock taken, yet it is held for only a part of the time. The rest goes into
//! handing it over to sleeping threads.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::model::{Lock, LockId, LockKind, Usage};
use crate::template::context;

/// The share of acquisitions that find the lock taken from which the queue never empties.
const NEARLY_ALL: f64 = 0.9;
/// The number of sleeps per wait below which hand-overs do not wait for wake-ups.
const SELDOM: f64 = 0.1;
/// The share of time below which the lock must be held; above it, the sections themselves take the time.
const PART: f64 = 0.6;

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let experiment = context.adaptive(number)?;
    let busy = active_ns(lock, context.profile.program.duration_ns);
    let held = share(lock.usage.hold_total_ns, busy);
    let is_queue = lock.kind != LockKind::RwLock && share(lock.usage.contended, lock.usage.acquisitions) >= NEARLY_ALL;
    if !is_queue || held >= PART || seldom_sleep(&lock.usage) {
        return None;
    }
    let hoped = (lock.usage.wait.sum_ns as f64 * (1.0 - held)) as u64;
    let sleeps = lock.usage.events.sleeps.filter(|_| most_watched(&lock.usage));
    let values = context! { held => lock.usage.hold_total_ns, busy, sleeps, watched => lock.usage.events.watched };
    Some(Finding { experiment: Some(experiment), ..context.about("convoy", number, hoped, values) })
}

/// Returns whether most waits are known to have slept or not.
fn most_watched(usage: &Usage) -> bool {
    usage.events.watched * 2 >= usage.contended && usage.contended > 0
}

/// Returns whether waiters are known to be awake: then hand-overs do not take the time.
fn seldom_sleep(usage: &Usage) -> bool {
    most_watched(usage) && usage.events.sleeps.is_some_and(|sleeps| share(sleeps, usage.events.watched) < SELDOM)
}

/// Returns the part of the run in which the lock was taken at all, or held.
pub(super) fn active_ns(lock: &Lock, duration_ns: u64) -> u64 {
    let steps = lock.over_time.iter().filter(|step| step.acquisitions > 0).count() as u64;
    let taken = steps * lock.step_ns;
    if steps == 0 { duration_ns } else { taken.max(lock.usage.hold_total_ns).min(duration_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::sample::{SECOND, fired, lock_with_site, quiet, usage};
    use crate::model::Step;

    #[test]
    fn all_queue_for_a_lock_that_is_mostly_free() {
        let with = |contended, hold_ns| {
            let mut profile = quiet();
            lock_with_site(&mut profile, usage(10_000, contended, 100_000, hold_ns));
            fired(&profile).contains(&"convoy")
        };
        assert!(with(9_000, 20_000));
        assert!(!with(8_900, 20_000), "the queue empties");
        assert!(!with(9_000, 60_000), "the lock is never free");
    }

    #[test]
    fn waiters_that_do_not_sleep_are_no_convoy() {
        let with = |watched, sleeps| {
            let mut profile = quiet();
            let lock = lock_with_site(&mut profile, usage(10_000, 9_000, 100_000, 20_000));
            let events = &mut profile.locks[lock as usize].usage.events;
            (events.watched, events.sleeps) = (watched, Some(sleeps));
            fired(&profile).contains(&"convoy")
        };
        assert!(with(9_000, 900));
        assert!(!with(9_000, 899));
        assert!(with(100, 0), "of most waits it is not known");
    }

    #[test]
    fn time_without_acquisitions_does_not_count() {
        let some = Step { acquisitions: 1, ..Step::default() };
        let over_time = vec![some, Step::default(), some, Step::default()];
        let mut lock = Lock { over_time, step_ns: SECOND / 4, ..Lock::default() };
        assert_eq!(active_ns(&lock, SECOND), SECOND / 2);
        assert_eq!(active_ns(&Lock::default(), 7), 7);
        lock.usage.hold_total_ns = SECOND * 3 / 4;
        assert_eq!(active_ns(&lock, SECOND), SECOND * 3 / 4, "held beyond the step in which it was taken");
    }
}
