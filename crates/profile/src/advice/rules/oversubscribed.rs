//! More threads than CPUs. Waiters that never sleep spin away the owner's time; those that sleep wait for the owner to
//! get a CPU, or for their own when the lock is already free.

use crate::advice::context::Context;
use crate::advice::{Experiment, Finding, Scope};
use crate::figures::time;
use crate::model::{Lock, LockId, LockKind};
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
    let crowd = format!("{threads} threads existed at a time, on {cpus} CPUs");
    if Policy::by_name(&context.profile.program.policy).is_some_and(Policy::spins) {
        return program(context, crowd);
    }
    // With others on the CPUs, delays say nothing about this program's threads.
    if context.others().is_some() {
        return Vec::new();
    }
    let mut found: Vec<Finding> =
        context.busy_locks().filter_map(|(number, lock)| late(context, number, lock)).collect();
    let locks = context.busy_locks().filter(|(_, lock)| lock.kind == LockKind::SpinLock);
    found.extend(locks.filter(|(_, lock)| lock.usage.wait.max_ns >= PREEMPTED_NS).map(|(number, lock)| {
        let name = context.lock_name(number);
        let title = format!("Waiters of the spin lock {name} spin while its owner is off its CPU");
        let mut finding = context.about("oversubscribed", number, title, lock.usage.wait.sum_ns);
        let worst = time(lock.usage.wait.max_ns);
        finding.evidence.push(format!("{crowd}; the longest wait took {worst}, as long as a preempted owner is away"));
        finding.change = Some("make it a mutex, or use no more threads than CPUs".to_owned());
        finding
    }));
    found
}

/// Finds waits of milliseconds for a lock that is held for microseconds.
fn late(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let (wait, hold) = (lock.usage.wait.mean_ns(), lock.usage.hold.quantile(0.99));
    if lock.kind == LockKind::SpinLock || wait < PREEMPTED_NS || hold.saturating_mul(FAR_LONGER) > wait {
        return None;
    }
    let name = context.lock_name(number);
    let title = format!("waits for {name} are waits for a CPU, the owner's or their own: its sections are far shorter");
    let mut finding = context.about("late-wake-ups", number, title, lock.usage.wait.sum_ns);
    finding.evidence.push(format!(
        "a wait took {} on average, 99 of 100 holds lasted at most {}; {} threads existed at a time, on {} CPUs",
        time(wait),
        time(hold),
        context.threads_at_once,
        context.profile.program.cpus,
    ));
    finding.experiment = context.adaptive(number);
    finding.change = Some("use no more busy threads than CPUs".to_owned());
    Some(finding)
}

fn program(context: &Context, crowd: String) -> Vec<Finding> {
    let policy = &context.profile.program.policy;
    let waited = context.profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    if !context.worthwhile(waited) {
        return Vec::new();
    }
    let title = format!("There are more threads than CPUs, and waiters of the policy `{policy}` never sleep");
    vec![Finding {
        rule: "oversubscribed",
        title,
        evidence: vec![format!("{crowd}; threads waited {} for locks", time(waited))],
        experiment: Some(Experiment { policy: Policy::ADAPTIVE, scope: Scope::Program }),
        hoped_ns: waited,
        locks: context.busy_locks().map(|(number, _)| number).collect(),
        ..Finding::default()
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
