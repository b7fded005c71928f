//! Finds which release let which waiter continue.

use crate::model::Profile;

/// Returns for each wait (by its number) the wait whose hold ended last before it was over: its release let this one
/// in. Only holds that follow a wait are known individually.
pub(super) fn releases(profile: &Profile) -> Vec<Option<usize>> {
    let lock_of = |number: usize| profile.sites[profile.episodes[number].site as usize].lock as usize;
    let mut held: Vec<Vec<(u64, usize)>> = vec![Vec::new(); profile.locks.len()];
    for (number, episode) in profile.episodes.iter().enumerate() {
        if let (true, Some(released)) = (episode.acquired, episode.released_ns) {
            held[lock_of(number)].push((released, number));
        }
    }
    held.iter_mut().for_each(|holds| holds.sort_unstable());
    let numbered = profile.episodes.iter().enumerate();
    let release = numbered.map(|(number, episode)| {
        let holds = &held[lock_of(number)];
        let after = holds.partition_point(|&(released, _)| released <= episode.acquired_ns);
        let (released, holder) = *holds[..after].last()?;
        let other = profile.episodes[holder].thread != episode.thread;
        (episode.acquired && other && released >= episode.began_ns).then_some(holder)
    });
    release.collect()
}
