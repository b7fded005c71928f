//! A wait for a lock that a try found taken.
//!
//! The lock's holder and the caller's stack are found for a site's first waits, and for those of sites whose waits are
//! long. Where waits are short and frequent, that would take longer than the wait, and disturb the holder: 1 in
//! [`STACK_ONE_IN`] of them is kept whole; all are counted, with their lengths, and those that turn out to be long are
//! kept individually, with stacks for a sample and for the very long.

use crate::acquire::{Acquisition, count_failure, has};
use crate::detail::HoldClass;
use crate::events::Events;
use crate::holder::{self, Holder, SEARCH_ONE_IN};
use crate::mapping::add;
use crate::sampling::{LONG_STACK_ONE_IN, STACK_ONE_IN};
use crate::state::{State, enter};
use crate::waits::{self, PastWaits, Waited};
use crate::writer::one_in;
use crate::{clock, locks, memory, process, stacks};
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_recording::{ACQUIRED, ChunkKind, Entry, Episode, Op, Ref};

/// A wait under way.
struct Wait {
    place: Acquisition,
    entry: &'static Entry,
    /// The episode that shows the wait while it lasts.
    episode: Option<&'static Episode>,
    how: How,
    before: Events,
    began: u64,
}

/// The way in which a wait is recorded.
enum How {
    /// With stack, holder and hold time, as one of this many waits.
    Whole { stack: Option<(Ref, u32)>, holder: Option<Holder>, one_in: u32 },
    /// By its length, unless that turns out to be long. `owner`: the thread number of the holder; 0: not known.
    Brief { owner: u32 },
}

/// Calls `lock` after a try that found the lock taken, and records the wait. `entry`: its entry, if known.
#[cold]
pub(crate) fn wait_for(place: Acquisition, entry: Option<&'static Entry>, lock: impl FnOnce() -> c_int) -> c_int {
    if process::get().is_none() {
        return lock(); // without a read of the lock: where nothing is recorded, a race detector may be running
    }
    let Some(wait) = Wait::begin(place, entry) else { return lock() };
    let result = lock();
    memory::keeping_errno(|| wait.end(result));
    result
}

impl Wait {
    fn begin(place: Acquisition, entry: Option<&'static Entry>) -> Option<Wait> {
        // Read before others change the lock again, which takes it from this processor's cache.
        let owner = holder::written_owner(place.class, place.address).unwrap_or(0);
        let state = enter()?;
        let entry = entry.filter(|entry| state.writer.mapping().has(*entry));
        let found = entry.or_else(|| state.entry(place.class, place.address, place.site));
        let Some(entry) = found else {
            state.process().mapping.unattributed();
            return None;
        };
        let past = PastWaits::of(&state.writer, entry);
        let is_brief = past.number >= waits::FIRST && !past.are_long();
        if !is_brief || state.sampling.is_stack_due() {
            let one_in = if is_brief { STACK_ONE_IN } else { 1 };
            return Some(memory::keeping_errno(|| Wait::begin_whole(&state, place, entry, past, one_in)));
        }
        state.sampling.count_wait();
        let episode = state.brief_episode(entry);
        let before = Events::look(place.class, place.address, false);
        let began = clock::ticks();
        if let Some(episode) = episode {
            episode.began.store(began, Relaxed);
            episode.entry.store(state.writer.mapping().place_of(entry), Relaxed);
        }
        Some(Wait { place, entry, episode, how: How::Brief { owner }, before, began })
    }

    /// Finds the lock's holder and the caller's stack. The wait is timed from the end of that.
    fn begin_whole(state: &State, place: Acquisition, entry: &'static Entry, past: PastWaits, one_in: u32) -> Wait {
        state.begin_wait();
        locks::contended(state.writer.mapping(), entry.lock.load(Relaxed));
        let stack = stack_of(state, past, place.site, one_in);
        let takes_long = past.are_long();
        let due = one_in > 1 || state.sampling.waits.get().is_multiple_of(u64::from(SEARCH_ONE_IN));
        let mut holder = state.process().peers.holder(&state.peer, place.class, place.address, due);
        if takes_long || one_in > 1 {
            holder = holder.map(Holder::looked_at);
        }
        let episode = state.begin_episode(entry, stack, holder);
        let before = Events::look(place.class, place.address, takes_long);
        let began = clock::ticks();
        if let Some(episode) = episode {
            episode.began.store(began, Relaxed);
            state.episodes.publish();
        }
        Wait { place, entry, episode, how: How::Whole { stack, holder, one_in }, before, began }
    }

    fn end(&self, result: c_int) {
        let at = clock::ticks();
        let Some(state) = enter() else { return };
        state.steps.waited_for(self.began, at);
        let (waited, is_kept) = self.waited(&state, at);
        match self.episode {
            Some(episode) if is_kept => {
                episode.acquired.store(at, Relaxed);
                episode.flags.store(if has(result) { ACQUIRED } else { 0 }, Relaxed);
            }
            Some(episode) => episode.entry.store(0, Relaxed), // readers skip it
            None => (),
        }
        if !is_kept {
            add(&state.writer.record().dropped, 1);
        }
        if has(result) {
            if self.place.is_read() {
                add(&state.writer.record().reads, 1);
            }
            let measured = is_kept.then_some(HoldClass::Contended);
            state.push_after_lock_wait(self.entry, at, measured, self.episode.filter(|_| is_kept), waited);
        } else {
            count_failure(&state, self.place);
            if result == libc::ETIMEDOUT {
                waited.count_failed(&state.writer, self.entry, at);
            }
        }
    }

    /// Returns the wait as it turned out, and whether it is kept individually.
    fn waited(&self, state: &State, at: u64) -> (Waited, bool) {
        let Acquisition { class, address, site } = self.place;
        let ticks = at.saturating_sub(self.began);
        let mut waited = Waited { ticks, events: self.before.until_now(class, address), stack: None, holder: None };
        match self.how {
            How::Whole { stack, holder, one_in } => {
                (waited.stack, waited.holder) = (stack, holder);
                if one_in > 1 {
                    waited.weigh(one_in, holder::written_owner(class, address).is_none());
                }
            }
            How::Brief { .. } if !waits::is_long(ticks) => return (waited, false),
            How::Brief { owner } => {
                waited.stack = late_stack(state, site, ticks);
                waited.holder = state.process().peers.lately(owner, address);
                if let Some(episode) = self.episode {
                    describe(episode, waited.stack, waited.holder);
                }
                state.episodes.keep_brief_wait();
            }
        }
        (waited, true)
    }
}

/// Returns the caller's stack, with the number of waits that it stands for; for all waits if they are few or very long:
/// taking a stack is then a small part of them.
fn stack_of(state: &State, past: PastWaits, site: u64, one_in: u32) -> Option<(Ref, u32)> {
    let (weight, due) = match past.mean() {
        _ if one_in > 1 => (one_in, true),
        None => (1, true),
        Some(mean) if waits::is_very_long(mean) => (1, true),
        Some(mean) if waits::is_long(mean) && past.number < waits::FIRST => (1, true),
        Some(mean) if waits::is_long(mean) => (LONG_STACK_ONE_IN, state.sampling.is_long_stack_due()),
        Some(_) => (STACK_ONE_IN, state.sampling.is_stack_due()),
    };
    if due { take_stack(state, site, weight) } else { None }
}

/// Returns the stack of a wait that turned out to be long. Other threads wait meanwhile: the lock is held.
#[cold]
fn late_stack(state: &State, site: u64, ticks: u64) -> Option<(Ref, u32)> {
    match ticks {
        _ if waits::is_very_long(ticks) => take_stack(state, site, 1),
        _ if state.sampling.is_long_stack_due() => take_stack(state, site, LONG_STACK_ONE_IN),
        _ => None,
    }
}

fn take_stack(state: &State, site: u64, stands_for: u32) -> Option<(Ref, u32)> {
    let (_, first) = Op::split(site)?;
    let stack = stacks::take(&state.writer, first);
    (stack != 0).then_some((stack, stands_for))
}

impl State {
    /// Keeps the wait individually, if there is room. As room gets scarce, it keeps a part of the waits, so that the
    /// end of a long run is also covered.
    pub(crate) fn begin_episode(
        &self,
        entry: &'static Entry,
        stack: Option<(Ref, u32)>,
        holder: Option<Holder>,
    ) -> Option<&'static Episode> {
        let State { writer, sampling, episodes, .. } = self;
        let one_in = one_in(&writer.mapping().header().episode_pages);
        let kept = one_in.is_some_and(|one_in| sampling.waits.get().is_multiple_of(one_in));
        let taken = kept.then(|| episodes.cursor.take::<Episode>(writer, ChunkKind::Episodes)).flatten();
        let Some(episode) = taken else {
            add(&writer.record().dropped, 1);
            return None;
        };
        episode.entry.store(writer.mapping().place_of(entry), Relaxed);
        episode.thread.store(writer.index(), Relaxed);
        describe(episode, stack, holder);
        Some(episode)
    }

    /// Returns an episode that the thread keeps for brief waits: its entry is 0 between them, and readers skip it.
    pub(crate) fn brief_episode(&self, entry: &'static Entry) -> Option<&'static Episode> {
        let begin = || {
            let episode = self.begin_episode(entry, None, None)?;
            episode.entry.store(0, Relaxed);
            self.episodes.publish();
            Some(episode)
        };
        let under_way = &self.episodes.under_way;
        under_way.set(under_way.get().or_else(begin));
        under_way.get().inspect(|episode| episode.thread.store(self.writer.index(), Relaxed))
    }
}

/// Notes the stack of the wait, and the lock's holder.
fn describe(episode: &Episode, stack: Option<(Ref, u32)>, holder: Option<Holder>) {
    episode.stack.store(stack.map_or(0, |(stack, _)| stack), Relaxed);
    if let Some(holder) = holder {
        episode.holder.store(holder.thread + 1, Relaxed);
        episode.holder_site.store(holder.site, Relaxed);
    }
}
