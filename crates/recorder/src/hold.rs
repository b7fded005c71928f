//! Which locks a thread holds: for how long, and which it took under which.

use crate::brief::VERY_LONG;
use crate::clock;
use crate::detail::{self, Acquisition, Limit};
use crate::process::{HOLD_ONE_IN, add};
use crate::state::{HELD, Held, How, PAIRS, State, Waited};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use turnwise_recording::{ChunkKind, Edge, Entry, Episode, TALLY_HOLDER, TALLY_STACK, Thread};

/// Acquisitions of an entry that are all measured, while there are not too many entries: rare locks have hold times,
/// too.
pub(crate) const FIRST: u64 = 4;
/// Orders that one thread may note: 256 pages of them.
const ORDERS: u64 = 256 * turnwise_recording::PAGE / size_of::<Edge>() as u64;
/// [`State::top`]: no lock is held.
const NOTHING: u64 = 0;
/// [`State::top`]: `held` tells.
const OTHERS: u64 = 1;
/// [`State::top`]: with this bit, the wait before it is still to be counted. (Locks lie at multiples of 4.)
pub(crate) const PENDING: u64 = 2;

/// Counts an acquisition beforehand. `false`: its hold is to be measured, so nothing is counted.
#[inline(always)]
pub(crate) fn count(record: &Thread, entry: &Entry) -> bool {
    let (left, so_far) = (record.left.load(Relaxed), entry.acquisitions.load(Relaxed));
    if left == 1 {
        return false;
    }
    record.left.store(left.wrapping_sub(1), Relaxed);
    entry.acquisitions.store(so_far.wrapping_add(1), Relaxed);
    true
}

/// Takes that back.
pub(crate) fn uncount(record: &Thread, entry: &Entry) {
    record.left.store(record.left.load(Relaxed).wrapping_add(1), Relaxed);
    entry.acquisitions.store(entry.acquisitions.load(Relaxed).wrapping_sub(1), Relaxed);
}

/// The thread has its only lock, which is counted, and did not wait for it: the shortest way. `false`: it holds others.
/// (If a signal handler forked in between, the child changes memory that it does not look at before it has begun it.)
#[inline(always)]
pub(crate) fn acquired_only(state: &State, entry: &'static Entry, address: u64) -> bool {
    if state.top.load(Relaxed) != NOTHING {
        return false;
    }
    state.top_entry.store(ptr::from_ref(entry).cast_mut(), Relaxed);
    state.top.store(address, Relaxed);
    true
}

/// The same for a thread that holds others, in orders that it is known for: the short way. `ordered`: it would have
/// waited. `false`: there is more to do.
pub(crate) fn acquired(state: &State, entry: &'static Entry, address: u64, ordered: bool) -> bool {
    if !state.is_idle() {
        return false;
    }
    settle(state);
    let depth = state.depth.load(Relaxed);
    if depth >= HELD {
        return false;
    }
    let known = |held: &Held| {
        let other = held.entry.load(Relaxed).cast_const();
        let (slot, key) = pair(state, other, entry);
        slot.get() == key || address_of(other) == address
    };
    if ordered && state.orders.get() < ORDERS && !state.held[..depth].iter().all(known) {
        return false;
    }
    let held = &state.held[depth];
    // Twice: a signal handler that comes in between uses the same place, and has left it when we go on.
    for _ in 0..2 {
        held.entry.store(ptr::from_ref(entry).cast_mut(), Relaxed);
        held.since.set(0);
        set_depth(state, depth + 1);
    }
    true
}

/// Where the thread remembers that it took one lock under another, and what stands there then. Entries lie in a file of
/// 4 GB, so the lower halves of their addresses tell them apart.
fn pair(state: &State, first: *const Entry, second: *const Entry) -> (&Cell<u64>, u64) {
    const { assert!(turnwise_recording::FILE_BYTES <= 1 << 32) };
    let key = (first.addr() as u64) << 32 | u64::from(second.addr() as u32);
    (&state.pairs[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PAIRS], key)
}

/// Puts the only lock, if it came by the short way, where the others go.
fn settle(state: &State) {
    let top = state.top.load(Relaxed);
    if top > OTHERS {
        let held = &state.held[0];
        held.entry.store(state.top_entry.load(Relaxed), Relaxed);
        held.since.set(0);
        if top & PENDING != 0 {
            let (waited, at) = state.pending.get();
            held.how.set(How { contended: true, episode: ptr::null(), woken_by: 0, wait: Some(waited) });
            held.since.set(at);
        }
        set_depth(state, 1);
    }
}

fn set_depth(state: &State, depth: usize) {
    // ORDERING recorder.held: Release; a waiter that looks for the holder sees the lock before the depth.
    state.depth.store(depth, Release);
    state.top.store(if depth == 0 { NOTHING } else { OTHERS }, Relaxed);
}

/// The same, whatever there is to do. `ordered`: the thread would have waited for it.
pub(crate) fn acquired_slowly(state: &State, entry: &'static Entry, ordered: bool) {
    let record = state.record();
    let left = record.left.load(Relaxed).wrapping_sub(1);
    record.left.store(left, Relaxed);
    let so_far = entry.acquisitions.load(Relaxed);
    let since = if left == 0 || so_far < state.first.get() { sample(state, entry, left == 0, so_far) } else { 0 };
    push(state, entry, ordered, since, How { contended: false, episode: ptr::null(), woken_by: 0, wait: None });
}

/// Begins to measure a hold: ticks, or 0.
fn sample(state: &State, entry: &Entry, due: bool, so_far: u64) -> u64 {
    if due {
        let interval = state.interval(HOLD_ONE_IN);
        add(&state.record().ahead, u64::from(interval));
        state.record().left.store(interval, Relaxed);
    }
    let limit = if due { Limit::Samples } else { Limit::Rare };
    let Some(detail) = detail::of(state, &entry.detail, limit) else {
        if !due {
            state.first.set(0);
        }
        return 0;
    };
    let at = clock::ticks();
    let weight = if so_far < state.first.get() { 1 } else { HOLD_ONE_IN };
    detail::acquired(state, detail, Acquisition { at, weight, waited: None });
    at
}

/// The thread has a lock after a wait.
pub(crate) fn acquired_after(state: &State, entry: &'static Entry, since: u64, how: How) {
    // It is not one of those that the sample counts.
    add(&state.record().ahead, 1);
    push(state, entry, true, since, how);
}

/// The thread has a lock after a wait that is kept; its hold is measured.
pub(crate) fn acquired_measured(
    state: &State,
    entry: &'static Entry,
    at: u64,
    episode: *const Episode,
    waited: Waited,
) {
    // What took long is counted at once: nobody knows whether the release will be seen.
    let wait = (waited.ticks < VERY_LONG).then_some(waited);
    acquired_after(state, entry, at, How { contended: true, episode, woken_by: 0, wait });
    if wait.is_none() {
        waited.count(state, entry, at);
    }
}

/// The thread has a lock after a short wait that is kept by its length alone.
pub(crate) fn acquired_briefly(state: &State, entry: &'static Entry, address: u64, at: u64, waited: Waited) {
    if state.top.load(Relaxed) != NOTHING {
        let how = How { contended: true, episode: ptr::null(), woken_by: 0, wait: None };
        acquired_after(state, entry, 0, how);
        waited.count(state, entry, at);
        return;
    }
    add(&state.record().ahead, 1);
    add(&entry.acquisitions, 1);
    state.pending.set((waited, at));
    state.top_entry.store(ptr::from_ref(entry).cast_mut(), Relaxed);
    state.top.store(address | PENDING, Relaxed);
}

fn push(state: &State, entry: &'static Entry, ordered: bool, since: u64, how: How) {
    settle(state);
    add(&entry.acquisitions, 1);
    let mut since = since;
    let address = entry.address.load(Relaxed);
    for held in &state.held[..state.depth.load(Relaxed)] {
        let other = held.entry.load(Relaxed);
        if address_of(other) == address {
            // A recursive mutex or a reader again: the first hold is the one that is measured.
            since = 0;
        } else if ordered && !other.is_null() {
            note_order(state, other, entry);
        }
    }
    if state.depth.load(Relaxed) == HELD {
        remove(state, 0);
    }
    let depth = state.depth.load(Relaxed);
    let held = &state.held[depth];
    held.entry.store(ptr::from_ref(entry).cast_mut(), Relaxed);
    held.since.set(since);
    held.how.set(how);
    set_depth(state, depth + 1);
}

/// Where an entry's lock lies, also if another lies there now. 0: no entry.
#[inline(always)]
pub(crate) fn address_of(entry: *const Entry) -> u64 {
    // SAFETY: null or an entry, which stays where it is.
    unsafe { entry.as_ref() }.map_or(0, |entry| entry.address.load(Relaxed) & !1)
}

/// Keeps that one lock was taken under another, once per thread and pair of sites (more often if the cache of pairs is
/// too small).
fn note_order(state: &State, first: *const Entry, second: *const Entry) {
    let (slot, key) = pair(state, first, second);
    if slot.get() == key {
        return;
    }
    slot.set(key);
    if state.orders.get() >= ORDERS {
        return;
    }
    state.orders.set(state.orders.get() + 1);
    let Some(at) = state.edges.take(state, ChunkKind::Edges, size_of::<Edge>()) else { return };
    // SAFETY: room for it, aligned; zero bytes are one.
    let edge: &Edge = unsafe { &*at.cast() };
    edge.held.store(state.place_of(first), Relaxed);
    edge.acquired.store(state.place_of(second), Relaxed);
    edge.thread.store(state.index.get(), Relaxed);
    edge.seen.store(1, Relaxed);
    state.edges.publish();
}

/// The thread gives its only lock back: the shortest way. `false`: it is another.
#[inline(always)]
pub(crate) fn released_only(state: &State, address: u64) -> bool {
    let only = state.top.load(Relaxed) == address;
    if only {
        state.top.store(NOTHING, Relaxed);
    }
    only
}

/// A wait that is to be counted once the lock is free.
pub(crate) struct Pending {
    entry: *const Entry,
    waited: Waited,
    at: u64,
}

/// The thread gives its only lock back, which it had to wait for.
#[inline(always)]
pub(crate) fn released_pending(state: &State, address: u64) -> Option<Pending> {
    if state.top.load(Relaxed) != address | PENDING {
        return None;
    }
    let (waited, at) = state.pending.get();
    let entry = state.top_entry.load(Relaxed).cast_const();
    state.top.store(NOTHING, Relaxed);
    Some(Pending { entry, waited, at })
}

impl Pending {
    pub(crate) fn count(&self, state: &State) {
        // SAFETY: null or an entry, which stays where it is.
        if let Some(entry) = unsafe { self.entry.as_ref() } {
            self.waited.count(state, entry, self.at);
        }
    }
}

/// The thread gives a lock back: the short way. `false`: there is more to do.
pub(crate) fn released(state: &State, address: u64) -> bool {
    let depth = state.depth.load(Relaxed);
    let Some(held) = state.held.get(depth.wrapping_sub(1)) else { return depth == 0 };
    if held.since.get() != 0 || address_of(held.entry.load(Relaxed)) != address {
        return false;
    }
    set_depth(state, depth - 1);
    true
}

/// What is to be counted once the lock is free.
pub(crate) struct Later {
    entry: &'static Entry,
    since: u64,
    until: u64,
    how: How,
}

/// The same, whatever there is to do.
pub(crate) fn released_slowly(state: &State, address: u64) -> Option<Later> {
    settle(state);
    let index = find(state, address)?;
    let held = &state.held[index];
    let (since, how) = (held.since.get(), held.how.get());
    // SAFETY: `find` has seen it; entries stay where they are.
    let entry = unsafe { held.entry.load(Relaxed).as_ref() }?;
    remove(state, index);
    (since != 0).then(|| Later { entry, since, until: clock::ticks(), how })
}

impl Later {
    pub(crate) fn count(&self, state: &State) {
        let ticks = self.until.saturating_sub(self.since);
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { self.how.episode.as_ref() } {
            episode.released.store(self.until, Relaxed);
        }
        if let Some(wait) = self.how.wait {
            wait.count(state, self.entry, self.since);
        }
        for word in [&self.entry.detail, &state.record().detail] {
            if let Some(detail) = detail::of(state, word, Limit::Waits) {
                detail::held(detail, ticks, self.how.contended);
            }
        }
    }
}

impl Waited {
    /// Counts the wait for an acquisition at `at`.
    pub(crate) fn count(&self, state: &State, entry: &Entry, at: u64) {
        let what = Acquisition { at, weight: 1, waited: Some(self.ticks) };
        if let Some(detail) = detail::of(state, &state.record().detail, Limit::Waits) {
            detail::acquired(state, detail, what);
            self.events.count(detail);
        }
        let Some(detail) = detail::of(state, &entry.detail, Limit::Waits) else { return };
        detail::acquired(state, detail, what);
        self.events.count(detail);
        if let Some((stack, weight)) = self.stack {
            detail::tally(state, detail, TALLY_STACK, u64::from(stack), weight, self.ticks);
        }
        if let Some(holder) = self.holder {
            detail::tally(state, detail, TALLY_HOLDER, holder.site, holder.weight, self.ticks);
        }
    }
}

/// Takes one out.
fn remove(state: &State, index: usize) {
    let depth = state.depth.load(Relaxed);
    for (to, from) in state.held[index..depth].iter().zip(&state.held[index + 1..depth]) {
        to.entry.store(from.entry.load(Relaxed), Relaxed);
        to.since.set(from.since.get());
        to.how.set(from.how.get());
    }
    set_depth(state, depth - 1);
}

/// The place of a lock among those that the thread is known to hold.
fn find(state: &State, address: u64) -> Option<usize> {
    state.held[..state.depth.load(Relaxed)].iter().rposition(|held| address_of(held.entry.load(Relaxed)) == address)
}

/// The condition variable whose wait gave the thread this lock; 0: none did.
pub(crate) fn woken_by(state: &State, address: u64) -> u64 {
    let held = find(state, address).map(|index| &state.held[index]);
    held.filter(|held| held.since.get() != 0).map_or(0, |held| held.how.get().woken_by)
}
