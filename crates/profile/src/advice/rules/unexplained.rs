//! Threads wait for a lock that no other finding names, and no other rule proposes an experiment: try the cheapest one.
//! Waits can be long for reasons that a profile does not show, such as other programs on the CPUs.

use super::short_holds::SLEEPING;
use crate::advice::context::Context;
use crate::advice::{Experiment, Finding, Scope};
use crate::model::{Lock, LockKind};
use crate::template::context;
use turnwise_preload_abi::Policy;

/// Finds such locks; `found`: the other findings.
pub(in crate::advice) fn find(context: &Context, found: &[Finding]) -> Option<Finding> {
    let profile = context.profile;
    let sleeping = profile.program.policy == SLEEPING.name();
    if !sleeping || found.iter().any(|finding| finding.experiment.is_some()) {
        return None;
    }
    let is_ours = |lock: &Lock| lock.kind.is_pthread() && lock.kind != LockKind::SpinLock;
    let wait = |lock: &Lock| if is_ours(lock) { lock.usage.wait.sum_ns } else { 0 };
    let waited: u64 = profile.locks.iter().map(wait).sum();
    let is_named = |number| found.iter().any(|finding| finding.locks.contains(&number));
    let unnamed = context.busy_locks().filter(|(number, _)| !is_named(*number));
    let (number, lock) = unnamed.max_by_key(|(_, lock)| wait(lock)).filter(|(_, lock)| wait(lock) > 0)?;
    // The gain is unknown.
    let finding = context.about("unexplained", number, 0, context! { wait => wait(lock), waited });
    Some(Finding { experiment: Some(Experiment { policy: Policy::ADAPTIVE, scope: Scope::Program }), ..finding })
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::advice::{Experiment, Scope, advise};
    use crate::model::LockKind;
    use turnwise_preload_abi::Policy;

    #[test]
    fn waits_that_no_rule_explains_are_tried_all_the_same() {
        let mut profile = quiet();
        // Longer than a sleep takes, and no thread is seen to hold it for long.
        lock_with_site(&mut profile, usage(1_000_000, 4_000, 50_000, 600));
        lock_with_site(&mut profile, usage(1_000, 10, 50_000, 700));
        let advice = advise(&profile);
        let finding = advice.findings.iter().find(|finding| finding.rule == "unexplained").unwrap();
        assert_eq!(finding.experiment, Some(Experiment { policy: Policy::ADAPTIVE, scope: Scope::Program }));
        assert!(finding.title.contains("`lock0`") && finding.evidence[1].contains("100%"), "{finding:?}");
    }

    #[test]
    fn a_lock_that_another_finding_names_is_explained() {
        let mut profile = quiet();
        // Held nearly all the time: only changing the code helps.
        lock_with_site(&mut profile, usage(10_000, 8_000, 100_000, 70_000));
        assert_eq!(fired(&profile), ["saturated"]);
        lock_with_site(&mut profile, usage(1_000_000, 4_000, 50_000, 600));
        let advice = advise(&profile);
        let finding = advice.findings.last().unwrap();
        assert_eq!((finding.rule, &finding.locks), ("unexplained", &vec![1]), "{advice:?}");
    }

    #[test]
    fn explained_waits_few_waits_and_spinning_locks_are_not() {
        let mut explained = quiet();
        lock_with_site(&mut explained, usage(100_000, 20_000, 30_000, 900));
        let mut few = quiet();
        lock_with_site(&mut few, usage(100_000, 100, 30_000, 900));
        let mut spinning = quiet();
        lock_with_site(&mut spinning, usage(1_000_000, 4_000, 50_000, 600));
        spinning.locks[0].kind = LockKind::SpinLock;
        let mut tried = spinning.clone();
        tried.locks[0].kind = LockKind::Mutex;
        assert!(fired(&tried).contains(&"unexplained"));
        tried.program.policy = "adaptive".to_owned();
        for profile in [explained, few, spinning, tried] {
            assert!(!fired(&profile).contains(&"unexplained"));
        }
    }
}
