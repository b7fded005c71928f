//! The waits one by one, for the locks with the longest.

use super::strings::Strings;
use crate::figures::count;
use crate::model::{Episode, LockId, Profile};
use serde::Serialize;

/// Locks that have a timeline.
const MOST_LOCKS: usize = 16;
/// Waits in one; the longest are kept.
const MOST_WAITS: usize = 3_000;

/// A lock's waits, by their beginning.
#[derive(Serialize)]
pub(super) struct Timeline {
    lock: LockId,
    /// Thread, site's name, began, acquired, released (-1: not seen), holder and its site's name (-1: not seen), 1 if
    /// it gave up.
    waits: Vec<[i64; 8]>,
    /// Waits that were recorded, but are not here.
    omitted: usize,
}

pub(super) fn of(profile: &Profile, strings: &mut Strings, omitted: &mut Vec<String>) -> Vec<Timeline> {
    let mut locks: Vec<Vec<&Episode>> = vec![Vec::new(); profile.locks.len().min(MOST_LOCKS)];
    for episode in &profile.episodes {
        let lock = profile.sites[episode.site as usize].lock as usize;
        if let Some(waits) = locks.get_mut(lock) {
            waits.push(episode);
        }
    }
    let mut timelines = Vec::new();
    for (lock, mut waits) in locks.into_iter().enumerate().filter(|(_, waits)| !waits.is_empty()) {
        let all = waits.len();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.acquired_ns.saturating_sub(wait.began_ns)));
        waits.truncate(MOST_WAITS);
        waits.sort_by_key(|wait| wait.began_ns);
        let left_out = all - waits.len();
        let waits = waits.into_iter().map(|wait| row(profile, strings, wait)).collect();
        timelines.push(Timeline { lock: lock as LockId, waits, omitted: left_out });
    }
    let left_out: usize = timelines.iter().map(|timeline| timeline.omitted).sum();
    if left_out > 0 {
        let (left_out, kept) = (count(left_out as u64), count(MOST_WAITS as u64));
        omitted
            .push(format!("Timelines have the {kept} longest waits of a lock; {left_out} shorter ones are left out."));
    }
    if profile.locks.len() > MOST_LOCKS {
        omitted.push(format!("Timelines are for the {MOST_LOCKS} locks with the longest waits."));
    }
    timelines
}

fn row(profile: &Profile, strings: &mut Strings, wait: &Episode) -> [i64; 8] {
    let (holder, holder_site) =
        wait.holder.map_or((-1, -1), |(thread, site)| (i64::from(thread), i64::from(strings.site(profile, site))));
    [
        i64::from(wait.thread),
        i64::from(strings.site(profile, wait.site)),
        wait.began_ns as i64,
        wait.acquired_ns as i64,
        wait.released_ns.map_or(-1, |released| released as i64),
        holder,
        holder_site,
        i64::from(!wait.acquired),
    ]
}
