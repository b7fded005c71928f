//! The owner is off its CPU while others wait: it blocks inside the section, or was preempted there.
//!
//! Either the holders were observed off their CPUs, or the lock's own spinners found them so.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::model::{Lock, LockId, SiteId};
use crate::template::context;

/// The share of the waits below which it is chance: any thread is preempted occasionally.
const OFTEN: f64 = 0.25;
/// The minimum number of waits for a verdict.
const FEWEST: u64 = 50;

/// The number of waits, and of those in which owners were off their CPU; mostly ones from this call site, if known.
type Away = (u64, u64, Option<SiteId>);

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let (of, off, site) = holders(context, number).or_else(|| spinners(lock))?;
    if of < FEWEST || share(off, of) < OFTEN {
        return None;
    }
    let hoped = (lock.usage.wait.sum_ns as f64 * share(off, of)) as u64;
    let values = context! { of, off, site => site.map(|site| context.site_name(site)) };
    Some(Finding { sites: site.into_iter().collect(), ..context.about("off-cpu-owner", number, hoped, values) })
}

/// Counts the observed holders; `None`: there were no observations.
fn holders(context: &Context, lock: LockId) -> Option<Away> {
    let known = context.blocked_at(lock).filter(|pair| pair.holder_off_cpu.is_some());
    let (mut of, mut off, mut worst) = (0, 0, None);
    for pair in known {
        let times = pair.holder_off_cpu.unwrap_or(0);
        (of, off) = (of + pair.looked, off + times);
        worst = worst.max(Some((times, pair.holder)));
    }
    worst.map(|(_, site)| (of, off, Some(site)))
}

/// Counts by the lock's spin events; `None`: it reports none.
fn spinners(lock: &Lock) -> Option<Away> {
    let events = &lock.usage.events;
    // Hand-offs to sleepers end spins in the same way.
    let off = events.spins_off_cpu?.saturating_sub(events.handoffs?);
    Some((off + events.spins_won? + events.spins_timed_out?, off, None))
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::model::{Blocked, Events, Profile};

    fn profile(waits: u64, off: Option<u64>) -> Profile {
        let mut profile = quiet();
        lock_with_site(&mut profile, usage(10_000, 2_000, 100_000, 20_000));
        profile.blocked = vec![Blocked { waits, wait_ns: 1, looked: waits, holder_off_cpu: off, ..Blocked::default() }];
        profile
    }

    #[test]
    fn owners_that_are_often_away_are_reported() {
        assert!(fired(&profile(1000, Some(250))).contains(&"off-cpu-owner"));
        assert!(!fired(&profile(1000, Some(249))).contains(&"off-cpu-owner"));
        assert!(!fired(&profile(49, Some(49))).contains(&"off-cpu-owner"), "too few to say");
        assert!(!fired(&profile(1000, None)).contains(&"off-cpu-owner"), "not known");
    }

    #[test]
    fn spins_that_were_given_up_tell_it_too() {
        let with = |won, off, handoffs| {
            let mut profile = profile(1000, None);
            profile.locks[0].usage.events = Events {
                spins_won: Some(won),
                spins_off_cpu: Some(off),
                spins_timed_out: Some(0),
                handoffs: Some(handoffs),
                ..Events::default()
            };
            fired(&profile).contains(&"off-cpu-owner")
        };
        assert!(with(750, 250, 0));
        assert!(!with(750, 249, 0));
        assert!(!with(750, 250, 100), "turns that were promised are none");
        assert!(!with(10, 39, 0), "too few to say");
    }
}
