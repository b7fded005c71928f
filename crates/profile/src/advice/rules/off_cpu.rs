//! The owner is off its CPU while others wait: it blocks inside the section, or was preempted there.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::{count, percent, share};

/// Below this share of the waits it is chance: any thread is preempted now and then.
const OFTEN: f64 = 0.25;
/// Fewer waits say nothing.
const FEWEST: u64 = 50;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let locks = context.busy_locks().filter_map(|(number, lock)| {
        let known = context.blocked_at(number).filter(|pair| pair.holder_off_cpu.is_some());
        let (mut waits, mut off, mut worst) = (0, 0, None);
        for pair in known {
            let times = pair.holder_off_cpu.unwrap_or(0);
            (waits, off) = (waits + pair.waits, off + times);
            worst = worst.max(Some((times, pair.holder)));
        }
        if waits < FEWEST || share(off, waits) < OFTEN {
            return None;
        }
        let name = context.lock_name(number);
        let title = format!("The owner of {name} is often off its CPU while others wait");
        let hoped = (lock.usage.wait.sum_ns as f64 * share(off, waits)) as u64;
        let mut finding = context.about("off-cpu-owner", number, title, hoped);
        let (_, site) = worst?;
        finding.sites = vec![site];
        let (times, part) = (count(off), percent(off, waits));
        let seen = format!("during {times} of {} waits ({part}) the holder was off its CPU", count(waits));
        finding.evidence.push(format!("{seen}, mostly one from {}", context.site_name(site)));
        let (threads, cpus) = (context.threads_at_once, context.profile.program.cpus);
        let move_out = "move what blocks (I/O, allocation, another lock) out of the section";
        let crowded = threads > cpus as usize;
        let fewer = format!("{threads} threads share {cpus} CPUs: have fewer, or ");
        finding.change = Some(if crowded { fewer + move_out } else { move_out.to_owned() });
        Some(finding)
    });
    locks.collect()
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::model::{Blocked, Profile};

    fn profile(waits: u64, off: Option<u64>) -> Profile {
        let mut profile = quiet();
        lock_with_site(&mut profile, usage(10_000, 2_000, 100_000, 20_000));
        profile.blocked = vec![Blocked { waits, wait_ns: 1, holder_off_cpu: off, ..Blocked::default() }];
        profile
    }

    #[test]
    fn owners_that_are_often_away_are_told() {
        assert!(fired(&profile(1000, Some(250))).contains(&"off-cpu-owner"));
        assert!(!fired(&profile(1000, Some(249))).contains(&"off-cpu-owner"));
        assert!(!fired(&profile(49, Some(49))).contains(&"off-cpu-owner"), "too few to say");
        assert!(!fired(&profile(1000, None)).contains(&"off-cpu-owner"), "not known");
    }
}
