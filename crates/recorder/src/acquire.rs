//! Around lock calls. A lock is contended if the next library's try failed; only then is there anything to wait for.

use crate::events::{Before, Events};
use crate::hold;
use crate::holder::{self, Holder};
use crate::locks::{self, Kind};
use crate::process::{STACK_ONE_IN, add};
use crate::state::{How, State, Waited, enter, glance};
use crate::{clock, memory, stacks, table};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_recording::{ACQUIRED, ChunkKind, Detail, Entry, Episode, Op, PAGE, Ref};

/// What is acquired, and where.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    /// `Entry::site`.
    pub(crate) site: u64,
}

impl Place {
    #[inline(always)]
    fn is_read(&self) -> bool {
        self.site >> 56 == Op::Read as u64
    }
}

/// Whether an answer means that the caller has the lock now.
#[inline(always)]
pub(crate) fn has(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// The lock was there at once. `ordered`: the caller would have waited.
#[inline(always)]
pub(crate) fn at_once(place: Place, ordered: bool) {
    if let Some(state) = glance()
        && let Some(entry) = table::glance(state, place.address, place.site)
            .or_else(|| table::second_glance(state, place.address, place.site))
        && hold::acquired(state, entry, ordered)
    {
        if place.is_read() {
            add(&state.record().reads, 1);
        }
        return;
    }
    at_once_slowly(place, ordered);
}

#[cold]
fn at_once_slowly(place: Place, ordered: bool) {
    let Some(state) = enter() else { return };
    match table::find(&state, place.kind, place.address, place.site) {
        Some(entry) => {
            if place.is_read() {
                add(&state.record().reads, 1);
            }
            hold::acquired_slowly(&state, entry, ordered);
        }
        None => state.process().unattributed(),
    }
}

/// The lock was there at once, though threads slept for it. `ordered`: the caller would have waited.
#[cold]
pub(crate) fn past_sleepers(place: Place, ordered: bool) -> c_int {
    at_once(place, ordered);
    if let Some(state) = enter()
        && let Some(entry) = table::find(&state, place.kind, place.address, place.site)
    {
        add(&entry.timed_out_or_stolen, 1);
        add(&state.record().stolen, 1);
    }
    0
}

/// A try failed.
#[cold]
pub(crate) fn failed(place: Place) {
    let Some(state) = enter() else { return };
    count_failure(&state, place);
}

fn count_failure(state: &State, place: Place) {
    if let Some(entry) = table::find(state, place.kind, place.address, place.site) {
        entry.failed.store(entry.failed.load(Relaxed).wrapping_add(1), Relaxed);
    }
    add(&state.record().failed, 1);
}

/// Gives the lock back by `unlock`.
#[inline(always)]
pub(crate) fn release(address: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match glance() {
        Some(state) if !hold::released(state, address) => release_slowly(address, unlock),
        _ => unlock(),
    }
}

#[cold]
fn release_slowly(address: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    let later = enter().and_then(|state| hold::released_slowly(&state, address));
    let result = unlock();
    if let Some(later) = later
        && let Some(state) = enter()
    {
        memory::keeping_errno(|| later.count(&state));
    }
    result
}

/// A lock's life ends.
#[cold]
pub(crate) fn ended(address: u64) {
    if let Some(state) = enter() {
        locks::destroyed(state.process(), address);
    }
}

/// Calls `lock` after a try that found the lock taken, and records the wait.
#[cold]
pub(crate) fn by_waiting(place: Place, lock: impl FnOnce() -> c_int) -> c_int {
    let Some(wait) = Wait::begin(place) else { return lock() };
    let result = lock();
    memory::keeping_errno(|| wait.end(result));
    result
}

/// Less than about 25 us of either clock.
const SHORT: u64 = 50_000;

/// A wait under way.
struct Wait {
    place: Place,
    entry: &'static Entry,
    /// Stack and the waits that it stands for.
    stack: Option<(Ref, u32)>,
    holder: Option<Holder>,
    episode: *const Episode,
    before: Before,
    began: u64,
}

impl Wait {
    /// Looks at who has the lock, and from where the caller comes. The wait is timed from the end of that.
    fn begin(place: Place) -> Option<Wait> {
        let state = enter()?;
        memory::keeping_errno(|| {
            let Some(entry) = table::find(&state, place.kind, place.address, place.site) else {
                state.process().unattributed();
                return None;
            };
            state.waits.set(state.waits.get() + 1);
            if state.waits.get().is_power_of_two() {
                state.note_name();
                state.process().look_at_clock();
            }
            locks::contended(state.process(), entry.lock.load(Relaxed));
            let stack = stack_of(&state, entry, place.site);
            let holder = holder::find(&state, place.kind, place.address);
            let episode = episode(&state, entry, stack, holder);
            let before = Before::look(place.kind, place.address, takes_long(&state, entry));
            let began = clock::ticks();
            // SAFETY: null, or an episode in the file.
            if let Some(episode) = unsafe { episode.as_ref() } {
                episode.began.store(began, Relaxed);
                state.episodes.publish();
            }
            Some(Wait { place, entry, stack, holder, episode, before, began })
        })
    }

    fn end(&self, result: c_int) {
        let at = clock::ticks();
        let Some(state) = enter() else { return };
        // SAFETY: null, or an episode in the file.
        if let Some(episode) = unsafe { self.episode.as_ref() } {
            episode.acquired.store(at, Relaxed);
            episode.flags.store(if has(result) { ACQUIRED } else { 0 }, Relaxed);
        }
        if !has(result) {
            count_failure(&state, self.place);
            return;
        }
        if self.place.is_read() {
            add(&state.record().reads, 1);
        }
        let ticks = at.saturating_sub(self.began);
        let events: Events = self.before.until_now(self.place.kind, self.place.address);
        let waited = Waited { ticks, stack: self.stack, holder: self.holder, events };
        // What took long is counted at once: nobody knows whether the release will be seen.
        let wait = if ticks < SHORT { Some(waited) } else { None };
        let how = How { contended: true, episode: self.episode, woken_by: 0, wait };
        hold::acquired_after(&state, self.entry, at, how);
        if wait.is_none() {
            waited.count(&state, self.entry, at);
        }
    }
}

/// The caller's stack, of the site's first wait, of a sample of its short ones, and of all if they are long: taking a
/// stack is then a small part of the wait. With it, the waits that it stands for.
fn stack_of(state: &State, entry: &Entry, site: u64) -> Option<(Ref, u32)> {
    let due = match state.stack_countdown.get() {
        0 | 1 => {
            state.stack_countdown.set(state.interval(STACK_ONE_IN));
            true
        }
        left => {
            state.stack_countdown.set(left - 1);
            false
        }
    };
    let weight = match due {
        _ if takes_long(state, entry) => 1,
        true => STACK_ONE_IN,
        false => return None,
    };
    let (_, first) = Op::split(site)?;
    match stacks::take(state, first) {
        0 => None,
        stack => Some((stack, weight)),
    }
}

/// Whether waits of the site last so long that looking closely is a small part of them; its first counts as long.
fn takes_long(state: &State, entry: &Entry) -> bool {
    /// About 100 us of either clock.
    const LONG: u64 = 200_000;
    let place = entry.detail.load(Relaxed);
    if place == 0 {
        return true;
    }
    // SAFETY: the word refers to distributions.
    let detail: &Detail = unsafe { state.at(place) };
    let waits = detail.contended.load(Relaxed);
    waits == 0 || detail.wait_sum.load(Relaxed) / waits >= LONG
}

/// Keeps the wait one by one, if there is room. As it gets scarce, a part of the waits: the end of a long run is to be
/// seen, too.
fn episode(state: &State, entry: &'static Entry, stack: Option<(Ref, u32)>, holder: Option<Holder>) -> *const Episode {
    /// Pages of episodes at most: 64 MB.
    const MOST: u64 = (64 << 20) / PAGE;
    let header = state.process().header();
    let pages = header.episode_pages.load(Relaxed);
    let one_in = match pages * 8 / MOST {
        0..=3 => 1,
        4..=5 => 8,
        6 => 64,
        7 => 512,
        _ => u64::MAX,
    };
    let before = state.episodes.pages();
    let taken = if state.waits.get().is_multiple_of(one_in) {
        state.episodes.take(state, ChunkKind::Episodes, size_of::<Episode>())
    } else {
        None
    };
    header.episode_pages.fetch_add(u64::from(state.episodes.pages() - before), Relaxed);
    let Some(at) = taken else {
        add(&state.record().dropped, 1);
        return ptr::null();
    };
    // SAFETY: room for it, aligned; zero bytes are one.
    let episode: &Episode = unsafe { &*at.cast() };
    episode.entry.store(state.place_of(entry), Relaxed);
    episode.thread.store(state.index.get(), Relaxed);
    episode.stack.store(stack.map_or(0, |(stack, _)| stack), Relaxed);
    if let Some(holder) = holder {
        episode.holder.store(holder.thread + 1, Relaxed);
        episode.holder_site.store(holder.site, Relaxed);
    }
    episode
}
