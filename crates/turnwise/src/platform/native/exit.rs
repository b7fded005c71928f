//! Noticing that a thread exits: a pthread key, whose destructor gives the thread's slot back.
//!
//! 1. The key's value says no more than that the destructor is to run; which slot is given back, the thread's own words
//!    say. A stray `pthread_setspecific` can change the value.
//! 2. The key is the highest of those whose values the C library keeps in the thread's descriptor: setting one further
//!    up allocates, on a lock path. Low numbers stay free, as a program without this library has them: a
//!    `pthread_key_t` that nobody initialised is 0, and using it stays an error.
//! 3. Where none of those is free, no thread gets a slot.
//! 4. While threads exit unnoticed, nobody may look at their memory: before the key goes, all areas are withdrawn.

use super::{sys, thread};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI64, AtomicU32};

/// Keys whose values need no allocation (in glibc; other C libraries never allocate for one).
const KEYS_WITHOUT_ALLOCATION: u32 = 32;

/// There is no key: before the constructor, when none was free, and when it was given back.
const NO_KEY: i64 = -1;

/// The key, or [`NO_KEY`].
static KEY: AtomicI64 = AtomicI64::new(NO_KEY);
/// Threads that are taking a slot, or giving theirs back as they exit.
static BUSY: AtomicU32 = AtomicU32::new(0);

/// A thread's stay in code that the key's end has to wait for.
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
        // ORDERING exit.end: Release pairs with the SeqCst load in `are_none_busy`: what we did with the key comes
        // before its end.
        BUSY.fetch_sub(1, Release);
    }
}

/// Whether exits are noticed.
pub(super) fn are_noticed() -> bool {
    KEY.load(Relaxed) != NO_KEY
}

/// Whether this is the key whose destructor tells of exits, in a call that is not this crate's own: the caller has not
/// made it.
#[inline]
pub fn is_alien_key(key: u32) -> bool {
    KEY.load(Relaxed) == i64::from(key) && !thread::is_taking_slot()
}

/// Runs `enter` if the calling thread's exit is noticed from now on: the key lives on until `enter` is done.
pub(super) fn notice(enter: impl FnOnce()) -> bool {
    let _stay = Stay::begin();
    // ORDERING exit.end: see `Stay::begin`. A key that is seen was made by the constructor's SeqCst store.
    let key = KEY.load(SeqCst);
    let Ok(number) = libc::pthread_key_t::try_from(key) else { return false };
    // SAFETY: our key. The destructor runs for any value that is not null (1), and the C library does not allocate (2).
    if unsafe { libc::pthread_setspecific(number, ptr::without_provenance(1)) } != 0 {
        // A program that deletes keys which it did not make has deleted ours.
        let _ = KEY.compare_exchange(key, NO_KEY, Relaxed, Relaxed);
        return false;
    }
    enter();
    true
}

/// Runs in an exiting thread.
extern "C" fn destructor(_: *mut libc::c_void) {
    let _stay = Stay::begin();
    thread::exits();
}

/// Makes the key. Called once, by the constructor.
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
        // SAFETY: a key that we made; no thread has a value for it.
        unsafe { libc::pthread_key_delete(key) };
    }
    if let Some(key) = kept {
        // The function is found now: no lock path asks the loader for it.
        // SAFETY: our key; null is what it has.
        unsafe { libc::pthread_setspecific(key, ptr::null()) };
    }
    // ORDERING exit.end: pairs with the SeqCst load in `notice`; the key exists.
    KEY.store(kept.map_or(NO_KEY, i64::from), SeqCst);
}

/// Ends the noticing of exits, for good: from here on no thread gets a slot, and those that have one keep it for ever.
/// Gives the key back to the process and says so, unless other threads stay too long in what has to be waited for.
pub fn end_exit_key() -> bool {
    // ORDERING exit.end: see `Stay::begin`.
    let key = KEY.swap(NO_KEY, SeqCst);
    let Ok(number) = libc::pthread_key_t::try_from(key) else { return false };
    // Threads that saw the key have entered; after that nobody publishes an area; after that (4) holds.
    let ended = are_none_busy() && thread::withdraw_areas(patience());
    // SAFETY: our key. Threads that have a value for it exit without a call from now on.
    if ended && unsafe { libc::pthread_key_delete(number) } == 0 {
        // Those that exit just now.
        are_none_busy();
    }
    ended
}

/// In a forked child: the other threads are gone.
pub(super) fn forget_others() {
    BUSY.store(0, Relaxed);
}

/// Waits until no thread is at work with the key; not for ever, since one may have been interrupted there by a signal
/// whose handler ends the process.
fn are_none_busy() -> bool {
    // ORDERING exit.end: see `Stay::begin`; the load pairs with the Release of `Stay`'s end.
    patience().any(|()| BUSY.load(SeqCst) == 0)
}

/// Looks that are 50 us apart, for a tenth of a second.
fn patience() -> impl Iterator<Item = ()> {
    const LOOKS: u32 = 2_000;
    const SLEEP_NS: u64 = 50_000;
    (0..LOOKS).map(|look| {
        if look > 0 {
            sys::sleep_ns(SLEEP_NS);
        }
    })
}
