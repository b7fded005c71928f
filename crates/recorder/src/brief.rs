//! Short and frequent waits. Finding the lock's holder and the caller's stack would take longer than the wait, and
//! disturb the holder. 1 in [`STACK_ONE_IN`] of them is kept whole; all are counted, with their lengths, and those that
//! turn out to be long are kept individually, with stacks for a sample and for the very long.

use crate::acquire::{self, Acquisition};
use crate::episodes;
use crate::events::Before;
use crate::holder;
use crate::mapping::add;
use crate::sampling::{LONG_STACK_ONE_IN, STACK_ONE_IN};
use crate::state::{State, enter};
use crate::waits::{self, BriefWait, PastWaits, WholeWait};
use crate::{clock, memory, stacks};
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_recording::{ACQUIRED, Entry, Episode, Op, Ref};

/// The way in which a wait is to be recorded.
pub(crate) enum Choice {
    /// With stack, holder and hold time.
    Whole,
    /// With stack, holder and hold time, as one of this many waits.
    Sampled(u32),
    /// By its length only.
    Brief(Brief),
}

/// A wait under way.
pub(crate) struct Brief {
    place: Acquisition,
    entry: &'static Entry,
    /// The episode that shows the wait while it lasts.
    episode: *const Episode,
    /// Thread number of the holder; 0: not known.
    owner: u32,
    before: Before,
    began: u64,
}

/// Begins a wait, if it is likely to be one of many short ones. `entry`: its entry, if known.
pub(crate) fn choose(place: Acquisition, entry: Option<&'static Entry>) -> Choice {
    // Read before others change the lock again, which takes it from this processor's cache.
    let owner = holder::written_owner(place.class, place.address).unwrap_or(0);
    let Some(state) = enter() else { return Choice::Whole };
    let entry = entry.filter(|entry| state.writer.mapping().has(*entry));
    let found = entry.or_else(|| state.entry(place.class, place.address, place.site));
    let Some(entry) = found else { return Choice::Whole };
    let past = PastWaits::of(&state.writer, entry);
    if past.number < waits::FIRST || past.are_long() {
        return Choice::Whole;
    }
    if state.sampling.is_stack_due() {
        return Choice::Sampled(STACK_ONE_IN);
    }
    state.sampling.count_wait();
    let episode = state.episodes.for_brief_waits((&state.writer, &state.sampling), entry);
    let before = Before::look(place.class, place.address, false);
    let began = clock::ticks();
    // SAFETY: null, or an episode in the file.
    if let Some(episode) = unsafe { episode.as_ref() } {
        episode.began.store(began, Relaxed);
        episode.entry.store(state.writer.mapping().place_of(entry), Relaxed);
    }
    Choice::Brief(Brief { place, entry, episode, owner, before, began })
}

impl Brief {
    pub(crate) fn end(&self, result: c_int) {
        let at = clock::ticks();
        let Some(state) = enter() else { return };
        state.steps.waited_for(self.began, at);
        let has = acquire::has(result);
        let events = self.before.until_now(self.place.class, self.place.address);
        let wait = BriefWait { ticks: at.saturating_sub(self.began), events };
        if waits::is_long(wait.ticks) {
            return self.end_late(&state, at, result, wait);
        }
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { self.episode.as_ref() } {
            episode.entry.store(0, Relaxed);
        }
        add(&state.writer.record().dropped, 1);
        if self.counts(&state, has) {
            state.holds().push_after_brief_wait(self.entry, at, wait);
        } else if acquire::gave_up(result) {
            wait.count_failed(&state.writer, self.entry, at);
        }
    }

    /// Ends a wait that turned out to be long.
    #[cold]
    fn end_late(&self, state: &State, at: u64, result: c_int, wait: BriefWait) {
        let has = acquire::has(result);
        let mut waited = WholeWait { wait, stack: None, holder: None };
        let kept = self.keep(state, &mut waited, at, has);
        if self.counts(state, has) {
            state.holds().push_after_whole_wait(self.entry, at, kept, waited);
        } else if acquire::gave_up(result) {
            waited.count_failed(&state.writer, self.entry, at);
        }
    }

    /// Counts the wait's end; `has`: whether the thread has the lock, which it returns.
    fn counts(&self, state: &State, has: bool) -> bool {
        if !has {
            acquire::count_failure(state, self.place);
        } else if self.place.is_read() {
            add(&state.writer.record().reads, 1);
        }
        has
    }

    /// Returns the stack, and the number of waits that it stands for. Other threads wait meanwhile: the lock is held.
    fn stack(&self, state: &State, ticks: u64) -> Option<(Ref, u32)> {
        let stands_for = match ticks {
            _ if waits::is_very_long(ticks) => 1,
            _ if state.sampling.is_long_stack_due() => LONG_STACK_ONE_IN,
            _ => return None,
        };
        let (_, first) = Op::split(self.place.site)?;
        let stack = memory::keeping_errno(|| stacks::take(&state.writer, first));
        (stack != 0).then_some((stack, stands_for))
    }

    /// Keeps what can still be known of a wait that turned out to be long.
    fn keep(&self, state: &State, waited: &mut WholeWait, at: u64, has: bool) -> *const Episode {
        waited.stack = self.stack(state, waited.wait.ticks);
        waited.holder = state.process().peers.lately(self.owner, self.place.address);
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { self.episode.as_ref() } {
            episodes::describe(episode, waited.stack, waited.holder);
            episode.acquired.store(at, Relaxed);
            episode.flags.store(if has { ACQUIRED } else { 0 }, Relaxed);
        }
        state.episodes.keep_brief_wait();
        self.episode
    }
}
