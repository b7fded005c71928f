//! Calls that were to wake threads, and woke none: each is a system call for nothing.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::model::LockKind;
use crate::output::names;
use crate::template::context;

/// The share of calls that woke no thread. Some are natural: a thread that was to be woken may have come by itself.
const IN_VAIN: f64 = 0.5;
/// The approximate cost of a futex call that finds no sleeper.
const CALL_NS: u64 = 300;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let profile = context.profile;
    let locks = context
        .other_locks()
        .map(|(id, lock)| (Some(id), context.lock_name(id), lock.kind, lock.wake_ups, lock.usage.wait.count));
    let awaited = profile.awaited.iter().map(|one| {
        let name = format!("{} ({})", names::brief(&one.name), one.kind.name());
        (None, name, one.kind, one.wake_ups, one.wait.count)
    });
    let all = locks.chain(awaited).filter_map(|(lock, name, kind, (calls, vain), waits)| {
        // A thread that is unparked before it parks is no mistake.
        let is_natural = matches!(kind, LockKind::RustPark | LockKind::RustChannel);
        if is_natural || share(vain, calls) < IN_VAIN || !context.worthwhile(vain * CALL_NS) {
            return None;
        }
        let values = context! { name, vain, calls, waits, call => CALL_NS };
        let locks = lock.into_iter().collect();
        Some(Finding { locks, ..context.finding("woke-nobody", vain * CALL_NS, values) })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::advice::sample::quiet;
    use crate::model::{Awaited, LockKind};

    #[test]
    fn calls_that_wake_nobody_are_told_if_they_cost_something() {
        let with = |vain| {
            let mut profile = quiet();
            let name = "items".to_owned();
            let wake_ups = (vain + 10, vain);
            profile.awaited = vec![Awaited { name, kind: LockKind::CppSemaphore, wake_ups, ..Awaited::default() }];
            advise(&profile)
        };
        let advice = with(1_000_000);
        assert_eq!(advice.findings[0].rule, "woke-nobody");
        let title = "1,000,000 wake-up calls for `items` (std::counting_semaphore) woke nobody";
        assert_eq!(advice.findings[0].title.replace('`', ""), title.replace('`', ""));
        assert!(with(100).findings.is_empty());
    }
}
