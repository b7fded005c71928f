//! Threads waited for one another when the recording ended: no other finding matters then.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::model::{Deadlock, LockKind, StuckWait};
use crate::output::{deadlocks, names};
use crate::template::context;

/// Returns one finding for each cycle, also for a profile that has only waits.
pub(in crate::advice) fn find(context: &Context) -> Vec<Finding> {
    let deadlocks = context.profile.deadlocks.iter().filter(|deadlock| !deadlock.waits.is_empty());
    deadlocks.map(|deadlock| finding(context, deadlock)).collect()
}

fn finding(context: &Context, deadlock: &Deadlock) -> Finding {
    let waits = &deadlock.waits;
    let thread = |wait: &StuckWait| names::cut(&wait.thread).replace(['\n', '\r'], " ");
    let holders = waits.iter().cycle().skip(1);
    let lines = waits.iter().zip(holders).map(|(wait, holder)| {
        let [place, taken] = [&wait.place, &wait.taken].map(|place| place.as_deref().map(names::brief));
        let (thread, holder, lock) = (thread(wait), thread(holder), names::brief(&wait.lock));
        context! { thread, holder, lock, place, taken, wait_ns => wait.wait_ns }
    });
    let locks: Vec<u32> = waits.iter().filter_map(|wait| wait.lock_id).collect();
    let first = locks.first().and_then(|id| context.profile.locks.get(*id as usize));
    let values = context! {
        summary => deadlocks::summary(deadlock),
        waits => lines.collect::<Vec<_>>(),
        all_wait => deadlock.all_wait,
        is_rwlock => first.is_some_and(|lock| lock.kind == LockKind::RwLock),
    };
    let hoped = waits.iter().filter_map(|wait| wait.wait_ns).sum();
    Finding { locks, ..context.finding("deadlock", hoped, values) }
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{cycle, fired, lock_with_site, quiet, usage};
    use crate::advice::{advise, text};
    use crate::model::{Deadlock, Method, StuckWait};

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
        profile.cycles = vec![cycle(&[a, b])];
        let advice = advise(&profile);
        assert_eq!(fired(&profile), ["deadlock", "cycle"]);
        assert!(advice.findings.iter().all(|finding| finding.experiment.is_none()), "{advice:?}");
        assert!(advice.verdict.starts_with("The program cannot continue"), "{}", advice.verdict);
        assert!(!text(&advice, &profile).contains("try:"));
        profile.recording.method = Method::Live;
        assert_eq!(fired(&profile), ["deadlock"], "where no other rule can judge");
    }
}
