//! The individual waits, for the locks with the longest, and if not all fit, the sums over all of them.

use super::afar::Afar;
use super::strings::Strings;
use crate::figures::count;
use crate::model::{Episode, LockId, Profile};
use serde::Serialize;

const MOST_LOCKS: usize = 16;
/// The number of waits in the timeline of the first lock, and of another; the longest are kept.
const MOST_WAITS: [usize; 2] = [10_000, 3_000];

/// A lock's waits, by their beginning.
#[derive(Serialize)]
pub(super) struct Timeline {
    lock: LockId,
    /// The waits: thread, site's name, began, acquired, released (-1: not seen), holder and its site's name (-1: not
    /// seen), 1 if it gave up.
    waits: Vec<[i64; 8]>,
    /// The number of waits that were recorded individually.
    kept: usize,
    /// The overview of all waits, if some are missing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    afar: Option<Afar>,
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
    for (lock, waits) in locks.into_iter().enumerate().filter(|(_, waits)| !waits.is_empty()) {
        timelines.push(of_lock(profile, strings, lock, waits));
    }
    let left_out: usize = timelines.iter().map(|timeline| timeline.kept - timeline.waits.len()).sum();
    if left_out > 0 {
        let left_out = count(left_out as u64);
        let [first, others] = MOST_WAITS.map(|most| count(most as u64));
        omitted.push(format!(
            "Timelines have the longest waits of a lock one by one, {first} of the first lock and {others} of each \
             other; {left_out} shorter ones are drawn from afar only."
        ));
    }
    if profile.locks.len() > MOST_LOCKS {
        omitted.push(format!("Timelines are for the {MOST_LOCKS} locks with the longest waits."));
    }
    timelines
}

fn of_lock(profile: &Profile, strings: &mut Strings, lock: usize, mut waits: Vec<&Episode>) -> Timeline {
    let (kept, most) = (waits.len(), MOST_WAITS[lock.min(1)]);
    let afar = (kept > most).then(|| Afar::of(&waits));
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.acquired_ns.saturating_sub(wait.began_ns)));
    waits.truncate(most);
    waits.sort_by_key(|wait| wait.began_ns);
    let waits = waits.into_iter().map(|wait| row(profile, strings, wait)).collect();
    Timeline { lock: lock as LockId, waits, kept, afar }
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
