//! Condition variables, for mutexes of every kind and policy.
//!
//! | bits of `word` | name | meaning |
//! |---|---|---|
//! | 0..32 | sequence | signals and broadcasts so far, modulo 2^32; the futex |
//! | 32..63 | count | at least the waiters for which no signal has been counted yet |
//! | 63 | `POLLING` | a waiter polls the sequence and is not counted: the next signal is for it |
//!
//! A waiter adds 1 to the count, from which it learns the sequence, releases the mutex, and sleeps unless the sequence
//! changed. A signal with count 0 does nothing; otherwise it takes 1 from the count, adds 1 to the sequence, and wakes
//! the longest sleeper. A waiter that finds no waiter counted may poll the sequence for some microseconds before it is
//! counted and sleeps ([`turnwise::condvar::SpinThenSleep`]): a signal that finds it only adds 1 to the sequence and
//! clears the flag, and need not call the kernel. A waiter is "unchanged" while the sequence is what it was when the
//! waiter arrived. A wake-up is under way from the signal's exchange until a waiter that it woke has left, or passed it
//! on.
//!
//! Invariants:
//!
//! 1. count + wake-ups under way >= sleepers, and count >= waiters that are unchanged. An unchanged waiter that leaves
//!    takes its own 1 back. A changed one does not: a signal may have been counted for it, so the count may then be too
//!    high. A wake-up that finds no sleeper although the word is unchanged proves this, and sets the count to 0.
//! 2. A changed waiter sleeps only if it already slept when the sequence changed. So every sleeper sees the sequence as
//!    it is or came to the kernel's queue before the change, and the queue is in the order of arrival, except for
//!    unchanged waiters among themselves (which are queued again after a signal handler). The kernel wakes the first of
//!    the queue, but real-time threads ahead of all others.
//! 3. A signal's wake-up is meant for those that arrived before it. A waiter that is woken while unchanged was not
//!    meant. By 2 no waiter that was meant sleeps any more: the wake-up is used up (return from the wait is a spurious
//!    wake-up, which POSIX allows), and nothing may be passed on, or newcomers would pass it round forever. Only a
//!    real-time thread may have been preferred to one that was meant: it counts for a broadcast, after which all
//!    waiters are changed.
//! 4. A cancelled waiter may also have been woken. If it is changed, it may have been meant, and others with it: it
//!    wakes the first sleeper, which is one of them if any sleeps. That one sees itself changed and keeps the wake-up,
//!    or is unchanged, and 3 holds. Either way the chain has ended. If the cancelled waiter is unchanged, 3 holds for
//!    itself. So a cancellation wakes at most one other thread (but for real-time threads), and none without a signal.
//! 5. From arrival to its last access a waiter is counted in `inside`; `destroy` waits until there is none. So the
//!    object's memory may be freed after `destroy`, as POSIX guarantees right after a broadcast.
//! 6. While `POLLING` is set by a thread of this process, that thread polls, or is about to poll again or to clear the
//!    flag. A thread that changes the sequence clears the flag in the same step, so the thread that set it either finds
//!    the sequence changed, and was notified, or clears the flag and is counted, as unchanged, in one step.
//!
//! A broadcast moves no waiter to the mutex's queue: a moved waiter whose system call is restarted by a signal handler
//! would access a condition variable that may be gone. (The C library does not move waiters either.)
//!
//! A waiter misses a signal if exactly 2^32 of them come between its arrival and its sleep. Where waiters have
//! different real-time priorities, it may also miss one if the signaller is preempted before it wakes a thread, and
//! meanwhile two newcomers of higher priority arrive and a second signal comes: both wake-ups go to the newcomers,
//! which are changed.

mod protocol;

pub(crate) use protocol::Leave;

use crate::layout::Cond;
use crate::{policy, real};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicUsize};
use libc::{c_int, pthread_cond_t, pthread_condattr_t};
use protocol::Words;
use turnwise::platform::Native;
use turnwise::platform::native::may_be_filtered;

/// Returns whether the kernel may wake this thread before some that slept earlier: it is a real-time thread, or its
/// scheduling policy is unknown, since a filter may forbid the query.
#[cold]
pub(crate) fn may_overtake() -> bool {
    if may_be_filtered() {
        return true;
    }
    // SAFETY: 0 is the calling thread; nothing is written.
    let policy = unsafe { libc::sched_getscheduler(0) };
    !matches!(policy, libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE)
}

/// Makes a condition variable of raw memory.
///
/// # Safety
/// `object` is writable and no thread uses it; `attributes` is null or initialised.
pub(crate) unsafe fn init(object: *mut pthread_cond_t, attributes: *const pthread_condattr_t) -> c_int {
    let (mut clock, mut shared) = (libc::CLOCK_REALTIME, libc::PTHREAD_PROCESS_PRIVATE);
    if !attributes.is_null() {
        // SAFETY: the results are writable; these functions only read the attributes.
        unsafe {
            libc::pthread_condattr_getclock(attributes, &mut clock);
            libc::pthread_condattr_getpshared(attributes, &mut shared);
        }
    }
    if shared != libc::PTHREAD_PROCESS_PRIVATE || policy::stands_aside() {
        // SAFETY: contract of `init`, which is that of `real::pthread_cond_init`.
        return unsafe { real::pthread_cond_init(object, attributes) };
    }
    // SAFETY: contract of `init`: the object is writable; zero bytes are a valid condition variable.
    unsafe {
        object.write_bytes(0, 1);
        Cond::of(object).clock.store(clock as u32, Relaxed);
    }
    0
}

/// Where glibc marks a process-shared condition variable: the byte offset of the mark's word; 0: not yet known. glibc
/// has moved it before (36 up to 2.41, 28 since), so it is found by making one.
static MARK: AtomicUsize = AtomicUsize::new(0);

/// Bit 0 of glibc's mark: process-shared.
const MARK_SHARED: u32 = 1;
/// Bit 1 of glibc's mark: timed waits are on the monotonic clock.
const MARK_MONOTONIC: u32 = 2;

/// Returns glibc's mark in a condition variable; 0 in ours.
fn mark(cond: &Cond) -> u32 {
    let offset = match MARK.load(Relaxed) {
        0 => match find_mark() {
            0 => return MARK_SHARED, // equivalent to shared: all are the C library's
            found => found,
        },
        offset => offset,
    };
    let address = ptr::from_ref(cond).cast::<u8>().wrapping_add(offset).cast::<AtomicU32>();
    // SAFETY: inside the object's 48 bytes, and aligned.
    unsafe { &*address }.load(Relaxed)
}

/// Returns whether the C library must handle `cond`, since it is process-shared.
pub(crate) fn is_foreign(cond: &Cond) -> bool {
    mark(cond) & MARK_SHARED != 0
}

/// Returns the clock of a process-shared condition variable's timed waits.
pub(crate) fn foreign_clock(cond: &Cond) -> c_int {
    if mark(cond) & MARK_MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// Finds glibc's mark by making a process-shared condition variable: the only word that is not 0. It stays 0, and
/// unknown, where all locks are the C library's.
#[cold]
pub(crate) fn find_mark() -> usize {
    if policy::stands_aside() {
        return 0;
    }
    // SAFETY: all bytes zero are valid for both; the attributes are initialised, used and destroyed here; the object's
    // 48 bytes are 12 words.
    let words = unsafe {
        let mut object = core::mem::zeroed::<pthread_cond_t>();
        let mut attributes = core::mem::zeroed::<pthread_condattr_t>();
        libc::pthread_condattr_init(&mut attributes);
        libc::pthread_condattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
        real::pthread_cond_init(&mut object, &attributes);
        libc::pthread_condattr_destroy(&mut attributes);
        core::mem::transmute::<pthread_cond_t, [u32; 12]>(object)
    };
    let found = words.iter().position(|w| w & MARK_SHARED != 0).map_or(GLIBC_2_36_MARK, |index| index * 4);
    MARK.store(found, Relaxed);
    found
}

const GLIBC_2_36_MARK: usize = 36;

impl Cond {
    /// Returns its words, on which the protocol works.
    #[inline(always)]
    pub(crate) fn words(&self) -> Words<'_, Native> {
        Words { word: &self.word, inside: &self.inside, spin_then_sleep: &self.spin_then_sleep }
    }

    /// Returns the clock of timed waits that do not name one.
    pub(crate) fn own_clock(&self) -> c_int {
        self.clock.load(Relaxed) as c_int
    }
}
