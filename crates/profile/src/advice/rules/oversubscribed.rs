//! More threads than CPUs. Waiters that never sleep spin away the owner's time; those that sleep wait for the owner to
//! get a CPU, or for their own when the lock is already free.

use crate::advice::context::Context;
use crate::advice::{Experiment, Finding, Scope};
use crate::model::{Lock, LockId, LockKind};
use crate::output::{headlines, names};
use crate::template::context;
use turnwise_preload_abi::Policy;

/// A wait of this length for a spin lock, whose holds are a thousand times shorter, means that its owner was preempted:
/// a scheduler's slice is a few milliseconds.
const PREEMPTED_NS: u64 = 1_000_000;
/// A mean wait this many times as long as nearly all holds was not for the holder: no queue is that long.
const FAR_LONGER: u64 = 1_000;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let (threads, cpus) = (context.threads_at_once, context.profile.program.cpus as usize);
    if threads <= cpus {
        return Vec::new();
    }
    if Policy::by_name(&context.profile.program.policy).is_some_and(Policy::spins) {
        return program(context);
    }
    // With others on the CPUs, delays say nothing about this program's threads.
    if context.others().is_some() {
        return Vec::new();
    }
    let mut found: Vec<Finding> =
        context.busy_locks().filter_map(|(number, lock)| late(context, number, lock)).collect();
    let locks = context.busy_locks().filter(|(_, lock)| lock.kind == LockKind::SpinLock);
    found.extend(locks.filter(|(_, lock)| lock.usage.wait.max_ns >= PREEMPTED_NS).map(|(number, lock)| {
        context.about("oversubscribed", number, lock.usage.wait.sum_ns, context! { longest => lock.usage.wait.max_ns })
    }));
    found
}

/// Finds waits of milliseconds for a lock that is held for microseconds.
fn late(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let (wait, hold) = (lock.usage.wait.mean_ns(), lock.usage.hold.quantile(0.99));
    if lock.kind == LockKind::SpinLock || wait < PREEMPTED_NS || hold.saturating_mul(FAR_LONGER) > wait {
        return None;
    }
    let finding = context.about("late-wake-ups", number, lock.usage.wait.sum_ns, context! { wait, hold });
    Some(Finding { experiment: context.adaptive(number), ..finding })
}

fn program(context: &Context) -> Vec<Finding> {
    let policy = &context.profile.program.policy;
    let waited = headlines::waited_ns(context.profile);
    if !context.worthwhile(waited) {
        return Vec::new();
    }
    vec![Finding {
        experiment: Some(Experiment { policy: Policy::ADAPTIVE, scope: Scope::Program }),
        locks: context.busy_locks().map(|(number, _)| number).collect(),
        ..context.finding("oversubscribed", waited, context! { policy => names::brief(policy), waited })
    }]
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::model::{LockKind, Profile};
    use turnwise_present::others::Others;

    fn spinning(threads: usize, policy: &str) -> Profile {
        let mut profile = quiet();
        lock_with_site(&mut profile, usage(10_000, 2_000, 400_000, 500));
        profile.threads = vec![profile.threads[0].clone(); threads];
        profile.program.policy = policy.to_owned();
        profile
    }

    #[test]
    fn spinners_without_cpus_ask_for_a_lock_that_sleeps() {
        let advice = advise(&spinning(5, "ticket"));
        assert_eq!(advice.findings[0].rule, "oversubscribed");
        assert!(advice.findings[0].evidence[0].contains("5 threads existed at a time, on 4 CPUs"));
        assert!(!fired(&spinning(4, "ticket")).contains(&"oversubscribed"), "a CPU each");
        assert!(!fired(&spinning(5, "libc")).contains(&"oversubscribed"), "they sleep");
    }

    #[test]
    fn long_waits_for_short_holds_are_waits_for_a_cpu() {
        let with = |threads, wait_ns| {
            let mut profile = spinning(threads, "libc");
            profile.locks[0].usage = usage(10_000, 100, wait_ns, 1_000);
            fired(&profile)
        };
        assert_eq!(with(5, 1_000_000), ["late-wake-ups"]);
        assert_eq!(with(5, 999_999), ["unexplained"], "not that long");
        assert_eq!(with(4, 1_000_000), ["unexplained"], "a CPU each");
    }

    #[test]
    fn where_others_had_the_cpus_no_advice_is_to_use_fewer_threads() {
        let mut profile = spinning(5, "libc");
        profile.locks[0].usage = usage(10_000, 100, 1_000_000, 1_000);
        profile.recording.others = Some(Others { programs: 0.3, host: 0.0 });
        assert_eq!(fired(&profile), ["unexplained"]);
        let verdict = advise(&profile).verdict;
        assert!(verdict.contains("Meanwhile other programs took 30% of the CPUs: whose CPU"), "{verdict}");
    }

    #[test]
    fn spin_locks_need_their_owners_on_a_cpu() {
        let spin_lock = |wait_ns| {
            let mut profile = spinning(5, "libc");
            profile.locks[0].usage = usage(10_000, 2_000_000_000 / wait_ns, wait_ns, 500);
            profile.locks[0].kind = LockKind::SpinLock;
            profile
        };
        assert_eq!(fired(&spin_lock(1_000_000)), ["oversubscribed"]);
        assert!(!fired(&spin_lock(900_000)).contains(&"oversubscribed"));
    }
}
