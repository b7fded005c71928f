//! Trylock in a loop: each failed attempt takes the lock's cache line from its owner.

use super::LINE_TRANSFER_NS;
use crate::advice::Finding;
use crate::advice::context::Context;
use crate::model::{Lock, LockId};
use crate::template::context;

/// Failed attempts for each acquisition from which threads retry repeatedly instead of doing other work.
const POLLS: u64 = 2;

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let usage = &lock.usage;
    let spent = usage.failed * LINE_TRANSFER_NS;
    if usage.failed < POLLS * usage.acquisitions.max(1) || !context.worthwhile(spent) {
        return None;
    }
    let (site, worst) = context.sites_of(number).max_by_key(|(_, site)| site.usage.failed)?;
    let values = context! {
        name => context.lock_name(number),
        failed => usage.failed,
        acquisitions => usage.acquisitions,
        worst => worst.usage.failed,
        site => context.site_name(site),
        transfer => LINE_TRANSFER_NS,
    };
    Some(Finding { locks: vec![number], sites: vec![site], ..context.finding("polling", spent, values) })
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};

    #[test]
    fn attempts_that_mostly_fail_are_polling() {
        let with = |acquisitions, failed| {
            let mut profile = quiet();
            let mut all = usage(acquisitions, 0, 0, 500);
            all.failed = failed;
            lock_with_site(&mut profile, all);
            fired(&profile)
        };
        assert_eq!(with(200_000, 400_000), ["polling"]);
        assert_eq!(with(201_000, 400_000), [""; 0], "nearly every third succeeds");
        assert_eq!(with(199_000, 399_000), [""; 0], "hardly any time");
    }
}
