//! Threads waited for one another when the recording ended: no other finding matters then.

use crate::advice::Finding;
use crate::model::Profile;
use crate::output::deadlocks;

pub(in crate::advice) const NAME: &str = "deadlock";

/// Returns one finding for each cycle, also for a profile that has only waits.
pub(in crate::advice) fn find(profile: &Profile) -> Vec<Finding> {
    let findings = profile.deadlocks.iter().filter(|deadlock| !deadlock.waits.is_empty()).map(|deadlock| Finding {
        rule: NAME,
        title: format!("Deadlock: {}", deadlocks::summary(deadlock)),
        evidence: deadlocks::evidence(deadlock),
        change: Some(deadlocks::change(deadlock, profile).to_owned()),
        hoped_ns: deadlock.waits.iter().filter_map(|wait| wait.wait_ns).sum(),
        locks: deadlock.waits.iter().filter_map(|wait| wait.lock_id).collect(),
        ..Finding::default()
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::advice::{advise, text};
    use crate::model::{Deadlock, Inversion, Method, StuckWait};

    #[test]
    fn a_deadlock_comes_first_and_no_other_lock_is_proposed() {
        let mut profile = quiet();
        let [a, b] = [10, 20].map(|number| lock_with_site(&mut profile, usage(number * 1_000, 200, 9_000_000, 50)));
        assert!(advise(&profile).findings.iter().any(|finding| finding.experiment.is_some()));
        let wait = |thread: &str, lock| StuckWait {
            thread: thread.to_owned(),
            lock: format!("lock{lock}"),
            lock_id: Some(lock),
            ..StuckWait::default()
        };
        profile.deadlocks = vec![Deadlock { waits: vec![wait("one 1", a), wait("two 2", b)], all_wait: false }];
        profile.inversions = vec![Inversion { a, b, b_under_a: b, a_under_b: a }];
        let advice = advise(&profile);
        assert_eq!(fired(&profile), ["deadlock", "inversion"]);
        assert!(advice.findings.iter().all(|finding| finding.experiment.is_none()), "{advice:?}");
        assert!(advice.verdict.starts_with("The program cannot continue"), "{}", advice.verdict);
        assert!(!text(&advice, &profile).contains("try:"));
        profile.recording.method = Method::Live;
        assert_eq!(fired(&profile), ["deadlock"], "where no other rule can judge");
    }
}
