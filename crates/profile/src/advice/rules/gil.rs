//! Threads wait for the global lock of Python's interpreter: they run Python code by turns, on whatever locks.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::template::context;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let (waits, waited) = context.gil();
    if !context.worthwhile(waited) {
        return Vec::new();
    }
    vec![context.finding("gil", waited, context! { waits, waited, alive => context.thread_ns })]
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{SECOND, fired, lock_with_site, quiet, times, usage};
    use crate::advice::{advise, text};
    use crate::model::{Condition, Profile};

    /// Returns a profile of a Python program whose threads wait for the GIL this often, 5 ms each.
    fn python(waits: u64) -> Profile {
        let mut profile = quiet();
        lock_with_site(&mut profile, usage(10_000, 0, 0, 100));
        profile.frames[0].module = "python3.11".to_owned();
        let name = "Python's GIL (_PyRuntime+424)".to_owned();
        let wait = times(waits, 5_000_000);
        profile.conditions = vec![Condition { name, mutex: Some(0), waits, wait, ..Condition::default() }];
        profile
    }

    #[test]
    fn waits_for_the_gil_are_explained_and_no_other_lock_is_proposed() {
        let profile = python(300);
        let advice = advise(&profile);
        assert_eq!((advice.findings[0].rule, advice.findings.len()), ("gil", 1), "{advice:?}");
        assert!(advice.verdict.contains("1.50 s for Python's global interpreter lock (the GIL), 38%"), "{advice:?}");
        let text = text(&advice, &profile);
        assert!(text.contains("ProcessPoolExecutor") && !text.contains("try:"), "{text}");
        assert!(fired(&python(7)).is_empty(), "under a hundredth of four threads' second");
    }

    #[test]
    fn a_runtimes_own_locks_are_not_judged_by_a_few_waits_nor_their_code() {
        let with = |module: &str, waits| {
            let mut profile = quiet();
            // Held nearly all the time: only other code helps.
            lock_with_site(&mut profile, usage(3 * waits, waits, SECOND / waits, SECOND / (3 * waits) - 1));
            profile.frames[0].module = module.to_owned();
            fired(&profile)
        };
        assert!(with("server", 3).contains(&"saturated"), "{:?}", with("server", 3));
        assert!(with("libjvm.so", 3).is_empty(), "{:?}", with("libjvm.so", 3));
        assert!(!with("libjvm.so", 300).contains(&"saturated"));
    }
}
