//! Which locks a thread holds: for how long, and which it took under which.

use crate::brief::VERY_LONG;
use crate::clock;
use crate::detail::{self, Acquisition, Limit};
use crate::process::{HOLD_ONE_IN, add};
use crate::state::{self, CONTEXTS, HELD, Held, How, Measured, PAIRS, Short, State, Waited};
use core::cell::Cell;
use core::hint::cold_path;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use core::sync::atomic::compiler_fence;
use turnwise_recording::{
    ChunkKind, Detail, Edge, Entry, Episode, TALLY_HOLDER, TALLY_LOOKED, TALLY_OFF_CPU, TALLY_STACK, Thread,
};

/// Acquisitions of an entry that are all measured, while there are not too many entries: rare locks have hold times,
/// too.
pub(crate) const FIRST: u64 = 4;
/// Orders that one thread may note: 256 pages of them.
const ORDERS: u64 = 256 * turnwise_recording::PAGE / size_of::<Edge>() as u64;
/// [`Held::lock`]: something is to be counted after the release. (Locks lie at multiples of 4.)
const LATER: u64 = 2;
/// The same, if that is a short wait alone.
const BRIEF: u64 = 1;
/// 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The same by the root of 2. (Another than that of the table: it need not be kept from before the call.)
const MIX: u64 = 0xb504_f333_f9de_6485;

/// Counts an acquisition beforehand. `false`: its hold is to be measured, so nothing is counted.
#[inline(always)]
pub(crate) fn count(record: &Thread, entry: &Entry) -> bool {
    let (left, so_far) = (record.left.load(Relaxed), entry.acquisitions.load(Relaxed));
    if left == 1 {
        cold_path();
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

impl Held {
    /// Where its lock lies.
    #[inline(always)]
    pub(crate) fn address(&self) -> u64 {
        self.lock.load(Relaxed) & !(LATER | BRIEF)
    }

    #[inline(always)]
    fn set(&self, lock: u64, entry: *const Entry, context: u64) {
        self.entry.store(entry.cast_mut(), Relaxed);
        self.context.store(context, Relaxed);
        self.lock.store(lock, Relaxed);
    }
}

/// Writes a lock that the thread is about to try where it will stand if the thread gets it. `ordered`: it would wait.
/// `false`: it holds others, and takes this one under them for the first time; or it holds too many.
#[inline(always)]
pub(crate) fn announce(state: &State, entry: &Entry, address: u64, ordered: bool) -> bool {
    let depth = state.depth.load(Relaxed);
    if depth >= HELD {
        return false;
    }
    let context = context(&state.held[depth], depth, entry);
    if depth != 0 && ordered && entry.mutex_or_under.load(Relaxed) != context {
        if known(state, context).get() != context {
            return false;
        }
        entry.mutex_or_under.store(context, Relaxed);
    }
    state.held[depth + 1].set(address, entry, context);
    true
}

/// The same for a thread that may know each of the others that it holds by itself.
pub(crate) fn announce_slowly(state: &State, entry: &Entry, address: u64, ordered: bool) -> bool {
    let depth = state.depth.load(Relaxed);
    if depth >= HELD {
        return false;
    }
    let is_known = |held: &Held| {
        let (slot, key) = pair(state, held.entry.load(Relaxed), entry);
        slot.get() == key || held.address() == address
    };
    if ordered && state.held[1..=depth].iter().all(is_known) {
        let context = context(&state.held[depth], depth, entry);
        known(state, context).set(context);
    }
    announce(state, entry, address, ordered)
}

/// The thread has the lock that it announced, and did not wait for it. (If a signal handler forked in between, the
/// child changes memory that it does not look at before it has begun it.)
#[inline(always)]
pub(crate) fn acquired(state: &State, entry: &Entry, address: u64) {
    let depth = state.depth.load(Relaxed);
    let Some(held) = state.held.get(depth + 1) else { return };
    set_depth(state, depth + 1);
    compiler_fence(SeqCst);
    // A signal handler that came in between used the same place, and has left it: those that come now use the next.
    if !ptr::eq(held.entry.load(Relaxed), entry) {
        cold_path();
        held.set(address, entry, context(&state.held[depth], depth, entry));
    }
}

/// What stands for an entry, all those that the thread holds below it, and the thread. `top`: the last of these.
#[inline(always)]
fn context(top: &Held, depth: usize, entry: *const Entry) -> u64 {
    let own = entry.addr() as u64;
    match depth {
        0 => own ^ top.context.load(Relaxed),
        _ => (top.context.load(Relaxed).rotate_left(32) ^ own).wrapping_mul(MIX),
    }
}

/// Where the thread remembers that it took a lock under all others of a context.
#[inline(always)]
fn known(state: &State, context: u64) -> &Cell<u64> {
    &state.contexts[(context >> (64 - CONTEXTS.ilog2())) as usize]
}

/// Where the thread remembers that it took one lock under another, and what stands there then. Entries lie in a file of
/// 4 GB, so the lower halves of their addresses tell them apart.
fn pair(state: &State, first: *const Entry, second: *const Entry) -> (&Cell<u64>, u64) {
    const { assert!(turnwise_recording::FILE_BYTES <= 1 << 32) };
    let key = (first.addr() as u64) << 32 | u64::from(second.addr() as u32);
    (&state.pairs[(key.wrapping_mul(SPREAD) >> 32) as usize % PAIRS], key)
}

#[inline(always)]
fn set_depth(state: &State, depth: usize) {
    // ORDERING recorder.held: Release; a waiter that looks for the holder sees the lock before the depth.
    state.depth.store(depth, Release);
}

/// The same, whatever there is to do. `ordered`: the thread would have waited for it.
pub(crate) fn acquired_slowly(state: &State, entry: &'static Entry, ordered: bool) {
    let record = state.record();
    let left = record.left.load(Relaxed).wrapping_sub(1);
    record.left.store(left, Relaxed);
    let so_far = entry.acquisitions.load(Relaxed);
    let single = so_far < state.first.get();
    let since = if left == 0 || single { sample(state, entry, left == 0, single) } else { 0 };
    let stands_for = if single { Measured::Single } else { Measured::Sampled };
    let measured = (since != 0).then_some(stands_for);
    let how = How { measured, episode: ptr::null(), woken_by: 0, wait: None };
    push(state, entry, ordered, note(since, how));
}

/// Begins to measure a hold: ticks, or 0.
fn sample(state: &State, entry: &Entry, due: bool, single: bool) -> u64 {
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
    let weight = if single { 1 } else { HOLD_ONE_IN };
    detail::acquired(state, detail, Acquisition { at, weight, waited: None });
    at
}

/// The thread has a lock after a wait.
pub(crate) fn acquired_after(state: &State, entry: &'static Entry, since: u64, how: How) {
    // It is not one of those that the sample counts.
    add(&state.record().ahead, 1);
    push(state, entry, true, note(since, how));
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
    let wait = (waited.wait.ticks < VERY_LONG).then_some(waited);
    acquired_after(state, entry, at, How { measured: Some(Measured::Contended), episode, woken_by: 0, wait });
    if wait.is_none() {
        waited.count(state, entry, at);
    }
}

/// The thread has a lock after a short wait.
pub(crate) fn acquired_briefly(state: &State, entry: &'static Entry, at: u64, wait: Short) {
    add(&state.record().ahead, 1);
    push(state, entry, true, |later, _| {
        later.since.set(at);
        later.brief.set(wait);
        BRIEF
    });
}

/// Notes what is to be counted after the release, if anything is. `since`: ticks at the acquisition.
fn note(since: u64, mut how: How) -> impl FnOnce(&state::Later, bool) -> u64 {
    move |later, again| {
        // A recursive mutex or a reader again: the first hold is the one that is measured.
        how.measured = how.measured.filter(|_| !again);
        if how.measured.is_none() && how.wait.is_none() {
            return 0;
        }
        later.since.set(since);
        later.how.set(how);
        LATER
    }
}

/// `note`: is told whether the thread had it already, and answers with bits of [`Held::lock`].
fn push(state: &State, entry: &'static Entry, ordered: bool, note: impl FnOnce(&state::Later, bool) -> u64) {
    add(&entry.acquisitions, 1);
    let address = entry.address.load(Relaxed);
    let mut depth = state.depth.load(Relaxed);
    let mut context = self::context(&state.held[depth], depth, entry);
    // Whether it was taken under these before: then their orders are noted.
    let seen = entry.mutex_or_under.load(Relaxed) == context;
    let mut again = false;
    for held in &state.held[1..=depth] {
        if held.address() == address {
            again = true;
        } else if ordered && !seen {
            note_order(state, held.entry.load(Relaxed), entry);
        }
    }
    if depth == HELD {
        remove(state, 1);
        depth -= 1;
        context = self::context(&state.held[depth], depth, entry);
    }
    if ordered && !seen && depth != 0 {
        known(state, context).set(context);
        entry.mutex_or_under.store(context, Relaxed);
    }
    let bits = note(&state.later[depth], again);
    state.held[depth + 1].set(address | bits, entry, context);
    set_depth(state, depth + 1);
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

/// The thread gives the lock back that it took last, and nothing is to be counted: the short way. `false`: it is
/// another.
#[inline(always)]
pub(crate) fn released(state: &State, address: u64) -> bool {
    let depth = state.depth.load(Relaxed);
    // Before the first there is one that is never held.
    let last = state.held.get(depth).is_some_and(|held| held.lock.load(Relaxed) == address);
    if last {
        state.depth.store(depth.wrapping_sub(1), Relaxed);
    }
    last
}

/// What is to be counted once the lock is free.
pub(crate) struct Later {
    entry: &'static Entry,
    since: u64,
    until: u64,
    what: What,
}

enum What {
    Wait(Short),
    How(How),
}

/// The same, whatever there is to do.
pub(crate) fn released_slowly(state: &State, address: u64) -> Option<Later> {
    let index = find(state, address)?;
    let held = &state.held[index];
    // SAFETY: null or an entry, which stays where it is.
    let entry = unsafe { held.entry.load(Relaxed).as_ref() };
    let later = entry.and_then(|entry| {
        let later = &state.later[index - 1];
        let (until, what) = match held.lock.load(Relaxed) & (LATER | BRIEF) {
            BRIEF => (0, What::Wait(later.brief.get())),
            LATER => {
                let how = later.how.get();
                (if how.measured.is_some() { clock::ticks() } else { 0 }, What::How(how))
            }
            _ => return None,
        };
        Some(Later { entry, since: later.since.get(), until, what })
    });
    remove(state, index);
    later
}

impl Later {
    pub(crate) fn count(&self, state: &State) {
        let how = match &self.what {
            What::Wait(wait) => {
                wait.count(state, self.entry, self.since);
                return;
            }
            What::How(how) => how,
        };
        if let Some(wait) = how.wait {
            wait.count(state, self.entry, self.since);
        }
        let Some(measured) = how.measured else { return };
        let ticks = self.until.saturating_sub(self.since);
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { how.episode.as_ref() } {
            episode.released.store(self.until, Relaxed);
        }
        for word in [&self.entry.detail, &state.record().detail] {
            if let Some(detail) = detail::of(state, word, Limit::Waits) {
                detail::held(detail, ticks, measured);
            }
        }
    }
}

impl Short {
    /// Counts the wait for an acquisition at `at`; answers the site's distributions.
    fn count(&self, state: &State, entry: &Entry, at: u64) -> Option<&'static Detail> {
        let what = Acquisition { at, weight: 1, waited: Some(self.ticks) };
        in_both(state, entry, |detail| {
            detail::acquired(state, detail, what);
            self.events.count(detail);
        })
    }

    /// Counts a wait that was given up at `at`: its time, but no acquisition.
    pub(crate) fn count_in_vain(&self, state: &State, entry: &Entry, at: u64) -> Option<&'static Detail> {
        in_both(state, entry, |detail| detail::gave_up(state, detail, at, self.ticks))
    }
}

/// Counts in the thread's distributions and the site's; answers the latter.
fn in_both(state: &State, entry: &Entry, count: impl Fn(&Detail)) -> Option<&'static Detail> {
    let [_, detail] =
        [&state.record().detail, &entry.detail].map(|word| detail::of(state, word, Limit::Waits).inspect(|d| count(d)));
    detail
}

impl Waited {
    /// Counts the wait for an acquisition at `at`.
    pub(crate) fn count(&self, state: &State, entry: &Entry, at: u64) {
        if let Some(detail) = self.wait.count(state, entry, at) {
            self.tally(state, detail);
        }
    }

    /// The same for a wait that was given up.
    pub(crate) fn count_in_vain(&self, state: &State, entry: &Entry, at: u64) {
        if let Some(detail) = self.wait.count_in_vain(state, entry, at) {
            self.tally(state, detail);
        }
    }

    fn tally(&self, state: &State, detail: &Detail) {
        if let Some((stack, weight)) = self.stack {
            detail::tally(state, detail, TALLY_STACK, u64::from(stack), weight, self.wait.ticks);
        }
        if let Some(holder) = self.holder {
            let tally = |kind| detail::tally(state, detail, kind, holder.site, holder.weight, self.wait.ticks);
            tally(TALLY_HOLDER);
            if let Some(off_cpu) = holder.off_cpu {
                tally(TALLY_LOOKED);
                if off_cpu {
                    tally(TALLY_OFF_CPU);
                }
            }
        }
    }
}

/// Takes one out.
fn remove(state: &State, index: usize) {
    let depth = state.depth.load(Relaxed);
    for to in index..depth {
        let from = &state.held[to + 1];
        let entry = from.entry.load(Relaxed);
        let (at, later) = (&state.later[to - 1], &state.later[to]);
        match from.lock.load(Relaxed) & (LATER | BRIEF) {
            BRIEF => at.brief.set(later.brief.get()),
            LATER => at.how.set(later.how.get()),
            _ => (),
        }
        at.since.set(later.since.get());
        state.held[to].set(from.lock.load(Relaxed), entry, context(&state.held[to - 1], to - 1, entry));
    }
    set_depth(state, depth - 1);
}

/// The place of a lock among those that the thread is known to hold.
fn find(state: &State, address: u64) -> Option<usize> {
    (1..=state.depth.load(Relaxed)).rfind(|index| state.held[*index].address() == address)
}

/// The condition variable whose wait gave the thread this lock; 0: none did.
pub(crate) fn woken_by(state: &State, address: u64) -> u64 {
    let index = find(state, address).filter(|index| state.held[*index].lock.load(Relaxed) & LATER != 0);
    index.map_or(0, |index| state.later[index - 1].how.get().woken_by)
}
