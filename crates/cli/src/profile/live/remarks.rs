//! Remarks for the reader of the profile.

use super::Seen;
use std::collections::HashMap;
use turnwise_live::Thread;
use turnwise_profile::analysis::circles;
use turnwise_profile::model::{Deadlock, Profile, StuckWait};

/// The number of threads and processes that are listed individually.
const SHOWN: usize = 4;
/// The age below which a cycle of waits may be spurious.
const SETTLED_NS: u64 = 50_000_000;

pub(super) fn of(seen: &Seen, profile: &Profile, left_out: usize, troubles: Vec<String>) -> Vec<String> {
    let mut remarks: Vec<String> = still_waiting(seen, profile).into_iter().collect();
    remarks.push(
        "recorded inside the locks of the program: acquisitions that did not wait are not known, nor how long locks \
         were held altogether; `turnwise profile -- CMD` without --waits counts them"
            .to_owned(),
    );
    remarks.push(records(seen));
    remarks.extend(holders(seen));
    remarks.extend(losses(seen));
    if left_out > 0 {
        remarks.push(format!("{left_out} locks are left out: no thread waited long for them"));
    }
    if !seen.others.is_empty() {
        let named: Vec<String> = seen.others.iter().take(SHOWN).map(u32::to_string).collect();
        let more = if seen.others.len() > SHOWN { ", …" } else { "" };
        remarks.push(format!(
            "this profile is of the process that was named; {} of the same program: {}{more}",
            plural(seen.others.len() as u64, "more runs", "more run"),
            named.join(", ")
        ));
    }
    remarks.extend(troubles);
    remarks
}

fn records(seen: &Seen) -> String {
    let records = plural(seen.log.records, "recorded wait", "recorded waits");
    let holds: u64 = seen.log.holds.values().map(|hold| hold.sums().0).sum();
    let holds = plural(holds, "hold", "holds");
    format!(
        "stacks, threads, the course over time and holders are from {records}, scaled up; {holds} of those that others \
         waited for at their end (one that ended unnoticed, and was followed by another of the same thread, is one \
         with it)"
    )
}

fn holders(seen: &Seen) -> Option<String> {
    let (known, nowhere) = (seen.log.with_holder, seen.log.holders_unknown);
    (known > 0 && nowhere > 0).then(|| {
        format!(
            "of {}, the holder was seen, but not where it had taken the lock, since it had not waited for it: these \
             are in no pair of waiter and holder",
            plural(nowhere, "recorded wait", "recorded waits")
        )
    })
}

fn losses(seen: &Seen) -> Vec<String> {
    let mut remarks = Vec::new();
    let (lost, no_stack) = seen.losses;
    if lost > 0 {
        let records = plural(lost, "record was", "records were");
        remarks.push(format!("{records} lost for want of room: their waits are in the sums alone"));
    }
    if no_stack > 0 {
        let records = plural(no_stack, "recorded wait", "recorded waits");
        remarks.push(format!(
            "the call stack of {records} is not known: the system does not let the program read it \
             (process_vm_readv), perhaps in a container; call sites are"
        ));
    }
    let (before, after) = (&seen.first.snapshot.lost, &seen.last.snapshot.lost);
    let (waits, threads) = (after.waits.saturating_sub(before.waits), after.threads);
    let nested = after.nested.saturating_sub(before.nested);
    if waits > 0 || nested > 0 {
        remarks.push(format!(
            "{} found no room in the live view, and {nested} were inside another wait, in a signal handler: counted \
             nowhere",
            plural(waits, "wait", "waits")
        ));
    }
    if threads > 0 {
        let number = plural(threads, "thread has", "threads have");
        remarks.push(format!("{number} no place in the live view: their waits are counted nowhere"));
    }
    remarks
}

/// Describes which threads wait at the end, and for which owners.
fn still_waiting(seen: &Seen, profile: &Profile) -> Option<String> {
    let threads = &seen.last.snapshot.threads;
    let mut waiting: Vec<&Thread> = threads.iter().filter(|thread| thread.waiting.is_some()).collect();
    let circle = circles(&owners(threads)).concat();
    waiting.sort_by_key(|thread| (!circle.contains(&thread.tid), thread.waiting.map(|waiting| waiting.since_ns)));
    let names: HashMap<u64, &str> = profile.locks.iter().map(|lock| (lock.address, lock.name.as_str())).collect();
    let shown = waiting.iter().take(SHOWN).filter_map(|thread| {
        let wait = thread.waiting?;
        let held = wait.owner.map(|owner| format!(", held by {}", name(threads, owner))).unwrap_or_default();
        let lock = names.get(&wait.lock).copied().unwrap_or("a lock");
        Some(format!("{} for {lock}{held}", name(threads, thread.tid)))
    });
    let shown: Vec<String> = shown.collect();
    let more = if waiting.len() > SHOWN { "; …" } else { "" };
    let circle = if profile.deadlocks.is_empty() { "" } else { ", some for one another, as in a deadlock" };
    let number = plural(waiting.len() as u64, "thread", "threads");
    (!shown.is_empty()).then(|| format!("{number} still waited at the end{circle}: {}{more}", shown.join("; ")))
}

/// Returns the threads that wait for one another: as a look is not instantaneous, a wait that has just begun may be for
/// a lock that its owner has just released.
pub(super) fn deadlocks(seen: &Seen, profile: &Profile) -> Vec<Deadlock> {
    let look = &seen.last.snapshot;
    let since = |tid: &u32| {
        let thread = look.threads.iter().find(|thread| thread.tid == *tid)?;
        Some(look.taken_ns.saturating_sub(thread.waiting?.since_ns))
    };
    let settled = |circle: &Vec<u32>| circle.iter().all(|tid| since(tid).is_some_and(|ns| ns >= SETTLED_NS));
    let stuck = |tid: &u32| {
        let wait = look.threads.iter().find(|thread| thread.tid == *tid).and_then(|thread| thread.waiting);
        let lock = wait.and_then(|wait| profile.locks.iter().position(|lock| lock.address == wait.lock));
        StuckWait {
            thread: name(&look.threads, *tid),
            lock: lock.map_or_else(|| "a lock".to_owned(), |lock| profile.locks[lock].name.clone()),
            lock_id: lock.and_then(|lock| u32::try_from(lock).ok()),
            wait_ns: since(tid),
            ..StuckWait::default()
        }
    };
    let circles = circles(&owners(&look.threads)).into_iter().filter(settled);
    circles.map(|circle| Deadlock { waits: circle.iter().map(stuck).collect(), all_wait: false }).collect()
}

/// Returns the owner of the lock that each thread waits for.
fn owners(threads: &[Thread]) -> HashMap<u32, u32> {
    threads.iter().filter_map(|thread| Some((thread.tid, thread.waiting?.owner?))).collect()
}

fn name(threads: &[Thread], tid: u32) -> String {
    match threads.iter().find(|thread| thread.tid == tid) {
        Some(thread) if !thread.name.is_empty() => format!("{} {tid}", thread.name),
        _ => format!("thread {tid}"),
    }
}

/// Formats a number with its noun.
fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
