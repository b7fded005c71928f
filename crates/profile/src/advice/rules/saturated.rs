//! The lock is held nearly all the time: no other lock makes the sections shorter.

use super::convoy::active_ns;
use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::model::{Lock, LockId, LockKind};
use crate::template::context;

/// The share of its time in use for which the lock is held from which more threads or a better lock gain little.
const NEARLY_ALWAYS: f64 = 0.7;

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let (busy, held) = (active_ns(lock, context.profile.program.duration_ns), lock.usage.hold_total_ns);
    if lock.kind == LockKind::RwLock || share(held, busy) < NEARLY_ALWAYS {
        return None;
    }
    let (site, worst) = context.sites_of(number).max_by_key(|(_, site)| site.usage.hold_total_ns)?;
    let values = context! {
        held, busy,
        worst => worst.usage.hold_total_ns,
        site => context.site_name(site),
        each => worst.usage.hold_total_ns.checked_div(worst.usage.acquisitions).unwrap_or(0),
    };
    // Halving the sections halves the waits.
    let hoped = lock.usage.wait.sum_ns / 2;
    Some(Finding { sites: vec![site], ..context.about("saturated", number, hoped, values) })
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};

    #[test]
    fn a_lock_that_is_never_free_wants_other_code() {
        let with = |hold_ns| {
            let mut profile = quiet();
            lock_with_site(&mut profile, usage(10_000, 8_000, 100_000, hold_ns));
            profile
        };
        let advice = advise(&with(70_000));
        assert_eq!(advice.findings[0].rule, "saturated");
        assert!(advice.findings[0].experiment.is_none() && advice.findings[0].change.is_some());
        assert!(advice.findings[0].evidence[1].contains("70% of the time"));
        assert!(!fired(&with(69_000)).contains(&"saturated"));
    }
}
