//! Short and frequent waits. Finding the lock's holder and the caller's stack would take longer than the wait, and
//! disturb the holder. 1 in [`STACK_ONE_IN`] of them is kept whole; all are counted, with their lengths, and those that
//! turn out to be long are kept individually, with stacks for a sample and for the very long.

use crate::acquire::{self, Acquisition};
use crate::episodes;
use crate::events::Events;
use crate::holder;
use crate::mapping::add;
use crate::sampling::{LONG_STACK_ONE_IN, STACK_ONE_IN};
use crate::state::{State, enter};
use crate::waits::{self, BriefWait, PastWaits, WholeWait};
use crate::{clock, memory, stacks};
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_recording::{Entry, Episode, Op, Ref};

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
    episode: Option<&'static Episode>,
    /// Thread number of the holder; 0: not known.
    owner: u32,
    before: Events,
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
    let before = Events::look(place.class, place.address, false);
    let began = clock::ticks();
    if let Some(episode) = episode {
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
        let events = self.before.until_now(self.place.class, self.place.address);
        let wait = BriefWait { ticks: at.saturating_sub(self.began), events };
        if waits::is_long(wait.ticks) {
            return self.end_late(&state, at, result, wait);
        }
        if let Some(episode) = self.episode {
            episode.entry.store(0, Relaxed);
        }
        add(&state.writer.record().dropped, 1);
        if acquire::count_end(&state, self.place, result) {
            state.holds().push_after_brief_wait(self.entry, at, wait);
        } else if acquire::gave_up(result) {
            wait.count_failed(&state.writer, self.entry, at);
        }
    }

    /// Ends a wait that turned out to be long: keeps what can still be known of it.
    #[cold]
    fn end_late(&self, state: &State, at: u64, result: c_int, wait: BriefWait) {
        let stack = self.stack(state, wait.ticks);
        let holder = state.process().peers.lately(self.owner, self.place.address);
        if let Some(episode) = self.episode {
            episodes::describe(episode, stack, holder);
        }
        state.episodes.keep_brief_wait();
        let waited = WholeWait { wait, stack, holder };
        acquire::end_whole_wait(state, (self.place, self.entry, self.episode), (result, at), || waited);
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
}
