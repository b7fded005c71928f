//! The five most important lines.

use super::{deadlocks, names};
use crate::model::{Lock, Profile, SiteId, Thread, Usage};
use crate::template::{self, context};
use minijinja::value::{Serde, Value};
use std::collections::BTreeMap;
use turnwise_present::others::Others;

/// The line for a program that took no lock that the recorder sees.
const NO_LOCKS: &str = "It took no pthread lock. Those of Go, and of static and musl programs, are not seen this way, \
     nor raw system calls; as root, `turnwise profile --futex -- CMD` traces their sleeps.";

/// The line for a profile without a lock or a wait, since recording was incomplete.
const NOTHING: &str = "Of the rest, no wait for a lock was recorded.";

/// Returns the five most important lines, the most important first; fewer if there is less to report.
pub fn headlines(profile: &Profile) -> Vec<String> {
    let mut lines: Vec<String> = deadlocks::sentences(profile).collect();
    lines.extend(profile.recording.missing.iter().cloned());
    lines.extend(template::lines(include_str!("../../assets/headlines.jinja"), facts(profile)));
    lines.extend(others(profile).map(|others| format!("{others}.")));
    lines
}

fn facts(profile: &Profile) -> Value {
    let lock = |lock: &Lock| names::lock_in_sentence(&lock.name);
    let site = |site: SiteId| names::brief_site(profile, &profile.sites[site as usize]);
    let mut by_holder: BTreeMap<SiteId, u64> = BTreeMap::new();
    for pair in &profile.blocked {
        *by_holder.entry(pair.holder).or_default() += pair.wait_ns;
    }
    let holder = by_holder.into_iter().max_by_key(|&(_, wait_ns)| wait_ns);
    let longest = (0..).zip(&profile.sites).max_by_key(|(_, site)| site.usage.wait.sum_ns);
    context! {
        lock => profile.locks.first().map(|first| {
            let Usage { wait, hold, .. } = &first.usage;
            let knows_holds = first.kind.is_pthread();
            context! { name => lock(first), wait_ns => wait.sum_ns, hold_p50 => hold.quantile(0.5), knows_holds }
        }),
        site => longest.map(|(id, longest)| {
            let wait = &longest.usage.wait;
            context! { name => site(id), wait_ns => wait.sum_ns, p99 => wait.quantile(0.99), max_ns => wait.max_ns }
        }),
        pair => profile.blocked.first().map(|pair| {
            context! { waiter => site(pair.waiter), waker => site(pair.holder), wait_ns => pair.wait_ns }
        }),
        holder => holder.map(|(id, wait_ns)| {
            let of = &profile.locks[profile.sites[id as usize].lock as usize];
            context! { lock => lock(of), site => site(id), wait_ns, is_waker => !of.kind.is_pthread() }
        }),
        cycles => profile.cycles.len(),
        lines => profile.shared_lines.len(),
        spurious => profile.conditions.iter().map(|condition| condition.woken_for_nothing).sum::<u64>(),
        woke_nobody => woke_nobody(profile),
        ..totals(profile)
    }
}

/// Returns the number of calls that were to wake threads, and woke none.
fn woke_nobody(profile: &Profile) -> u64 {
    let of_locks = profile.locks.iter().map(|lock| lock.wake_ups.1);
    of_locks.chain(profile.awaited.iter().map(|one| one.wake_ups.1)).sum()
}

/// Returns what all templates know of a profile.
pub(crate) fn totals(profile: &Profile) -> Value {
    let (acquisitions, contended) = acquisitions(profile);
    context! {
        recording => Serde(&profile.recording),
        missing => profile.recording.missing.clone(),
        nothing => NOTHING,
        no_locks => NO_LOCKS,
        took_none => took_none(profile),
        waited => waited_ns(profile),
        waits => profile.locks.iter().map(|lock| lock.usage.wait.count).sum::<u64>(),
        failed => profile.locks.iter().map(|lock| lock.usage.failed).sum::<u64>(),
        acquisitions, contended,
        alive => thread_ns(profile),
        seen => seen_ns(profile),
        mostly_seen => mostly_seen(profile),
    }
}

/// Returns the CPU use of others, if it was high, without a full stop.
pub(crate) fn others(profile: &Profile) -> Option<String> {
    let others = profile.recording.others.filter(Others::took_much)?;
    Some(format!("Meanwhile {}, which affects the figures", others.taken()))
}

/// Returns whether the program took no lock that the recorder sees.
pub fn took_none(profile: &Profile) -> bool {
    let unused = |lock: &Lock| lock.usage.acquisitions == 0 && lock.usage.wait.count == 0;
    let known = &profile.recording;
    let none = profile.locks.iter().all(unused) && profile.awaited.is_empty();
    known.knows_acquisitions() && known.acquisitions_unattributed == 0 && none
}

/// Returns all acquisitions, and the contended ones, including those at unlisted locks: the threads' sums have them.
pub(crate) fn acquisitions(profile: &Profile) -> (u64, u64) {
    let sum = |usages: &mut dyn Iterator<Item = &Usage>| {
        usages.fold((0, 0), |sum, usage| (sum.0 + usage.acquisitions, sum.1 + usage.contended))
    };
    let counted = profile.locks.iter().filter(|lock| lock.kind.is_pthread());
    let of_locks = sum(&mut counted.map(|lock| &lock.usage));
    let of_threads = sum(&mut profile.threads.iter().map(|thread| &thread.usage));
    (of_locks.0.max(of_threads.0), of_locks.1.max(of_threads.1))
}

/// Returns how long threads waited for a known holder.
pub(crate) fn seen_ns(profile: &Profile) -> u64 {
    profile.blocked.iter().map(|pair| pair.wait_ns).sum()
}

/// Returns whether the holder is known for nearly all waiting.
pub(crate) fn mostly_seen(profile: &Profile) -> bool {
    seen_ns(profile) as f64 >= 0.95 * waited_ns(profile) as f64
}

/// Returns how long threads waited for all locks.
pub(crate) fn waited_ns(profile: &Profile) -> u64 {
    profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum()
}

/// Returns the total lifetime of threads.
pub(crate) fn thread_ns(profile: &Profile) -> u64 {
    profile.threads.iter().map(Thread::alive_ns).sum()
}
