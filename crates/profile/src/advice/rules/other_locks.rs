//! Locks that sleep by futex calls of their own, such as those of Rust's std: only their waits are known, and no other
//! lock can take their place.

use crate::advice::Finding;
use crate::advice::context::{Context, waited_rarely};
use crate::template::context;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let busy =
        context.other_locks().filter(|(_, lock)| context.worthwhile(lock.usage.wait.sum_ns) && !waited_rarely(lock));
    let findings = busy.map(|(id, lock)| {
        let wait = &lock.usage.wait;
        let (mean, longest) = (wait.mean_ns(), wait.max_ns);
        let values = context! { kind => lock.kind.name(), waits => wait.count, mean, longest };
        context.about("other-lock", id, wait.sum_ns / 2, values)
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::advice::sample::{lock_with_site, quiet, usage};
    use crate::model::LockKind;

    #[test]
    fn no_policy_is_proposed_for_a_lock_that_is_not_pthreads() {
        let mut profile = quiet();
        lock_with_site(&mut profile, usage(0, 10_000, 40_000, 0));
        profile.locks[0].kind = LockKind::RustMutex;
        let advice = advise(&profile);
        assert_eq!(advice.findings[0].rule, "other-lock");
        assert!(advice.findings.iter().all(|finding| finding.experiment.is_none()));
    }
}
