//! Around lock calls. A lock is contended if the next library's try failed; only then is there anything to wait for.

use crate::brief::{self, Choice};
use crate::events::{Before, Events, is_steal};
use crate::hold;
use crate::holder::{self, Holder};
use crate::locks::{self, Kind};
use crate::process::{self, LONG_STACK_ONE_IN, STACK_ONE_IN, add};
use crate::state::{Short, State, Waited, enter, glance};
use crate::{clock, memory, stacks, table};
use core::hint::cold_path;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EBUSY, c_int};
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
    pub(crate) fn is_read(&self) -> bool {
        self.site >> 56 == Op::Read as u64
    }
}

/// Whether an answer means that the caller has the lock now.
#[inline(always)]
pub(crate) fn has(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// Whether it means that the caller waited in vain.
pub(crate) fn gave_up(result: c_int) -> bool {
    result == libc::ETIMEDOUT
}

/// What the short way needs: the thread's state, and its entry of the lock and the site.
#[derive(Clone, Copy)]
struct Found {
    state: &'static State,
    entry: &'static Entry,
}

/// Before the try: finds what is needed, counts the acquisition that is likely to come, and writes it where the locks
/// stand that the thread holds. So it is not done while the lock is held. `ordered`: the caller would wait. `None`: the
/// way must be a longer one.
#[inline(always)]
fn prepare(place: Place, ordered: bool) -> Option<Found> {
    let state = glance()?;
    let entry = table::glance(state, place.address, place.site)?;
    let ready = hold::announce(state, entry, place.address, ordered) && hold::count(state.record(), entry);
    ready.then_some(Found { state, entry })
}

/// The same, with a longer look.
fn prepare_slowly(place: Place, ordered: bool) -> Option<Found> {
    let state = glance()?;
    let entry = table::seek(state, place.address, place.site)?;
    let ready = hold::announce_slowly(state, entry, place.address, ordered) && hold::count(state.record(), entry);
    ready.then_some(Found { state, entry })
}

/// The try failed: what `prepare` counted is taken back.
#[inline(always)]
fn not_at_once(found: Found) {
    // A signal handler may have forked since then: in the child there is no record.
    if let Some(record) = found.state.record_if_there() {
        hold::uncount(record, found.entry);
    }
}

/// The lock was there at once.
#[inline(always)]
fn at_once(found: Found, place: Place) {
    hold::acquired(found.state, found.entry, place.address);
    if place.is_read()
        && let Some(record) = found.state.record_if_there()
    {
        add(&record.reads, 1);
    }
}

/// The same, if nothing was prepared. `ordered`: the caller would have waited.
#[cold]
fn at_once_slowly(place: Place, ordered: bool) {
    let Some(state) = enter() else { return };
    match table::find(&state, place.kind, place.address, place.site) {
        Some(entry) => {
            if place.is_read() {
                add(&state.record().reads, 1);
            }
            hold::acquired_slowly(&state, entry, ordered);
            table::show(&state, entry);
        }
        None => state.process().unattributed(),
    }
}

/// The lock was there at once, though threads slept for it. `ordered`: the caller would have waited.
#[cold]
fn past_sleepers(place: Place, ordered: bool) -> c_int {
    at_once_slowly(place, ordered);
    if let Some(state) = enter()
        && let Some(entry) = table::find(&state, place.kind, place.address, place.site)
    {
        add(&entry.timed_out_or_stolen, 1);
        add(&state.record().stolen, 1);
    }
    0
}

/// Tries, records what that answered, and waits if there is something to wait for.
#[inline(always)]
pub(crate) fn acquired(place: Place, attempt: impl Fn() -> c_int + Copy, lock: impl FnOnce() -> c_int + Copy) -> c_int {
    let Some(found) = prepare(place, true) else {
        cold_path();
        return acquired_otherwise(place.kind, place.address, place.site, attempt, lock);
    };
    match attempt() {
        0 => at_once(found, place),
        result => {
            cold_path();
            not_at_once(found);
            return after_try(
                place.kind,
                place.address,
                found.entry.site.load(Relaxed),
                Some(found.entry),
                result,
                lock,
            );
        }
    }
    0
}

/// The same for an entry that is farther away or not there yet, or under locks under which the thread may not have
/// taken this one before. What there is of the place one by one: it stays in registers, and the short way has no frame
/// for it.
#[inline(never)]
extern "C" fn acquired_otherwise(
    kind: Kind,
    address: u64,
    site: u64,
    attempt: impl Fn() -> c_int,
    lock: impl FnOnce() -> c_int,
) -> c_int {
    match try_slowly(Place { kind, address, site }, true, attempt) {
        Some(result) => after_try(kind, address, site, None, result, lock),
        None => 0,
    }
}

/// Tries after a longer look; what that answered, unless the lock was there at once and all is counted.
#[inline(always)]
fn try_slowly(place: Place, ordered: bool, attempt: impl Fn() -> c_int) -> Option<c_int> {
    let found = prepare_slowly(place, ordered);
    let result = attempt();
    match found {
        Some(found) if result == 0 => {
            at_once(found, place);
            return None;
        }
        Some(found) => not_at_once(found),
        None => (),
    }
    Some(result)
}

/// Nothing is counted. `entry`: if it is known.
#[cold]
extern "C" fn after_try(
    kind: Kind,
    address: u64,
    site: u64,
    entry: Option<&'static Entry>,
    result: c_int,
    lock: impl FnOnce() -> c_int,
) -> c_int {
    let place = Place { kind, address, site };
    match result {
        EBUSY => by_waiting(place, entry, lock),
        result if is_steal(result) => past_sleepers(place, true),
        result if has(result) => {
            at_once_slowly(place, true);
            result
        }
        // What is wrong with it is said by the function that was called.
        _ => lock(),
    }
}

/// Records what the program's own try answers.
#[inline(always)]
pub(crate) fn tried(place: Place, attempt: impl Fn() -> c_int + Copy) -> c_int {
    let Some(found) = prepare(place, false) else {
        cold_path();
        return tried_otherwise(place.kind, place.address, place.site, attempt);
    };
    match attempt() {
        0 => at_once(found, place),
        result => {
            cold_path();
            not_at_once(found);
            return after_own_try(place.kind, place.address, found.entry.site.load(Relaxed), result);
        }
    }
    0
}

/// As `acquired_otherwise`.
#[inline(never)]
extern "C" fn tried_otherwise(kind: Kind, address: u64, site: u64, attempt: impl Fn() -> c_int) -> c_int {
    match try_slowly(Place { kind, address, site }, false, attempt) {
        Some(result) => after_own_try(kind, address, site, result),
        None => 0,
    }
}

/// As `after_try`.
#[inline(never)]
extern "C" fn after_own_try(kind: Kind, address: u64, site: u64, result: c_int) -> c_int {
    let place = Place { kind, address, site };
    match result {
        EBUSY => failed(place),
        result if is_steal(result) => return past_sleepers(place, false),
        result if has(result) => at_once_slowly(place, false),
        _ => (),
    }
    result
}

/// A try failed.
#[cold]
fn failed(place: Place) {
    let Some(state) = enter() else { return };
    count_failure(&state, place);
}

pub(crate) fn count_failure(state: &State, place: Place) {
    if let Some(entry) = table::find(state, place.kind, place.address, place.site) {
        entry.failed.store(entry.failed.load(Relaxed).wrapping_add(1), Relaxed);
    }
    add(&state.record().failed, 1);
}

/// Gives the lock back by `unlock`.
#[inline(always)]
pub(crate) fn release(address: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match glance() {
        Some(state) if !hold::released(state, address) => release_otherwise(address, unlock),
        _ => unlock(),
    }
}

/// The thread took others since, or there is something to count.
#[inline(never)]
extern "C" fn release_otherwise(address: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    let later = enter().and_then(|state| hold::released_slowly(&state, address));
    let result = unlock();
    if let Some(later) = later
        && let Some(state) = enter()
    {
        later.count(&state);
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
fn by_waiting(place: Place, entry: Option<&'static Entry>, lock: impl FnOnce() -> c_int) -> c_int {
    if process::get().is_none() {
        return lock(); // without a look at the lock: where nothing is recorded, a tool may look for races
    }
    let one_in = match brief::choose(place, entry) {
        Choice::Brief(wait) => {
            let result = lock();
            wait.end(result);
            return result;
        }
        Choice::Sampled(one_in) => one_in,
        Choice::Whole => 1,
    };
    let Some(wait) = Wait::begin(place, one_in) else { return lock() };
    let result = lock();
    memory::keeping_errno(|| wait.end(result));
    result
}

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
    /// Waits that it stands for.
    one_in: u32,
}

impl Wait {
    /// Looks at who has the lock, and from where the caller comes. The wait is timed from the end of that.
    fn begin(place: Place, one_in: u32) -> Option<Wait> {
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
            let waits = Waits::of(&state, entry);
            let stack = stack_of(&state, waits, place.site, one_in);
            let takes_long = waits.are_long();
            let mut holder = holder::find(&state, place.kind, place.address, one_in > 1);
            if takes_long || one_in > 1 {
                holder = holder.map(Holder::looked_at);
            }
            let episode = episode(&state, entry, stack, holder);
            let before = Before::look(place.kind, place.address, takes_long);
            let began = clock::ticks();
            // SAFETY: null, or an episode in the file.
            if let Some(episode) = unsafe { episode.as_ref() } {
                episode.began.store(began, Relaxed);
                state.episodes.publish();
            }
            Some(Wait { place, entry, stack, holder, episode, before, began, one_in })
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
        if has(result) {
            if self.place.is_read() {
                add(&state.record().reads, 1);
            }
            hold::acquired_measured(&state, self.entry, at, self.episode, self.waited(at));
            return;
        }
        count_failure(&state, self.place);
        if gave_up(result) {
            self.waited(at).count_in_vain(&state, self.entry, at);
        }
    }

    fn waited(&self, at: u64) -> Waited {
        let ticks = at.saturating_sub(self.began);
        let events: Events = self.before.until_now(self.place.kind, self.place.address);
        let mut waited = Waited { wait: Short { ticks, events }, stack: self.stack, holder: self.holder };
        if self.one_in > 1 {
            waited.weigh(self.one_in, holder::written_owner(self.place.kind, self.place.address).is_none());
        }
        waited
    }
}

/// The caller's stack, with the waits that it stands for; of all waits if they are few or very long: taking a stack is
/// then a small part of them.
fn stack_of(state: &State, waits: Waits, site: u64, one_in: u32) -> Option<(Ref, u32)> {
    let (weight, due) = match waits.mean() {
        _ if one_in > 1 => (one_in, true),
        None | Some(brief::VERY_LONG..) => (1, true),
        Some(brief::LONG..) if waits.number < brief::FIRST => (1, true),
        Some(brief::LONG..) => (LONG_STACK_ONE_IN, state.is_long_stack_due()),
        Some(_) => (STACK_ONE_IN, state.is_stack_due()),
    };
    let (_, first) = Op::split(site)?;
    let stack = if due { stacks::take(state, first) } else { 0 };
    (stack != 0).then_some((stack, weight))
}

/// A thread's waits at a site so far.
#[derive(Clone, Copy)]
pub(crate) struct Waits {
    pub(crate) number: u64,
    ticks: u64,
}

impl Waits {
    pub(crate) fn of(state: &State, entry: &Entry) -> Waits {
        let place = entry.detail.load(Relaxed);
        if place == 0 {
            return Waits { number: 0, ticks: 0 };
        }
        // SAFETY: the word refers to distributions.
        let detail: &Detail = unsafe { state.at(place) };
        Waits { number: detail.contended.load(Relaxed), ticks: detail.wait_sum.load(Relaxed) }
    }

    /// Whether they are long in the mean, or there were none.
    pub(crate) fn are_long(self) -> bool {
        self.ticks >= brief::LONG.saturating_mul(self.number)
    }

    /// Their length; `None`: there were none.
    fn mean(self) -> Option<u64> {
        self.ticks.checked_div(self.number)
    }
}

/// Keeps the wait one by one, if there is room. As it gets scarce, a part of the waits: the end of a long run is to be
/// seen, too.
pub(crate) fn episode(
    state: &State,
    entry: &'static Entry,
    stack: Option<(Ref, u32)>,
    holder: Option<Holder>,
) -> *const Episode {
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
    // Other threads look at the header: it is written only if there is something to write.
    if state.episodes.pages() != before {
        header.episode_pages.fetch_add(u64::from(state.episodes.pages() - before), Relaxed);
    }
    let Some(at) = taken else {
        add(&state.record().dropped, 1);
        return ptr::null();
    };
    // SAFETY: room for it, aligned; zero bytes are one.
    let episode: &Episode = unsafe { &*at.cast() };
    episode.entry.store(state.place_of(entry), Relaxed);
    episode.thread.store(state.index.get(), Relaxed);
    describe(episode, stack, holder);
    episode
}

/// Notes from where the wait came, and who had the lock.
pub(crate) fn describe(episode: &Episode, stack: Option<(Ref, u32)>, holder: Option<Holder>) {
    episode.stack.store(stack.map_or(0, |(stack, _)| stack), Relaxed);
    if let Some(holder) = holder {
        episode.holder.store(holder.thread + 1, Relaxed);
        episode.holder_site.store(holder.site, Relaxed);
    }
}
