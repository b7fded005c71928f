//! Detects that a thread exits, by a pthread key, whose destructor returns the thread's slot.
//!
//! 1. The key's value only makes the destructor run; the thread's own words say which slot is returned. A stray
//!    `pthread_setspecific` can change the value.
//! 2. The key is the highest of those whose values the C library keeps in the thread's descriptor: setting a higher one
//!    allocates, on a lock path. Low numbers stay free, as a program without this library has them: an uninitialised
//!    `pthread_key_t` is 0, and using it stays an error.
//! 3. Where none of those is free, no thread gets a slot.
//! 4. While exits go undetected, no thread may read another's memory: before the key goes, all areas are withdrawn.

use super::super::{thread, tls};
use super::sys;
use crate::platform::limits;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI64, AtomicU32};

/// The number of keys whose values need no allocation (in glibc; other C libraries never allocate for one).
const KEYS_WITHOUT_ALLOCATION: u32 = 32;

/// The value of `KEY` when there is no key: before the constructor, when none was free, and when it was returned.
const NO_KEY: i64 = -1;

/// The key, or [`NO_KEY`].
static KEY: AtomicI64 = AtomicI64::new(NO_KEY);
/// The number of threads that are taking a slot, or returning theirs as they exit.
static BUSY: AtomicU32 = AtomicU32::new(0);

/// A thread's presence in code for which the key's end has to wait.
struct Stay;

impl Stay {
    fn begin() -> Self {
        // ORDERING exit.end: SeqCst add, then SeqCst load of `KEY` in `notice`; in `end_exit_key` SeqCst swap, then
        // SeqCst load of `BUSY`. One of the two sees the other.
        BUSY.fetch_add(1, SeqCst);
        Stay
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        // ORDERING exit.end: Release pairs with the SeqCst load in `are_none_busy`: our uses of the key come before its
        // end.
        BUSY.fetch_sub(1, Release);
    }
}

/// Returns whether exits are detected.
pub(crate) fn are_noticed() -> bool {
    KEY.load(Relaxed) != NO_KEY
}

/// Returns whether this is our key, whose destructor detects exits, in a call from outside this crate: then the caller
/// has not created the key.
#[inline]
pub fn is_alien_key(key: u32) -> bool {
    KEY.load(Relaxed) == i64::from(key) && !thread::is_taking_slot()
}

/// Runs `enter` if the calling thread's exit is detected from now on: the key lives on until `enter` is done.
pub(crate) fn notice(enter: impl FnOnce()) -> bool {
    let _stay = Stay::begin();
    // ORDERING exit.end: one of this load and `end_exit_key` sees the other, as `Stay::begin` says. A key that is seen
    // was published by the constructor's SeqCst store.
    let key = KEY.load(SeqCst);
    let Ok(number) = libc::pthread_key_t::try_from(key) else { return false };
    // SAFETY: the key is ours. The destructor runs for any value but null (1), and the C library does not allocate (2).
    if unsafe { libc::pthread_setspecific(number, ptr::without_provenance(1)) } != 0 {
        // A program that deletes keys that it did not create has deleted ours.
        let _ = KEY.compare_exchange(key, NO_KEY, Relaxed, Relaxed);
        return false;
    }
    enter();
    true
}

/// Returns the slot of an exiting thread.
extern "C" fn destructor(_: *mut libc::c_void) {
    let _stay = Stay::begin();
    thread::exits(tls::token());
}

/// Creates the key. The constructor calls this once.
pub(super) fn start() {
    let mut keys = [None; KEYS_WITHOUT_ALLOCATION as usize];
    for key in &mut keys {
        let mut made = 0;
        // SAFETY: `made` is writable and `destructor` has a destructor's signature.
        if unsafe { libc::pthread_key_create(&mut made, Some(destructor)) } != 0 {
            break;
        }
        *key = Some(made);
        if made >= KEYS_WITHOUT_ALLOCATION {
            break;
        }
    }
    let kept = keys.into_iter().flatten().filter(|key| *key < KEYS_WITHOUT_ALLOCATION).max();
    for key in keys.into_iter().flatten().filter(|key| Some(*key) != kept) {
        // SAFETY: we created the key, and no thread has a value for it.
        unsafe { libc::pthread_key_delete(key) };
    }
    if let Some(key) = kept {
        // The function is resolved now: no lock path asks the loader for it.
        // SAFETY: the key is ours, and its value is null already.
        unsafe { libc::pthread_setspecific(key, ptr::null()) };
    }
    // ORDERING exit.end: pairs with the SeqCst load in `notice`; the key exists.
    KEY.store(kept.map_or(NO_KEY, i64::from), SeqCst);
}

/// Stops detecting exits, permanently: from here on no thread gets a slot, and those that have one keep it for ever.
/// Gives the key back to the process and returns `true`, unless other threads stay too long in code that it waits for.
pub fn end_exit_key() -> bool {
    // ORDERING exit.end: SeqCst swap, then the SeqCst load in `are_none_busy`, as `Stay::begin` says.
    let key = KEY.swap(NO_KEY, SeqCst);
    let Ok(number) = libc::pthread_key_t::try_from(key) else { return false };
    // Threads that saw the key have entered; after that no thread publishes an area; after that (4) holds.
    let ended = are_none_busy() && withdraw_areas(yielder());
    // SAFETY: the key is ours. Threads that have a value for it exit without a call from now on.
    if ended && unsafe { libc::pthread_key_delete(number) } == 0 {
        // Threads may be exiting right now.
        are_none_busy();
    }
    ended
}

/// Forgets the threads that were busy with the key, in a forked child, where they do not exist.
pub(super) fn forget_others() {
    BUSY.store(0, Relaxed);
}

/// Stops all access to threads' areas; returns whether all observers were seen to end.
fn withdraw_areas(mut yielder: impl Iterator<Item = ()>) -> bool {
    thread::taken().for_each(|entry| entry.area.withdraw());
    thread::taken().all(|entry| yielder.any(|()| !entry.area.is_observed()))
}

/// Waits until no thread is using the key, but not for ever, since one may have been interrupted there by a signal
/// whose handler ends the process.
fn are_none_busy() -> bool {
    // ORDERING exit.end: SeqCst load after the swap of `KEY` (`Stay::begin`); pairs with the Release of `Stay`'s end.
    yielder().any(|()| BUSY.load(SeqCst) == 0)
}

/// Returns an iterator of steps that are 50 us apart, for a tenth of a second.
fn yielder() -> impl Iterator<Item = ()> {
    (0..limits::EXIT_NAPS).map(|poll| {
        if poll > 0 {
            sys::nap(limits::NAP_NS);
        }
    })
}
