//! Wraps lock calls. A lock is contended if the next library's try failed; only then is there a wait.

use crate::journal::{LINES, What};
use crate::later;
use crate::locks;
use crate::mapping::add;
use crate::real::PAST_SLEEPERS;
use crate::state::{State, enter, fast_look_up, is_new_thread};
use crate::wait::wait_for;
use crate::{hold, table};
use core::hint::cold_path;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EBUSY, c_int};
use turnwise_recording::{Class, Entry, Op};

/// The lock that is acquired, and the call site.
#[derive(Clone, Copy)]
pub(crate) struct Acquisition {
    pub(crate) class: Class,
    pub(crate) address: u64,
    /// `Entry::site`.
    pub(crate) site: u64,
}

impl Acquisition {
    #[inline(always)]
    pub(crate) fn is_read(&self) -> bool {
        self.site >> 56 == Op::Read as u64
    }
}

/// Returns whether a result means that the caller now holds the lock.
#[inline(always)]
pub(crate) fn has(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// The fast path's needs: the thread's state, and its entry for the lock and the site.
#[derive(Clone, Copy)]
struct Prepared {
    state: &'static State,
    entry: &'static Entry,
}

/// Prepares for the try: finds what is needed, counts the acquisition that is likely to follow, and adds it to the
/// locks that the thread holds, so that this is not done while the lock is held. `ordered`: the caller would wait.
/// `None`: a slower path is needed.
#[inline(always)]
fn prepare(state: &'static State, place: Acquisition, ordered: bool) -> Option<Prepared> {
    let entry = state.table.fast_look_up(place.address, place.site)?;
    let ready = state.locks.announce(&state.notes.contexts, entry, place.address, ordered)
        && hold::count(state.writer.record(), entry);
    ready.then_some(Prepared { state, entry })
}

/// Prepares with a longer search than [`prepare`].
fn prepare_searching(place: Acquisition, ordered: bool) -> Option<Prepared> {
    let state = fast_look_up()?;
    if state.locks.at(state.locks.depth()).line().is_some() && state.locks.depth() != 0 {
        return None; // the locks that it holds are only in the journal
    }
    let entry = state.table.full_look_up(place.address, place.site)?;
    let ready =
        state.notes.announce(&state.locks, entry, place.address, ordered) && hold::count(state.writer.record(), entry);
    ready.then_some(Prepared { state, entry })
}

/// Takes back what `prepare` counted, after the try failed.
#[inline(always)]
fn take_back(prepared: Prepared) {
    // A signal handler may have forked since then: in the child there is no record.
    if let Some(record) = prepared.state.writer.record_if_there() {
        hold::uncount(record, prepared.entry);
    }
}

/// Confirms that the lock was acquired immediately.
#[inline(always)]
fn confirm(prepared: Prepared, place: Acquisition) {
    prepared.state.locks.confirm(prepared.entry, place.address);
    if place.is_read()
        && let Some(record) = prepared.state.writer.record_if_there()
    {
        add(&record.reads, 1);
    }
}

/// Records a lock that was acquired immediately without preparation. `ordered`: the caller would have waited.
#[cold]
fn record_unprepared(place: Acquisition, ordered: bool) {
    let Some(state) = enter() else { return };
    match state.entry(place.class, place.address, place.site) {
        Some(entry) => {
            if place.is_read() {
                add(&state.writer.record().reads, 1);
            }
            state.push_without_wait(entry, ordered);
            if entry.acquisitions.load(Relaxed) >= state.sampling.first_acquisitions.get() {
                table::show(entry);
            }
            state.consider_journal();
        }
        None => state.process().mapping.unattributed(),
    }
}

/// Records a lock that was acquired immediately, past sleeping threads. `ordered`: the caller would have waited.
#[cold]
fn record_steal(place: Acquisition, ordered: bool) -> c_int {
    record_unprepared(place, ordered);
    if let Some(state) = enter()
        && let Some(entry) = state.entry(place.class, place.address, place.site)
    {
        add(&entry.timed_out_or_stolen, 1);
        add(&state.writer.record().stolen, 1);
    }
    0
}

/// Tries, records the result, and waits if the lock is contended and the call is ordered: one that only tries is not.
/// `attempt` and `lock` are called with the lock's address, so that the fast paths keep only one copy of it.
#[inline(always)]
pub(crate) fn lock<const ORDERED: bool>(
    place: Acquisition,
    attempt: impl Fn(u64) -> c_int + Copy,
    lock: impl FnOnce(u64) -> c_int + Copy,
) -> c_int {
    let Acquisition { class, address, site } = place;
    // Tail calls: the paths that need no stack frame have none.
    match fast_look_up() {
        Some(state) if state.next_line.get() != 0 => {
            lock_written::<ORDERED>(state, address, What::of(class, site, ORDERED), attempt, lock)
        }
        Some(state) => lock_counted::<ORDERED>(state, class, address, site, attempt, lock),
        None => lock_unprepared::<ORDERED>(class, address, site, attempt, lock),
    }
}

/// Does the work of [`lock`] for a thread that writes its acquisitions to the journal.
#[inline(never)]
extern "C" fn lock_written<const ORDERED: bool>(
    state: &'static State,
    address: u64,
    what: What,
    attempt: impl Fn(u64) -> c_int,
    lock: impl FnOnce(u64) -> c_int,
) -> c_int {
    let Some(line) = state.write_down(address, what, later::ENOUGH) else {
        cold_path();
        let Some(class) = what.class() else { return lock(address) };
        return lock_unprepared::<ORDERED>(class, address, what.site(), attempt, lock);
    };
    match attempt(address) {
        0 => state.locks.push_written(address, what, line),
        result => {
            cold_path();
            return finish_lock_written::<ORDERED>(state, line, address, what, result, lock);
        }
    }
    0
}

/// Continues after a try of a lock that was written down.
#[cold]
#[inline(never)]
extern "C" fn finish_lock_written<const ORDERED: bool>(
    state: &'static State,
    line: u64,
    address: u64,
    what: What,
    result: c_int,
    lock: impl FnOnce(u64) -> c_int,
) -> c_int {
    state.strike_out(line);
    match what.class() {
        Some(class) => finish_lock::<ORDERED>(class, address, what.site(), None, result, lock),
        None => lock(address), // never None: it is an acquisition
    }
}

/// Does the work of [`lock`] for a thread that counts immediately.
#[inline(never)]
extern "C" fn lock_counted<const ORDERED: bool>(
    state: &'static State,
    class: Class,
    address: u64,
    site: u64,
    attempt: impl Fn(u64) -> c_int,
    lock: impl FnOnce(u64) -> c_int,
) -> c_int {
    let place = Acquisition { class, address, site };
    let Some(prepared) = prepare(state, place, ORDERED) else {
        cold_path();
        return lock_unprepared::<ORDERED>(class, address, site, attempt, lock);
    };
    match attempt(address) {
        0 => confirm(prepared, place),
        result => {
            cold_path();
            take_back(prepared);
            let (site, entry) = (prepared.entry.site.load(Relaxed), Some(prepared.entry));
            return finish_lock::<ORDERED>(class, address, site, entry, result, lock);
        }
    }
    0
}

/// Does the work of [`lock`] for an entry that is farther away or does not exist yet, or under locks under which the
/// thread may not have taken this one before; or for a thread with a journal that has something to count. The place's
/// fields are separate arguments, so that they stay in registers.
#[inline(never)]
extern "C" fn lock_unprepared<const ORDERED: bool>(
    class: Class,
    address: u64,
    site: u64,
    attempt: impl Fn(u64) -> c_int,
    lock: impl FnOnce(u64) -> c_int,
) -> c_int {
    match attempt_searching(Acquisition { class, address, site }, ORDERED, attempt) {
        Some(result) => finish_lock::<ORDERED>(class, address, site, None, result, lock),
        None => 0,
    }
}

/// Tries after a longer search; returns the result, unless the lock was acquired immediately and all is counted.
#[inline(always)]
fn attempt_searching(place: Acquisition, ordered: bool, attempt: impl Fn(u64) -> c_int) -> Option<c_int> {
    if let Some(state) = fast_look_up() {
        if state.next_line.get() != 0 {
            if state.has_written_enough() {
                count_journal();
            }
            let what = What::of(place.class, place.site, ordered);
            if let Some(line) = state.write_down(place.address, what, LINES as u64) {
                let result = attempt(place.address);
                if result != 0 {
                    state.strike_out(line);
                    return Some(result);
                }
                state.locks.push_written(place.address, what, line);
                return None;
            }
        }
        state.steps.ask();
    }
    let prepared = prepare_searching(place, ordered);
    let result = attempt(place.address);
    match prepared {
        Some(prepared) if result == 0 => {
            confirm(prepared, place);
            return None;
        }
        Some(prepared) => take_back(prepared),
        None => (),
    }
    Some(result)
}

/// Counts the thread's journal, if the thread has a state.
#[inline(never)]
pub(crate) fn count_journal() {
    if fast_look_up().is_some()
        && let Some(state) = enter()
    {
        state.count_journal();
    }
}

/// Continues after a try of which nothing is counted. `entry`: the entry, if it is known.
#[cold]
extern "C" fn finish_lock<const ORDERED: bool>(
    class: Class,
    address: u64,
    site: u64,
    entry: Option<&'static Entry>,
    result: c_int,
    lock: impl FnOnce(u64) -> c_int,
) -> c_int {
    let place = Acquisition { class, address, site };
    match result {
        EBUSY if ORDERED => return wait_for(place, entry, || lock(address)),
        EBUSY => {
            if let Some(state) = enter() {
                count_failure(&state, place);
            }
        }
        PAST_SLEEPERS => return record_steal(place, ORDERED),
        result if has(result) => record_unprepared(place, ORDERED),
        // The function called here reports the error.
        _ if ORDERED => return lock(address),
        _ => {}
    }
    result
}

/// Counts a try, or a wait, that failed.
#[cold]
pub(crate) fn count_failure(state: &State, place: Acquisition) {
    if let Some(entry) = state.entry(place.class, place.address, place.site) {
        entry.failed.store(entry.failed.load(Relaxed).wrapping_add(1), Relaxed);
    }
    add(&state.writer.record().failed, 1);
}

/// Releases the lock by `unlock`.
#[inline(always)]
pub(crate) fn unlock(class: Class, address: u64, unlock: impl FnOnce() -> c_int) -> c_int {
    match fast_look_up() {
        Some(state) if state.locks.pop(address) => unlock(),
        // A thread may begin by releasing what another took.
        None if !is_new_thread() => unlock(),
        _ => unlock_counting(address, class, unlock),
    }
}

/// Releases the lock if the thread has since taken others, or if there is something to count.
#[inline(never)]
extern "C" fn unlock_counting(address: u64, class: Class, unlock: impl FnOnce() -> c_int) -> c_int {
    let pending = enter().and_then(|state| {
        state.watch_release(class, address);
        state.take_out(address)
    });
    let result = unlock();
    if let Some(pending) = pending
        && let Some(state) = enter()
    {
        pending.count(&state.writer);
        state.go_on();
    }
    result
}

/// Records that the program made a lock at `site`.
pub(crate) fn created(class: Class, address: u64, site: u64) {
    if let Some(state) = enter() {
        state.count_journal();
        locks::created(&state.writer, class, address, site);
    }
}

/// Records the end of a lock's life.
#[cold]
pub(crate) fn destroyed(class: Class, address: u64) {
    if let Some(state) = enter() {
        state.count_journal();
        state.watch_destroy(class, address);
        locks::destroyed(state.writer.mapping(), address);
    }
}
