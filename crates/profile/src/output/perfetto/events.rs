//! Slices and counters, in order of time.

use super::message::{Annotation, Kind, TrackEvent};
use super::tracks::Tracks;
use super::{HOLDER, HOLDER_SITE, Iids, SITE};
use crate::model::{Episode, LockId, Profile};

/// One end of a slice, or a change of a counter. They are in order of time; ends come before begins of the same moment.
pub(super) struct Event {
    pub(super) at: u64,
    rank: u8,
    pub(super) event: TrackEvent,
}

pub(super) fn all(profile: &Profile, iids: &Iids, tracks: &mut Tracks) -> Vec<Event> {
    let mut events = waits(profile, iids, tracks);
    events.extend(holds(profile, iids, tracks));
    events.extend(waiters(profile, tracks));
    events.sort_by_key(|event| (event.at, event.rank));
    events
}

fn lock_of(profile: &Profile, episode: &Episode) -> LockId {
    profile.sites[episode.site as usize].lock
}

/// Returns the episodes' numbers, ordered by a time.
fn ordered(profile: &Profile, by: fn(&Episode) -> u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..profile.episodes.len()).collect();
    order.sort_by_key(|&number| by(&profile.episodes[number]));
    order
}

fn waits(profile: &Profile, iids: &Iids, tracks: &mut Tracks) -> Vec<Event> {
    let mut events = Vec::new();
    for number in ordered(profile, |episode| episode.began_ns) {
        let episode = &profile.episodes[number];
        // A slice has a length.
        let (begin, end) = (episode.began_ns, episode.acquired_ns.max(episode.began_ns + 1));
        let mut notes = vec![annotation(SITE, iids.site_value(episode.site))];
        if let Some((thread, site)) = episode.holder {
            notes.push(annotation(HOLDER, Iids::thread_value(thread)));
            notes.push(annotation(HOLDER_SITE, iids.site_value(site)));
        }
        let track = tracks.wait(episode.thread, begin, end);
        slice(&mut events, (begin, end), on(track, Iids::wait(lock_of(profile, episode)), notes));
    }
    events
}

fn holds(profile: &Profile, iids: &Iids, tracks: &mut Tracks) -> Vec<Event> {
    let releases = releases(profile);
    let mut let_in = vec![Vec::new(); profile.episodes.len()];
    for (waiter, holder) in releases.iter().enumerate() {
        holder.iter().for_each(|&holder| let_in[holder].push(flow(waiter)));
    }
    let mut events = Vec::new();
    for number in ordered(profile, |episode| episode.acquired_ns) {
        let episode = &profile.episodes[number];
        let (true, Some(released)) = (episode.acquired, episode.released_ns) else { continue };
        let lock = lock_of(profile, episode);
        let (begin, end) = (episode.acquired_ns, released.max(episode.acquired_ns + 1));
        let notes = vec![annotation(SITE, iids.site_value(episode.site))];
        let event = TrackEvent {
            flow_ids: std::mem::take(&mut let_in[number]),
            terminating_flow_ids: releases[number].map(|_| flow(number)).into_iter().collect(),
            ..on(tracks.hold(episode.thread, begin, end), Iids::hold(lock), notes.clone())
        };
        slice(&mut events, (begin, end), event);
        if let Some(track) = tracks.holder(lock, begin, end) {
            slice(&mut events, (begin, end), on(track, iids.thread(episode.thread), notes));
        }
    }
    events
}

/// Returns the number of the arrow to a waiter.
fn flow(waiter: usize) -> u64 {
    waiter as u64 + 1
}

fn on(track: u64, name: u64, notes: Vec<Annotation>) -> TrackEvent {
    let (track_uuid, name_iid) = (Some(track), Some(name));
    TrackEvent { debug_annotations: notes, name_iid, track_uuid, ..TrackEvent::default() }
}

fn slice(events: &mut Vec<Event>, (begin, end): (u64, u64), event: TrackEvent) {
    let track_uuid = event.track_uuid;
    events.push(Event { at: begin, rank: 1, event: TrackEvent { r#type: Some(Kind::Begin.into()), ..event } });
    let event = TrackEvent { r#type: Some(Kind::End.into()), track_uuid, ..TrackEvent::default() };
    events.push(Event { at: end, rank: 0, event });
}

fn annotation(name: u64, value: u64) -> Annotation {
    Annotation { name_iid: Some(name), string_value_iid: Some(value) }
}

/// Returns how many threads wait for each busy lock, over time.
fn waiters(profile: &Profile, tracks: &mut Tracks) -> Vec<Event> {
    let mut changes: Vec<(u64, i64, LockId)> = Vec::new();
    for episode in &profile.episodes {
        let lock = lock_of(profile, episode);
        changes.extend([(episode.began_ns, 1, lock), (episode.acquired_ns, -1, lock)]);
    }
    // A wait that begins when another ends is counted first: the number is never negative.
    changes.sort_unstable_by_key(|&(at, change, _)| (at, -change));
    let mut now = vec![0; profile.locks.len()];
    let mut events = Vec::new();
    for (at, change, lock) in changes {
        let waiting = &mut now[lock as usize];
        *waiting += change;
        let Some(track) = tracks.waiters(lock) else { continue };
        let (kind, counter_value) = (Some(Kind::Counter.into()), Some(*waiting));
        let event = TrackEvent { r#type: kind, counter_value, track_uuid: Some(track), ..TrackEvent::default() };
        events.push(Event { at, rank: 2, event });
    }
    events
}

/// Returns for each wait (by its number) the wait whose hold ended last before it was over: its release let this one
/// in. Only holds that follow a wait are known individually.
fn releases(profile: &Profile) -> Vec<Option<usize>> {
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
