//! Remarks for the reader of the profile: `remarks.jinja` has their words.

use super::Seen;
use std::collections::HashMap;
use turnwise_live::Thread;
use turnwise_profile::analysis::circles;
use turnwise_profile::figures::{listed, plural};
use turnwise_profile::model::{Deadlock, Profile};
use turnwise_profile::template::{context, lines};
use turnwise_profile::waits::{self, Stuck};

/// The number of threads and processes that are listed individually.
const SHOWN: usize = 4;
/// The age below which a cycle of waits may be spurious.
const SETTLED_NS: u64 = 50_000_000;

pub(super) fn of(seen: &Seen, profile: &Profile, troubles: Vec<String>) -> Vec<String> {
    let (log, (lost, no_stack)) = (&seen.log, seen.losses);
    let (before, after) = (&seen.first.snapshot.lost, &seen.last.snapshot.lost);
    let mut remarks: Vec<String> = still_waiting(seen, profile).into_iter().collect();
    remarks.extend(lines(
        include_str!("remarks.jinja"),
        context! {
            records => log.records,
            holds => log.holds.values().map(|hold| hold.totals().0).sum::<u64>(),
            with_holder => log.with_holder,
            holders_unknown => log.holders_unknown,
            lost, no_stack,
            waits => after.waits.saturating_sub(before.waits),
            nested => after.nested.saturating_sub(before.nested),
            threads => after.threads,
            other_count => seen.others.len(),
            others => listed(seen.others.iter().map(u32::to_string), SHOWN, ", "),
        },
    ));
    remarks.extend(troubles);
    remarks
}

/// Describes which threads wait at the end, and for which owners.
fn still_waiting(seen: &Seen, profile: &Profile) -> Option<String> {
    let threads = &seen.last.snapshot.threads;
    let mut waiting: Vec<&Thread> =
        threads.iter().filter(|thread| thread.waiting.is_some_and(|wait| wait.kind.is_ours())).collect();
    let circle = circles(&owners(threads)).concat();
    waiting.sort_by_key(|thread| (!circle.contains(&thread.tid), thread.waiting.map(|waiting| waiting.since_ns)));
    let names: HashMap<u64, &str> = profile.locks.iter().map(|lock| (lock.address, lock.name.as_str())).collect();
    let shown = waiting.iter().filter_map(|thread| {
        let wait = thread.waiting?;
        let held = wait.owner.map(|owner| format!(", held by {}", name(threads, owner))).unwrap_or_default();
        let lock = names.get(&wait.lock).copied().unwrap_or("a lock");
        Some(format!("{} for {lock}{held}", name(threads, thread.tid)))
    });
    let shown = listed(shown, SHOWN, "; ");
    let circle = if profile.deadlocks.is_empty() { "" } else { ", some for one another, as in a deadlock" };
    let number = plural(waiting.len() as u64, "thread", "threads");
    (!shown.is_empty()).then(|| format!("{number} still waited at the end{circle}: {shown}"))
}

/// Returns the threads that wait for one another: as a look is not instantaneous, a wait that has just begun may be for
/// a lock that its owner has just released.
pub(super) fn deadlocks(seen: &Seen, profile: &Profile) -> Vec<Deadlock> {
    let look = &seen.last.snapshot;
    let stuck = |tid: u32| {
        let wait = look.threads.iter().find(|thread| thread.tid == tid)?.waiting?;
        let wait_ns = Some(look.taken_ns.saturating_sub(wait.since_ns)).filter(|ns| *ns >= SETTLED_NS);
        wait_ns.map(|_| Stuck { thread: name(&look.threads, tid), lock: wait.lock, wait_ns })
    };
    waits::deadlocks(&owners(&look.threads), profile, "a lock", stuck)
}

/// Returns the owner of the lock that each thread waits for.
fn owners(threads: &[Thread]) -> HashMap<u32, u32> {
    let ours = |thread: &Thread| thread.waiting.filter(|wait| wait.kind.is_ours());
    threads.iter().filter_map(|thread| Some((thread.tid, ours(thread)?.owner?))).collect()
}

fn name(threads: &[Thread], tid: u32) -> String {
    match threads.iter().find(|thread| thread.tid == tid) {
        Some(thread) if !thread.name.is_empty() => format!("{} {tid}", thread.name),
        _ => format!("thread {tid}"),
    }
}
