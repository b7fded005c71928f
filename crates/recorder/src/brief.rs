//! Short and frequent waits. To look at who has the lock and from where the caller comes would take longer than they
//! do, and disturb the holder. Of them 1 in [`STACK_ONE_IN`] is kept whole; all are counted, with their lengths, and
//! those that turn out to be long are kept one by one, with the stacks of a sample and of the very long.

use crate::acquire::{self, Place, Waits};
use crate::events::Before;
use crate::hold;
use crate::holder;
use crate::process::{LONG_STACK_ONE_IN, STACK_ONE_IN, add};
use crate::state::{Short, State, Waited, enter};
use crate::{clock, memory, stacks, table};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_recording::{ACQUIRED, Entry, Episode, Op, Ref};

/// Waits of a thread at a site that are all kept whole.
pub(crate) const FIRST: u64 = 64;
/// Length from which on a wait is kept, and mean length from which on all are, whole: about 100 us of either clock.
/// They are then rare enough.
pub(crate) const LONG: u64 = 200_000;
/// Length from which on what is done with the lock held is a small part of a wait: about 1 ms.
pub(crate) const VERY_LONG: u64 = 10 * LONG;

/// How a wait is to be recorded.
pub(crate) enum Choice {
    /// With stack, holder and hold time.
    Whole,
    /// The same; it stands for so many.
    Sampled(u32),
    /// By its length.
    Brief(Brief),
}

/// A wait under way.
pub(crate) struct Brief {
    place: Place,
    entry: &'static Entry,
    /// Where it is to be seen as long as it lasts.
    episode: *const Episode,
    /// Thread number of the holder; 0: not known.
    owner: u32,
    before: Before,
    began: u64,
}

/// Begins a wait, if it is likely to be one of many short ones. `entry`: its entry, if that is known.
pub(crate) fn choose(place: Place, entry: Option<&'static Entry>) -> Choice {
    // Before others change the lock again, which takes it from this processor's cache.
    let owner = holder::written_owner(place.kind, place.address).unwrap_or(0);
    let Some(state) = enter() else { return Choice::Whole };
    let entry = entry.filter(|entry| state.has(entry));
    let found = entry.or_else(|| table::find(&state, place.kind, place.address, place.site));
    let Some(entry) = found else { return Choice::Whole };
    let waits = Waits::of(&state, entry);
    if waits.number < FIRST || waits.are_long() {
        return Choice::Whole;
    }
    if state.is_stack_due() {
        return Choice::Sampled(STACK_ONE_IN);
    }
    state.waits.set(state.waits.get() + 1);
    let episode = under_way(&state, entry);
    let before = Before::look(place.kind, place.address, false);
    let began = clock::ticks();
    // SAFETY: null, or an episode in the file.
    if let Some(episode) = unsafe { episode.as_ref() } {
        episode.began.store(began, Relaxed);
        episode.entry.store(state.place_of(entry), Relaxed);
    }
    Choice::Brief(Brief { place, entry, episode, owner, before, began })
}

/// An episode that the thread keeps for what is under way: its entry is 0 in between, and readers pass it by.
fn under_way(state: &State, entry: &'static Entry) -> *const Episode {
    if state.under_way.get().is_null() {
        let episode = acquire::episode(state, entry, None, None);
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { episode.as_ref() } {
            episode.entry.store(0, Relaxed);
            state.episodes.publish();
        }
        state.under_way.set(episode);
    }
    // SAFETY: as above.
    if let Some(episode) = unsafe { state.under_way.get().as_ref() } {
        episode.thread.store(state.index.get(), Relaxed);
    }
    state.under_way.get()
}

impl Brief {
    pub(crate) fn end(&self, result: c_int) {
        let at = clock::ticks();
        let Some(state) = enter() else { return };
        let has = acquire::has(result);
        let events = self.before.until_now(self.place.kind, self.place.address);
        let wait = Short { ticks: at.saturating_sub(self.began), events };
        if wait.ticks >= LONG {
            return self.end_late(&state, at, result, wait);
        }
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { self.episode.as_ref() } {
            episode.entry.store(0, Relaxed);
        }
        add(&state.record().dropped, 1);
        if self.counts(&state, has) {
            hold::acquired_briefly(&state, self.entry, at, wait);
        } else if acquire::gave_up(result) {
            wait.count_in_vain(&state, self.entry, at);
        }
    }

    /// It was a long one.
    #[cold]
    fn end_late(&self, state: &State, at: u64, result: c_int, wait: Short) {
        let has = acquire::has(result);
        let mut waited = Waited { wait, stack: None, holder: None };
        let kept = self.keep(state, &mut waited, at, has);
        if self.counts(state, has) {
            hold::acquired_measured(state, self.entry, at, kept, waited);
        } else if acquire::gave_up(result) {
            waited.count_in_vain(state, self.entry, at);
        }
    }

    /// Counts what became of it; whether the thread has the lock.
    fn counts(&self, state: &State, has: bool) -> bool {
        if !has {
            acquire::count_failure(state, self.place);
        } else if self.place.is_read() {
            add(&state.record().reads, 1);
        }
        has
    }

    /// The stack, and the waits that it stands for. The others wait meanwhile, as the lock is held by now.
    fn stack(&self, state: &State, ticks: u64) -> Option<(Ref, u32)> {
        let stands_for = match ticks {
            VERY_LONG.. => 1,
            _ if state.is_long_stack_due() => LONG_STACK_ONE_IN,
            _ => return None,
        };
        let (_, first) = Op::split(self.place.site)?;
        let stack = memory::keeping_errno(|| stacks::take(state, first));
        (stack != 0).then_some((stack, stands_for))
    }

    /// It was a long one: what can still be known of it.
    fn keep(&self, state: &State, waited: &mut Waited, at: u64, has: bool) -> *const Episode {
        waited.stack = self.stack(state, waited.wait.ticks);
        waited.holder = holder::lately(state, self.owner, self.place.address);
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { self.episode.as_ref() } {
            acquire::describe(episode, waited.stack, waited.holder);
            episode.acquired.store(at, Relaxed);
            episode.flags.store(if has { ACQUIRED } else { 0 }, Relaxed);
        }
        state.under_way.set(ptr::null());
        self.episode
    }
}

impl Waited {
    /// Of sampled waits, those that are long stand for themselves: all of them are kept. Holders that had to be
    /// searched for are known of the sampled ones alone.
    pub(crate) fn weigh(&mut self, one_in: u32, searched: bool) {
        let weight = if self.wait.ticks >= LONG { 1 } else { one_in };
        if let Some((_, stands_for)) = &mut self.stack {
            *stands_for = weight;
        }
        if let Some(holder) = &mut self.holder {
            holder.weight = if searched { one_in } else { weight };
        }
    }
}
