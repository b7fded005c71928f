//! Short holds, but waiters sleep: they should rather spin while the owner runs.

use super::SWITCH_NS;
use crate::advice::Finding;
use crate::advice::context::Context;
use crate::model::{Lock, LockId, LockKind};
use crate::template::context;
use turnwise_preload_abi::Policy;

/// The share of holds that must be shorter than a switch: rarer long ones end the spinning, since the adaptive lock
/// spins for a bounded time.
const MOST_HOLDS: f64 = 0.9;
/// The policy under which waiters sleep immediately.
pub(super) const SLEEPING: Policy = Policy::Libc;

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    if context.profile.program.policy != SLEEPING.name() || lock.kind == LockKind::SpinLock {
        return None;
    }
    let hold = lock.usage.hold.quantile(MOST_HOLDS);
    if hold == 0 || hold > SWITCH_NS {
        return None;
    }
    let wait = lock.usage.wait.mean_ns();
    let hoped = lock.usage.contended * wait.min(SWITCH_NS);
    if !context.worthwhile(hoped) {
        return None;
    }
    let values = context! { part => 100.0 * MOST_HOLDS, hold, wait, switch => SWITCH_NS };
    let experiment = context.adaptive(number);
    Some(Finding { experiment, ..context.about("short-holds", number, hoped, values) })
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::advice::{Experiment, Scope, advise};
    use turnwise_preload_abi::Policy;

    #[test]
    fn short_holds_with_long_waits_ask_for_spinning() {
        let mut profile = quiet();
        let lock = lock_with_site(&mut profile, usage(100_000, 20_000, 30_000, 900));
        let advice = advise(&profile);
        assert_eq!(advice.findings[0].rule, "short-holds");
        let experiment = Experiment { policy: Policy::ADAPTIVE, scope: Scope::Locks(vec![lock]) };
        assert_eq!(advice.findings[0].experiment, Some(experiment));
        assert!(advice.findings[0].title.contains("`lock0`"));
        assert_eq!(advice.findings[0].hoped_ns, 20_000 * 5_000);
    }

    #[test]
    fn longer_holds_rare_waits_and_spinning_locks_do_not() {
        let mut longer = quiet();
        lock_with_site(&mut longer, usage(10_000, 2_000, 30_000, 6_000));
        let mut rare = quiet();
        lock_with_site(&mut rare, usage(100_000, 1_000, 30_000, 900));
        let mut spinning = quiet();
        lock_with_site(&mut spinning, usage(100_000, 20_000, 30_000, 900));
        spinning.program.policy = "adaptive".to_owned();
        let mut few_long_waits = quiet();
        lock_with_site(&mut few_long_waits, usage(100_000, 20, 30_000_000, 900));
        for profile in [longer, rare, spinning, few_long_waits] {
            assert!(!fired(&profile).contains(&"short-holds"));
        }
    }
}
