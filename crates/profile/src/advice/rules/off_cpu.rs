//! The owner is off its CPU while others wait: it blocks inside the section, or was preempted there.
//!
//! Either the holders were observed off their CPUs, or the lock's own spinners found them so.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::{count, percent, share};
use crate::model::{Lock, LockId, SiteId};

/// The share of the waits below which it is chance: any thread is preempted occasionally.
const OFTEN: f64 = 0.25;
/// The minimum number of waits for a verdict.
const FEWEST: u64 = 50;

/// The number of waits in which owners were off their CPU.
struct Away {
    of: u64,
    off: u64,
    evidence: String,
    site: Option<SiteId>,
}

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let away = holders(context, number).or_else(|| spinners(lock))?;
    if away.of < FEWEST || share(away.off, away.of) < OFTEN {
        return None;
    }
    let name = context.lock_name(number);
    let title = format!("The owner of {name} is often off its CPU while others wait");
    let hoped = (lock.usage.wait.sum_ns as f64 * share(away.off, away.of)) as u64;
    let mut finding = context.about("off-cpu-owner", number, title, hoped);
    finding.sites = away.site.into_iter().collect();
    finding.evidence.push(away.evidence);
    let (threads, cpus) = (context.threads_at_once, context.profile.program.cpus);
    let move_out = "move what blocks (I/O, allocation, another lock) out of the section";
    let others = context.others();
    let crowded = threads > cpus as usize && others.is_none();
    finding.evidence.extend(others.map(|others| format!("{others}, so owners may have been off for their sake")));
    let fewer = format!("; if nothing in the section blocks: {threads} threads share {cpus} CPUs, so use fewer");
    finding.change = Some(move_out.to_owned() + if crowded { &fewer } else { "" });
    Some(finding)
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
    let (_, site) = worst?;
    let (times, part) = (count(off), percent(off, of));
    let evidence = format!(
        "when waits began the holder was off its CPU {times} of {} times ({part}), mostly one from {}",
        count(of),
        context.site_name(site)
    );
    Some(Away { of, off, evidence, site: Some(site) })
}

/// Counts by the lock's spin events; `None`: it reports none.
fn spinners(lock: &Lock) -> Option<Away> {
    let events = &lock.usage.events;
    // Hand-offs to sleepers end spins in the same way.
    let off = events.spins_off_cpu?.saturating_sub(events.handoffs?);
    let of = off + events.spins_won? + events.spins_timed_out?;
    let (times, part) = (count(off), percent(off, of));
    let evidence = format!(
        "{times} of {} spins for it ({part}) were given up or not begun, since the owner was off its CPU",
        count(of)
    );
    Some(Away { of, off, evidence, site: None })
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
