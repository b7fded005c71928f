//! A few long holds cause most of the waits.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::model::{Lock, LockId, SiteId, Usage};
use crate::template::context;
use std::collections::BTreeMap;

/// The share of wait time caused by this one site's holds.
const MUCH_OF_THE_WAIT: f64 = 0.4;
/// The site's maximum share of the acquisitions.
const FEW_ACQUISITIONS: f64 = 0.1;
/// The factor by which its holds are longer than the other sites'.
const LONG: u64 = 10;

/// Finds the lock's worst site among those that meet the thresholds.
pub(super) fn find(context: &Context, lock: LockId, Lock { usage: all, .. }: &Lock) -> Option<Finding> {
    let mut behind: BTreeMap<SiteId, u64> = BTreeMap::new();
    for pair in context.blocked_at(lock) {
        *behind.entry(pair.holder).or_default() += pair.wait_ns;
    }
    let waited: u64 = behind.values().sum();
    let bad = |&(site, behind): &(SiteId, u64)| {
        let own = &context.profile.sites[site as usize].usage;
        share(behind, waited) >= MUCH_OF_THE_WAIT
            && share(own.acquisitions, all.acquisitions) <= FEW_ACQUISITIONS
            && mean_hold(own) >= LONG * others_hold(all, own).max(1)
    };
    let (site, behind) = behind.into_iter().filter(bad).max_by_key(|&(_, behind)| behind)?;
    let usage = &context.profile.sites[site as usize].usage;
    let values = context! {
        site => context.site_name(site),
        acquisitions => usage.acquisitions,
        all => all.acquisitions,
        each => mean_hold(usage),
        others_each => others_hold(all, usage),
        behind, waited,
    };
    Some(Finding { sites: vec![site], ..context.about("long-holds", lock, behind, values) })
}

fn mean_hold(usage: &Usage) -> u64 {
    usage.hold_total_ns.checked_div(usage.acquisitions).unwrap_or(0)
}

fn others_hold(all: &Usage, one: &Usage) -> u64 {
    let others = all.acquisitions.saturating_sub(one.acquisitions);
    all.hold_total_ns.saturating_sub(one.hold_total_ns).checked_div(others).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock, quiet, site, usage};
    use crate::model::{Blocked, Profile};

    /// Returns a profile of a lock with a quick site and a slow one.
    fn profile(slow_acquisitions: u64, slow_hold_ns: u64, behind_slow: u64) -> Profile {
        let mut profile = quiet();
        let quick = usage(10_000, 2_000, 100_000, 1_000);
        let slow = usage(slow_acquisitions, 100, 10_000, slow_hold_ns);
        let mut all = quick.clone();
        all.acquisitions += slow.acquisitions;
        all.hold_total_ns += slow.hold_total_ns;
        let lock = lock(&mut profile, all);
        let (quick, slow) = (site(&mut profile, lock, quick), site(&mut profile, lock, slow));
        let pair = |holder, wait_ns| Blocked { waiter: quick, holder, waits: 10, wait_ns, ..Blocked::default() };
        profile.blocked = vec![pair(slow, behind_slow), pair(quick, 100 - behind_slow)];
        profile
    }

    #[test]
    fn rare_long_sections_are_named() {
        assert!(fired(&profile(1_000, 10_000, 40)).contains(&"long-holds"));
        assert!(!fired(&profile(1_000, 10_000, 39)).contains(&"long-holds"), "others block more");
        assert!(!fired(&profile(1_000, 9_900, 40)).contains(&"long-holds"), "not that long");
        assert!(!fired(&profile(1_200, 10_000, 40)).contains(&"long-holds"), "not that rare");
    }
}
