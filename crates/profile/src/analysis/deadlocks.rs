//! Threads that waited for one another when the recording ended.

use super::clock::Clock;
use super::names::shown;
use super::pending::{Pending, Wait, thread};
use super::sites::Sites;
use crate::model::{Deadlock, Profile, StuckWait};
use std::collections::HashMap;
use turnwise_recording::reader::Recording;
use turnwise_recording::{ACQUIRED, Class, EpisodeCopy, ThreadCopy};

/// Returns the threads that wait for one another.
pub(super) fn all(
    pending: &Pending,
    recording: &Recording,
    clock: Clock,
    sites: &Sites,
    profile: &Profile,
) -> Vec<Deadlock> {
    let mut last: HashMap<u32, &Wait> = HashMap::new();
    for wait in &pending.waits {
        let kept = last.entry(wait.episode.thread).or_insert(wait);
        if wait.episode.began > kept.episode.began {
            *kept = wait;
        }
    }
    // A thread that ended in a wait was cancelled there, and waits no longer.
    last.retain(|thread, _| recording.threads.get(*thread as usize).is_some_and(|thread| thread.ended == 0));
    let edge = |wait: &&Wait| Some((wait.episode.thread, wait.episode.holder.checked_sub(1)?));
    let mut circles = circles(&last.values().filter_map(edge).collect());
    circles.retain(|circle| circle.iter().all(|thread| is_still_held(recording, last[thread])));
    let stuck = |thread: &u32| self::stuck(sites, clock, profile, last[thread]);
    let of = |circle: &Vec<u32>, all_wait| Deadlock { waits: circle.iter().map(stuck).collect(), all_wait };
    let mut deadlocks: Vec<Deadlock> = circles.iter().map(|circle| of(circle, false)).collect();
    if deadlocks.is_empty() && all_wait(recording, pending, &last, clock) {
        let mut all: Vec<u32> = last.keys().copied().collect();
        all.sort_unstable();
        deadlocks.push(of(&all, true));
    }
    deadlocks
}

/// Returns whether the holder when a wait began may still have the lock: no other thread had it since.
fn is_still_held(recording: &Recording, wait: &Wait) -> bool {
    let lock = |entry: usize| recording.entries.get(entry).map(|entry| entry.lock);
    let later = |episode: &&EpisodeCopy| {
        episode.acquired > wait.episode.began
            && episode.flags & ACQUIRED != 0
            && recording.entry_at(episode.entry).and_then(lock) == lock(wait.entry)
    };
    recording.episodes.iter().filter(later).all(|episode| episode.thread + 1 == wait.episode.holder)
}

/// Returns whether all threads that ever took a lock and have not ended wait for one, and did for some time, or for the
/// end of another: then no thread remains that could release those locks.
fn all_wait(recording: &Recording, pending: &Pending, last: &HashMap<u32, &Wait>, clock: Clock) -> bool {
    /// The time that a free lock may need until its next owner runs.
    const SETTLED_NS: u64 = 100_000_000;
    // A lock that sleeps by futex calls may be one that a thread has which never slept, and is not known here.
    let is_known = |wait: &&&Wait| {
        let lock = recording.entries.get(wait.entry).and_then(|entry| recording.locks.get(entry.lock as usize));
        lock.is_some_and(|lock| !Class::is_slept_on(lock.class))
    };
    let is_settled = |wait: &&Wait| clock.ns(wait.ticks) >= SETTLED_NS;
    let is_left = |(number, thread): &(u32, &ThreadCopy)| {
        let took_any = thread.ahead > u64::from(thread.left) || thread.failed > 0;
        thread.ended == 0 && !pending.joining.contains(number) && (took_any || last.contains_key(number))
    };
    let mut left = (0..).zip(&recording.threads).filter(is_left).peekable();
    left.peek().is_some() && left.all(|(number, _)| last.get(&number).filter(is_known).is_some_and(is_settled))
}

/// Describes one wait of a cycle.
fn stuck(sites: &Sites, clock: Clock, profile: &Profile, wait: &Wait) -> StuckWait {
    let lock = sites.lock_of_entry(wait.entry);
    let shown = |site: u32| Some(shown(&profile.frames[*profile.sites.get(site as usize)?.frames.first()? as usize]));
    let taken = |site: u64| shown(sites.holder(wait.entry, site)?);
    StuckWait {
        thread: thread(profile, wait.episode.thread),
        lock: lock.map_or_else(|| "a lock".to_owned(), |id| profile.locks[id as usize].name.clone()),
        lock_id: lock,
        place: sites.of_entry(wait.entry).and_then(shown),
        taken: taken(wait.episode.holder_site),
        wait_ns: Some(clock.ns(wait.ticks)),
    }
}

/// Returns cycles of threads of which each waits for the next, and the last for the first. `holders`: the holder by
/// waiter. Each cycle begins with its lowest number.
pub fn circles(holders: &HashMap<u32, u32>) -> Vec<Vec<u32>> {
    // The walk that visited each thread first; each is visited once.
    let mut walk_of: HashMap<u32, u32> = HashMap::new();
    let mut circles = Vec::new();
    for &first in holders.keys() {
        let mut at = Some(first);
        while let Some(thread) = at.filter(|thread| !walk_of.contains_key(thread)) {
            walk_of.insert(thread, first);
            at = holders.get(&thread).copied();
        }
        if let Some(thread) = at.filter(|thread| walk_of[thread] == first) {
            let next = |at: &u32| holders.get(at).copied();
            let mut circle = vec![thread];
            circle.extend(std::iter::successors(next(&thread), next).take_while(|at| *at != thread));
            let lowest = (0..circle.len()).min_by_key(|place| circle[*place]).unwrap_or(0);
            circle.rotate_left(lowest);
            circles.push(circle);
        }
    }
    circles.sort_unstable();
    circles
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn a_circle_is_reported_once_and_who_waits_behind_it_is_not_in_it() {
        let of = |pairs: &[(u32, u32)]| circles(&pairs.iter().copied().collect());
        assert_eq!(of(&[(2, 1), (1, 2), (7, 2)]), [vec![1, 2]]);
        assert_eq!(of(&[(5, 5), (6, 5)]), [vec![5]]);
        assert_eq!(of(&[(3, 9), (9, 4), (4, 3), (1, 3)]), [vec![3, 9, 4]]);
        assert_eq!(of(&[(1, 2), (2, 3)]), [[0_u32; 0]; 0]);
        assert_eq!(of(&[(8, 6), (6, 8), (1, 4), (4, 1)]), [vec![1, 4], vec![6, 8]]);
    }
}
