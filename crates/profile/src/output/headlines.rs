//! The five most important lines.

use super::{deadlocks, names};
use crate::figures::{count, percent, plural, time};
use crate::model::{Lock, Method, Profile, Usage};
use turnwise_present::others::Others;

/// The line for a program that took no lock that the recorder sees.
pub(crate) const NO_LOCKS: &str = "It took no pthread lock. Programs with locks of their own (Go, Rust's std, Java's \
     monitors, raw futexes) are not seen this way; as root, `turnwise profile --futex -- CMD` traces their sleeps.";

/// The line for a profile without a lock or a wait, since recording was incomplete.
pub(crate) const NOTHING: &str = "Of the rest, no wait for a lock was recorded.";

/// Returns the five most important lines, the most important first; fewer if there is less to report.
#[must_use]
pub fn headlines(profile: &Profile) -> Vec<String> {
    let mut lines: Vec<String> = deadlocks::sentences(profile).collect();
    lines.extend(profile.recording.missing.iter().cloned());
    lines.extend(of_what_was_seen(profile));
    lines.extend(others(profile).map(|others| format!("{others}.")));
    lines
}

/// Returns the CPU use of others, if it was high, without a full stop.
pub(crate) fn others(profile: &Profile) -> Option<String> {
    let others = profile.recording.others.filter(Others::took_much)?;
    Some(format!("Meanwhile {}, which affects the figures", others.taken()))
}

fn of_what_was_seen(profile: &Profile) -> Vec<String> {
    let waited: u64 = profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    if waited == 0 && !profile.recording.missing.is_empty() {
        return vec![NOTHING.to_owned()];
    }
    match profile.recording.method {
        Method::Recorder => {}
        Method::FutexTrace => return of_futexes(profile, waited),
        Method::Live => return of_live(profile, waited),
    }
    if took_none(profile) {
        return vec![NO_LOCKS.to_owned()];
    }
    let mut lines = vec![overall(profile, waited)];
    if waited > 0 {
        lines.extend([lock(profile, waited), site(profile, waited), pair(profile, waited)].into_iter().flatten());
    }
    lines.extend(hazards(profile));
    lines
}

/// Returns whether the program took no lock that the recorder sees.
pub(crate) fn took_none(profile: &Profile) -> bool {
    let unused = |lock: &Lock| lock.usage.acquisitions == 0 && lock.usage.wait.count == 0;
    let known = &profile.recording;
    known.knows_acquisitions() && known.acquisitions_unattributed == 0 && profile.locks.iter().all(unused)
}

/// Returns all acquisitions, and the contended ones, including those at unlisted locks: the threads' sums have them.
pub(crate) fn acquisitions(profile: &Profile) -> (u64, u64) {
    let sum = |usages: &mut dyn Iterator<Item = &Usage>| {
        usages.fold((0, 0), |sum, usage| (sum.0 + usage.acquisitions, sum.1 + usage.contended))
    };
    let of_locks = sum(&mut profile.locks.iter().map(|lock| &lock.usage));
    let of_threads = sum(&mut profile.threads.iter().map(|thread| &thread.usage));
    (of_locks.0.max(of_threads.0), of_locks.1.max(of_threads.1))
}

/// Returns how long threads waited for a known holder.
pub(crate) fn seen_ns(profile: &Profile) -> u64 {
    profile.blocked.iter().map(|pair| pair.wait_ns).sum()
}

/// Returns whether the holder is known for nearly all waiting.
pub(crate) fn mostly_seen(profile: &Profile) -> bool {
    let waited: u64 = profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    seen_ns(profile) as f64 >= 0.95 * waited as f64
}

/// Returns the lines on a trace of futex calls.
fn of_futexes(profile: &Profile, waited: u64) -> Vec<String> {
    if waited == 0 {
        return vec!["No thread slept in a futex call.".to_owned()];
    }
    let waits: u64 = profile.locks.iter().map(|lock| lock.usage.wait.count).sum();
    let share = percent(waited, thread_ns(profile));
    let mut lines = vec![format!(
        "Threads slept {} in {}, {share} of their time.",
        time(waited),
        plural(waits, "futex call", "futex calls")
    )];
    lines.extend(profile.locks.first().map(|lock| {
        let (wait, part) = (lock.usage.wait.sum_ns, percent(lock.usage.wait.sum_ns, waited));
        format!("They slept longest on {}: {}, {part} of all.", names::lock_in_sentence(&lock.name), time(wait))
    }));
    lines.extend(site(profile, waited));
    lines.extend(profile.blocked.first().map(|pair| {
        let [waiter, waker] =
            [pair.waiter, pair.holder].map(|site| names::brief_site(profile, &profile.sites[site as usize]));
        format!("Most waiting was ended by {waker}: {} of {waiter}.", time(pair.wait_ns))
    }));
    lines
}

/// Returns the lines on a program that was inspected while it ran.
fn of_live(profile: &Profile, waited: u64) -> Vec<String> {
    if waited == 0 {
        return vec!["No thread waited for a lock.".to_owned()];
    }
    let waits: u64 = profile.locks.iter().map(|lock| lock.usage.wait.count).sum();
    let share = percent(waited, thread_ns(profile));
    let mut lines = vec![format!(
        "Threads waited {} for locks, {share} of their time, in {}.",
        time(waited),
        plural(waits, "wait", "waits")
    )];
    lines.extend(profile.locks.first().map(|lock| {
        let (wait, part) = (lock.usage.wait.sum_ns, percent(lock.usage.wait.sum_ns, waited));
        format!("The lock that costs most is {}: {}, {part} of all.", names::lock_in_sentence(&lock.name), time(wait))
    }));
    lines.extend([site(profile, waited), pair(profile, waited)].into_iter().flatten());
    lines
}

/// Returns the total lifetime of threads.
pub(crate) fn thread_ns(profile: &Profile) -> u64 {
    profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns)).sum()
}

fn overall(profile: &Profile, waited: u64) -> String {
    let (acquisitions, contended) = acquisitions(profile);
    if waited == 0 {
        let acquisitions = plural(acquisitions, "acquisition", "acquisitions");
        return format!("No thread waited for a lock, in {acquisitions}.");
    }
    let share = percent(waited, thread_ns(profile));
    let contended = percent(contended, acquisitions);
    format!(
        "Threads waited {} for locks, {share} of their time: {contended} of {} contended.",
        time(waited),
        if acquisitions == 1 { "1 acquisition was".to_owned() } else { count(acquisitions) + " acquisitions were" },
    )
}

fn lock(profile: &Profile, waited: u64) -> Option<String> {
    let lock = profile.locks.first()?;
    let Usage { wait, hold, .. } = &lock.usage;
    Some(format!(
        "The lock that costs most is {}: {}, {} of all waiting; half of its holds last at most {}.",
        names::lock_in_sentence(&lock.name),
        time(wait.sum_ns),
        percent(wait.sum_ns, waited),
        time(hold.quantile(0.5)),
    ))
}

fn site(profile: &Profile, waited: u64) -> Option<String> {
    let site = profile.sites.iter().max_by_key(|site| site.usage.wait.sum_ns)?;
    let wait = &site.usage.wait;
    Some(format!(
        "The call site that waits most is {}: {}, {} of all; 99 of 100 waits take at most {}, the longest {}.",
        names::brief_site(profile, site),
        time(wait.sum_ns),
        percent(wait.sum_ns, waited),
        time(wait.quantile(0.99)),
        time(wait.max_ns),
    ))
}

fn pair(profile: &Profile, waited: u64) -> Option<String> {
    let mut by_holder = std::collections::BTreeMap::new();
    for pair in &profile.blocked {
        *by_holder.entry(pair.holder).or_insert(0) += pair.wait_ns;
    }
    let (holder, wait_ns) = by_holder.into_iter().max_by_key(|&(_, wait_ns)| wait_ns)?;
    let site = &profile.sites[holder as usize];
    let seen = seen_ns(profile);
    let of = if mostly_seen(profile) {
        format!("{} of all", percent(wait_ns, waited))
    } else {
        format!("{} of the {} whose holder was seen", percent(wait_ns, seen), percent(seen, waited))
    };
    Some(format!(
        "The holder that blocks others most took {} in {}: {} of waiting, {of}.",
        names::lock_in_sentence(&profile.locks[site.lock as usize].name),
        names::brief_site(profile, site),
        time(wait_ns),
    ))
}

fn hazards(profile: &Profile) -> Option<String> {
    let several = |number: usize, one: &str, more: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {more}")),
    };
    let vain = profile.conditions.iter().map(|condition| condition.woken_for_nothing).sum::<u64>();
    let found = [
        several(
            profile.inversions.len(),
            "pair of locks is taken in both orders",
            "pairs of locks are taken in both orders",
        ),
        several(profile.shared_lines.len(), "cache line has several locks", "cache lines have several locks"),
        several(vain as usize, "wake-up found nothing", "wake-ups found nothing"),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| format!("Besides: {}.", found.join("; ")))
}
