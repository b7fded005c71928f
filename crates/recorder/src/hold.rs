//! Which locks a thread holds: for how long, and which it took under which.

use crate::detail::{self, Acquisition, Limit};
use crate::process::HOLD_ONE_IN;
use crate::state::{HELD, Held, PAIRS, State};
use crate::{clock, process};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use turnwise_recording::{ChunkKind, Edge, Entry, Episode};

/// Acquisitions of an entry that are all measured: rare locks have hold times, too.
const FIRST: u64 = 4;

/// What a contended acquisition has besides.
#[derive(Clone, Copy)]
pub(crate) struct Contended {
    pub(crate) episode: *const Episode,
}

/// The thread has a lock that it did not wait for.
#[inline(always)]
pub(crate) fn acquired(state: &State, address: u64, entry: &'static Entry, ordered: bool) {
    let so_far = entry.acquisitions.load(Relaxed);
    let left = state.countdown.get() - 1;
    state.countdown.set(left);
    let since = if left == 0 || so_far < FIRST { sample(state, entry, left == 0, so_far) } else { 0 };
    push(state, address, entry, ordered, since, None);
}

/// Begins to measure a hold: ticks, or 0.
#[cold]
fn sample(state: &State, entry: &Entry, due: bool, so_far: u64) -> u64 {
    if due {
        state.countdown.set(state.interval(HOLD_ONE_IN));
    }
    let Some(detail) = detail::of(state, &entry.detail, Limit::Samples) else { return 0 };
    let at = clock::ticks();
    let weight = if so_far < FIRST { 1 } else { HOLD_ONE_IN };
    detail::acquired(state, detail, Acquisition { at, weight, waited: None });
    at
}

/// The thread has a lock. `ordered`: it would have waited for it, so the order in which it takes locks matters.
#[inline(always)]
pub(crate) fn push(
    state: &State,
    address: u64,
    entry: &'static Entry,
    ordered: bool,
    since: u64,
    contended: Option<Contended>,
) {
    process::add(&entry.acquisitions, 1);
    process::add(&state.record().acquisitions, 1);
    let depth = state.depth.load(Relaxed);
    let mut since = since;
    let depth = if depth == 0 { 0 } else { nested(state, address, entry, ordered, &mut since) };
    let held = &state.held[depth % HELD];
    held.address.store(address, Relaxed);
    held.entry.store(ptr::from_ref(entry).cast_mut(), Relaxed);
    held.since.set(since);
    held.woken_by.set(0);
    held.contended.set(contended.is_some());
    held.episode.set(contended.map_or(ptr::null(), |contended| contended.episode));
    // ORDERING recorder.held: Release; a waiter that looks for the holder sees the lock before the depth.
    state.depth.store(depth + 1, Release);
}

/// The same for a thread that holds others: how many it holds besides.
#[cold]
fn nested(state: &State, address: u64, entry: &'static Entry, ordered: bool, since: &mut u64) -> usize {
    let depth = state.depth.load(Relaxed);
    for held in &state.held[..depth] {
        if held.address.load(Relaxed) == address {
            // A recursive mutex or a reader again: the first hold is the one that is measured.
            *since = 0;
        } else if ordered {
            note_order(state, held.entry.load(Relaxed), entry);
        }
    }
    if depth < HELD {
        return depth;
    }
    remove(state, 0);
    depth - 1
}

/// Keeps that one lock was taken under another, once per thread and pair of sites (more often if the cache of pairs is
/// too small).
fn note_order(state: &State, first: *const Entry, second: *const Entry) {
    let (first, second) = (state.place_of(first), state.place_of(second));
    let key = u64::from(first) << 32 | u64::from(second);
    let index = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PAIRS;
    if state.pairs[index].get() == key {
        return;
    }
    state.pairs[index].set(key);
    /// Pages of orders that one thread may fill.
    const MOST: u64 = 256;
    if state.orders.get() >= MOST * turnwise_recording::PAGE / size_of::<Edge>() as u64 {
        return;
    }
    state.orders.set(state.orders.get() + 1);
    let Some(at) = state.edges.take(state, ChunkKind::Edges, size_of::<Edge>()) else { return };
    // SAFETY: room for it, aligned; zero bytes are one.
    let edge: &Edge = unsafe { &*at.cast() };
    edge.held.store(first, Relaxed);
    edge.acquired.store(second, Relaxed);
    edge.thread.store(state.index.get(), Relaxed);
    edge.seen.store(1, Relaxed);
    state.edges.publish();
}

/// The thread gives a lock back. Returns the condition variable whose wait it had it from, and the entry; `None`: it was
/// not known to hold it.
#[inline(always)]
pub(crate) fn released(state: &State, address: u64) -> Option<(u64, *const Entry)> {
    let depth = state.depth.load(Relaxed);
    let index = depth.wrapping_sub(1);
    let index = match state.held.get(index) {
        Some(held) if held.address.load(Relaxed) == address => index,
        _ => further_down(state, address)?,
    };
    let held = &state.held[index % HELD];
    if held.since.get() != 0 {
        measure(state, held);
    }
    let found = (held.woken_by.get(), held.entry.load(Relaxed).cast_const());
    if index + 1 == depth {
        state.depth.store(index, Relaxed);
    } else {
        remove(state, index);
    }
    Some(found)
}

/// A lock that was not taken last.
#[cold]
fn further_down(state: &State, address: u64) -> Option<usize> {
    state.held[..state.depth.load(Relaxed)].iter().rposition(|held| held.address.load(Relaxed) == address)
}

#[cold]
fn measure(state: &State, held: &Held) {
    let now = clock::ticks();
    let ticks = now.saturating_sub(held.since.get());
    // SAFETY: null, or an episode in the file.
    if let Some(episode) = unsafe { held.episode.get().as_ref() } {
        episode.released.store(now, Relaxed);
    }
    // SAFETY: entries stay where they are.
    let entry = unsafe { &*held.entry.load(Relaxed) };
    for word in [&entry.detail, &state.record().detail] {
        if let Some(detail) = detail::of(state, word, Limit::Waits) {
            detail::held(detail, ticks, held.contended.get());
        }
    }
}

/// Takes one out of the middle.
fn remove(state: &State, index: usize) {
    let depth = state.depth.load(Relaxed);
    for (to, from) in state.held[index..depth].iter().zip(&state.held[index + 1..depth]) {
        to.address.store(from.address.load(Relaxed), Relaxed);
        to.entry.store(from.entry.load(Relaxed), Relaxed);
        to.since.set(from.since.get());
        to.episode.set(from.episode.get());
        to.woken_by.set(from.woken_by.get());
        to.contended.set(from.contended.get());
    }
    state.depth.store(depth - 1, Relaxed);
}

/// Whether the thread is known to hold a lock: its place among the held ones.
pub(crate) fn find(state: &State, address: u64) -> Option<&Held> {
    further_down(state, address).map(|index| &state.held[index])
}
