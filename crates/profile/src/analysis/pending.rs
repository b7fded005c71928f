//! Waits that had not ended when the recording did. The recorder counts a wait when it ends, so they are in none of its
//! sums, and a deadlock would be no wait at all.

use super::sites::Sites;
use crate::model::{Deadlock, Profile, StuckWait};
use crate::output::names;
use std::collections::HashMap;
use turnwise_recording::reader::Recording;
use turnwise_recording::{ACQUIRED, EpisodeCopy};

/// One of them.
pub(super) struct Wait {
    pub(super) episode: EpisodeCopy,
    /// Index of its entry.
    entry: usize,
    /// Ticks from its beginning to the end of the recording.
    pub(super) ticks: u64,
    /// Ticks of the whole recording.
    run_ticks: u64,
}

/// All of them.
pub(super) struct Pending {
    waits: Vec<Wait>,
    /// Indices in `waits`, by entry.
    by_entry: HashMap<usize, Vec<usize>>,
    /// From the beginning of the recording to its end.
    pub(super) ticks: u64,
}

impl Pending {
    /// `end`: ticks at the end of the recording.
    pub(super) fn collect(recording: &Recording, end: u64) -> Pending {
        let run_ticks = end.saturating_sub(recording.header.ticks_start);
        let open = recording.episodes.iter().filter(|episode| episode.acquired == 0 && episode.began != 0);
        let waits = open.filter_map(|episode| {
            let entry = recording.entry_at(episode.entry)?;
            Some(Wait { episode: episode.clone(), entry, ticks: end.saturating_sub(episode.began), run_ticks })
        });
        let waits: Vec<Wait> = waits.collect();
        let mut by_entry: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, wait) in waits.iter().enumerate() {
            by_entry.entry(wait.entry).or_default().push(index);
        }
        Pending { waits, by_entry, ticks: run_ticks }
    }

    pub(super) fn of_entry(&self, entry: usize) -> impl Iterator<Item = &Wait> {
        self.by_entry.get(&entry).into_iter().flatten().map(|index| &self.waits[*index])
    }

    /// Adds up the ticks of all waits.
    pub(super) fn all_ticks(&self) -> u64 {
        self.waits.iter().map(|wait| wait.ticks).sum()
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.waits.len() as u64
    }

    pub(super) fn of_thread(&self, thread: usize) -> impl Iterator<Item = &Wait> {
        self.waits.iter().filter(move |wait| wait.episode.thread as usize == thread)
    }

    /// What to say of them; `None`: there are none.
    pub(super) fn remark(&self, recording: &Recording, sites: &Sites, profile: &Profile) -> Option<String> {
        const SHOWN: usize = 4;
        let mut waits: Vec<&Wait> = self.waits.iter().collect();
        waits.sort_by_key(|wait| (wait.episode.began, wait.episode.thread));
        let thread = |index: u32| self::thread(profile, index);
        let told = waits.iter().take(SHOWN).map(|wait| {
            let lock = recording.entries.get(wait.entry).and_then(|entry| sites.lock_id(entry.lock));
            let name = lock.map_or("a lock", |id| profile.locks[id as usize].name.as_str());
            let holder = wait.episode.holder.checked_sub(1).map(|holder| format!(", held by {}", thread(holder)));
            format!("{} for {name}{}", thread(wait.episode.thread), holder.unwrap_or_default())
        });
        let told: Vec<_> = told.collect();
        let what = match waits.len() {
            0 => return None,
            1 => "a thread still waited at the end".to_owned(),
            more => format!("{more} threads still waited at the end"),
        };
        let circle = if profile.deadlocks.is_empty() { "" } else { ", some for one another, as in a deadlock" };
        let more = if waits.len() > SHOWN { "; …" } else { "" };
        Some(format!("{what}{circle}: {}{more}", told.join("; ")))
    }

    /// The threads that wait for one another.
    pub(super) fn deadlocks(&self, recording: &Recording, sites: &Sites, profile: &Profile) -> Vec<Deadlock> {
        let mut last: HashMap<u32, &Wait> = HashMap::new();
        for wait in &self.waits {
            let kept = last.entry(wait.episode.thread).or_insert(wait);
            if wait.episode.began > kept.episode.began {
                *kept = wait;
            }
        }
        // One that ended in a wait was cancelled there, and waits no more.
        last.retain(|thread, _| recording.threads.get(*thread as usize).is_some_and(|thread| thread.ended == 0));
        let edge = |wait: &&Wait| Some((wait.episode.thread, self.holder(recording, wait)?));
        let circles = circles(&last.values().filter_map(edge).collect());
        let stuck = |thread: &u32| self::stuck(recording, sites, profile, last[thread]);
        let of = |circle: &Vec<u32>, all_wait| Deadlock { waits: circle.iter().map(stuck).collect(), all_wait };
        let mut deadlocks: Vec<Deadlock> = circles.iter().map(|circle| of(circle, false)).collect();
        if deadlocks.is_empty() && all_wait(recording, &last, profile) {
            let mut all: Vec<u32> = last.keys().copied().collect();
            all.sort_unstable();
            deadlocks.push(of(&all, true));
        }
        deadlocks
    }

    /// Who has the lock that a wait is for: the holder when the wait began, unless another thread had the lock since.
    fn holder(&self, recording: &Recording, wait: &Wait) -> Option<u32> {
        let holder = wait.episode.holder.checked_sub(1)?;
        let lock = |entry: usize| recording.entries.get(entry).map(|entry| entry.lock);
        let later = |episode: &&EpisodeCopy| {
            episode.acquired > wait.episode.began
                && episode.flags & ACQUIRED != 0
                && recording.entry_at(episode.entry).and_then(lock) == lock(wait.entry)
        };
        let passed_on = recording.episodes.iter().filter(later).any(|episode| episode.thread != holder);
        (!passed_on).then_some(holder)
    }
}

/// Whether all threads that ever took a lock and have not ended wait for one, and did for some time: then nobody is left
/// who could release what they wait for.
fn all_wait(recording: &Recording, last: &HashMap<u32, &Wait>, profile: &Profile) -> bool {
    /// A lock that is free may need so long until its next owner runs.
    const SETTLED_NS: u64 = 100_000_000;
    let waits = |thread: usize| u32::try_from(thread).ok().and_then(|thread| last.get(&thread));
    let is_settled = |wait: &&Wait| in_ns(wait, profile).is_some_and(|ns| ns >= SETTLED_NS);
    let mut left = (0..).zip(&recording.threads).filter(|(_, thread)| thread.ended == 0).peekable();
    left.peek().is_some() && left.all(|(number, _)| waits(number).is_some_and(is_settled))
}

/// How long a wait had lasted at the end.
fn in_ns(wait: &Wait, profile: &Profile) -> Option<u64> {
    let ns = u128::from(wait.ticks) * u128::from(profile.program.duration_ns);
    u64::try_from(ns.checked_div(wait.run_ticks.into())?).ok()
}

/// One wait of a circle in words.
fn stuck(recording: &Recording, sites: &Sites, profile: &Profile, wait: &Wait) -> StuckWait {
    let entry = recording.entries.get(wait.entry);
    let lock = entry.and_then(|entry| sites.lock_id(entry.lock));
    let site = |site: u64| {
        let site = profile.sites.get(sites.id((entry?.lock, site))? as usize)?;
        Some(names::site(profile, site))
    };
    StuckWait {
        thread: thread(profile, wait.episode.thread),
        lock: lock.map_or_else(|| "a lock".to_owned(), |id| profile.locks[id as usize].name.clone()),
        lock_id: lock,
        place: entry.and_then(|entry| site(entry.site)),
        taken: site(wait.episode.holder_site),
        wait_ns: in_ns(wait, profile),
    }
}

fn thread(profile: &Profile, index: u32) -> String {
    let thread = profile.threads.get(index as usize);
    thread.map_or_else(|| "a thread".to_owned(), |thread| format!("{} {}", thread.name, thread.tid))
}

/// Threads of which each waits for the next, and the last for the first. `holders`: the holder by waiter. Each circle
/// begins with its lowest number.
#[must_use]
pub fn circles(holders: &HashMap<u32, u32>) -> Vec<Vec<u32>> {
    let mut firsts: Vec<u32> = holders.keys().copied().collect();
    firsts.sort_unstable();
    let circle = |first: u32| {
        let chain = std::iter::successors(Some(first), |at| holders.get(at).copied());
        let circle: Vec<u32> = chain.take(holders.len() + 1).collect();
        let length = circle.iter().skip(1).position(|at| *at == first)? + 1;
        Some(circle[..length].to_vec()).filter(|circle| circle.iter().min() == Some(&first))
    };
    firsts.into_iter().filter_map(circle).collect()
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn a_circle_is_told_once_and_who_waits_behind_it_is_not_in_it() {
        let of = |pairs: &[(u32, u32)]| circles(&pairs.iter().copied().collect());
        assert_eq!(of(&[(2, 1), (1, 2), (7, 2)]), [vec![1, 2]]);
        assert_eq!(of(&[(5, 5), (6, 5)]), [vec![5]]);
        assert_eq!(of(&[(3, 9), (9, 4), (4, 3), (1, 3)]), [vec![3, 9, 4]]);
        assert_eq!(of(&[(1, 2), (2, 3)]), [[0_u32; 0]; 0]);
        assert_eq!(of(&[(8, 6), (6, 8), (1, 4), (4, 1)]), [vec![1, 4], vec![6, 8]]);
    }
}
