//! Threads woken from a condition variable without effect.

use super::SWITCH_NS;
use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::output::names;
use crate::template::context;

/// The share of wake-ups that found nothing to do. Some are natural: another thread may be first.
const IN_VAIN: f64 = 0.3;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let conditions = context.profile.conditions.iter().filter_map(|condition| {
        let woken = condition.waits.saturating_sub(condition.timed_out);
        let vain = condition.woken_for_nothing;
        if share(vain, woken) < IN_VAIN || !context.worthwhile(vain * SWITCH_NS) {
            return None;
        }
        let (signals, broadcasts) = (condition.signals, condition.broadcasts);
        let values = context! { name => names::brief(&condition.name), vain, woken, signals, broadcasts };
        let locks = condition.mutex.into_iter().collect();
        Some(Finding { locks, ..context.finding("woken-for-nothing", vain * SWITCH_NS, values) })
    });
    conditions.collect()
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::advice::sample::quiet;
    use crate::model::Condition;

    #[test]
    fn useless_wake_ups_are_counted() {
        let with = |woken_for_nothing, broadcasts| {
            let mut profile = quiet();
            let name = "ready".to_owned();
            let condition =
                Condition { name, waits: 30_010, timed_out: 10, signals: 5, broadcasts, ..Condition::default() };
            profile.conditions = vec![Condition { woken_for_nothing, ..condition }];
            advise(&profile)
        };
        let advice = with(9_000, 6);
        assert_eq!(advice.findings[0].rule, "woken-for-nothing");
        assert!(advice.findings[0].change.as_ref().is_some_and(|change| change.starts_with("signal one waiter")));
        assert!(
            with(9_000, 5).findings[0].change.as_ref().is_some_and(|change| change.starts_with("signal only when"))
        );
        assert!(with(8_990, 6).findings.is_empty());
    }
}
