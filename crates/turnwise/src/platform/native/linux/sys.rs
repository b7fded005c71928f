//! System calls. None of them changes `errno`: a lock call between a failed call and the program's read of `errno` must
//! not disturb it.
//!
//! Where a filter may vet them (`filter.rs`), they are those of the C library: waits without a deadline by
//! `FUTEX_WAIT`, those of readers by `FUTEX_WAIT_BITSET`, as in its readers-writer lock, with all bits set, and
//! wake-ups by `FUTEX_WAKE`. Neither knows lanes. A thread that is woken on behalf of another lane checks, and sleeps
//! again; so a wake-up of lane `First` wakes all. The mutex and the readers-writer lock, whose threads may sleep while
//! the filter is announced, wake all of that lane anyway: such a sleeper is in all lanes.

use super::filter::may_be_filtered;
use crate::platform::{Clock, Deadline, Lane, Parked};
use core::ptr;
use core::sync::atomic::AtomicU32;

/// Restores the thread's `errno` when dropped.
struct KeepErrno(i32);

impl KeepErrno {
    fn new() -> Self {
        // SAFETY: the C library's errno location is valid for the calling thread.
        KeepErrno(unsafe { *libc::__errno_location() })
    }

    fn now(&self) -> i32 {
        // SAFETY: the C library's errno location is valid for the calling thread.
        unsafe { *libc::__errno_location() }
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: the C library's errno location is valid for the calling thread.
        unsafe { *libc::__errno_location() = self.0 }
    }
}

fn bitset(lane: Lane) -> u32 {
    match lane {
        Lane::Waiters => 1,
        Lane::First => 2,
        Lane::Readers => 4,
    }
}

fn timespec(ns: u64) -> libc::timespec {
    const SECOND: u64 = 1_000_000_000;
    libc::timespec { tv_sec: (ns / SECOND) as _, tv_nsec: (ns % SECOND) as _ }
}

/// Returns the operation of a wait.
fn wait_op(lane: Lane, deadline: Option<Deadline>) -> i32 {
    match deadline.map(|deadline| deadline.clock) {
        None if !may_be_filtered() => libc::FUTEX_WAIT_BITSET,
        None if lane != Lane::Readers => libc::FUTEX_WAIT,
        Some(Clock::Monotonic) => libc::FUTEX_WAIT_BITSET,
        // Without a time the clock is irrelevant; the C library names this one.
        None | Some(Clock::Realtime) => libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME,
    }
}

/// Implements [`crate::platform::Platform::park`].
pub(crate) fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
    let op = wait_op(lane, deadline) | libc::FUTEX_PRIVATE_FLAG;
    let time = deadline.map(|d| timespec(d.at));
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let errno = KeepErrno::new();
    let bits = if may_be_filtered() { libc::FUTEX_BITSET_MATCH_ANY as u32 } else { bitset(lane) };
    // SAFETY: `word` outlives the call; `time` is null or points to a timespec on this stack.
    let r = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, expected, time, ptr::null::<u32>(), bits) };
    if r == 0 {
        return Parked::Woken;
    }
    match errno.now() {
        libc::ETIMEDOUT => Parked::TimedOut,
        libc::EINTR => Parked::Interrupted,
        libc::EFAULT | libc::EINVAL => refused(),
        // EAGAIN, or the kernel has no such wait (ENOSYS), or a filter forbids it (most answer EPERM): then waits poll,
        // with pauses in between.
        _ => Parked::Changed,
    }
}

/// Ends the process as the C library does for a wait that no valid lock can cause: its memory was unmapped, or its
/// address is misaligned.
#[cold]
fn refused() -> ! {
    const WHY: &[u8] = b"The futex facility returned an unexpected error code.\n";
    // SAFETY: writes these bytes, and ends the process.
    unsafe {
        libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
        libc::abort()
    }
}

/// Implements [`crate::platform::Platform::wake`].
pub(crate) fn wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32 {
    let filtered = may_be_filtered();
    let op = if filtered { libc::FUTEX_WAKE } else { libc::FUTEX_WAKE_BITSET } | libc::FUTEX_PRIVATE_FLAG;
    // Without lanes the first to wake may not be the intended one.
    let count = if filtered && lane == Lane::First { u32::MAX } else { count }.min(i32::MAX as u32);
    let _errno = KeepErrno::new();
    // SAFETY: a private futex wake uses the address as a number; it reads no memory there.
    let woken = unsafe {
        let none = ptr::null::<libc::timespec>();
        libc::syscall(libc::SYS_futex, word, op, count, none, ptr::null::<u32>(), bitset(lane))
    };
    u32::try_from(woken).unwrap_or(0)
}

/// Implements [`crate::platform::Platform::has_lanes`].
pub(crate) fn has_lanes() -> bool {
    !may_be_filtered()
}

/// Implements [`crate::platform::Platform::requeue`].
pub(crate) fn requeue(from: &AtomicU32, expected: u32, to: *const AtomicU32) -> Option<u32> {
    if cfg!(miri) || may_be_filtered() {
        return None; // Miri has no FUTEX_CMP_REQUEUE
    }
    let op = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    let _errno = KeepErrno::new();
    // SAFETY: `from` is alive; the kernel validates `to` and answers EFAULT if it is gone.
    let moved = unsafe { libc::syscall(libc::SYS_futex, from.as_ptr(), op, 1, i32::MAX as usize, to, expected) };
    u32::try_from(moved).ok()
}

/// Implements [`crate::platform::Pause::Nap`]. It avoids the C library's function, which is a cancellation point: no
/// lock path may be one, nor any code that a thread's exit calls. And it waits as a lock does: a filter that permits
/// locks to sleep permits this.
pub(crate) fn nap(ns: u32) {
    let time = timespec(ns.into());
    let _errno = KeepErrno::new();
    if cfg!(miri) {
        // Miri does not accept such a time through the system call.
        // SAFETY: `time` is a timespec on this stack; the pointer for the remaining time is null.
        unsafe { libc::nanosleep(&time, ptr::null_mut()) };
        return;
    }
    let nobody_wakes = AtomicU32::new(0);
    if may_be_filtered() {
        // The C library's locks have no wait with a relative time.
        let end = Deadline { clock: Clock::Monotonic, at: now().saturating_add(ns.into()) };
        park(&nobody_wakes, 0, Lane::Waiters, Some(end));
        return;
    }
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and `time`, a length here, are on this stack.
    unsafe { libc::syscall(libc::SYS_futex, nobody_wakes.as_ptr(), op, 0, &raw const time) };
}

/// Implements [`crate::platform::Platform::now`].
#[inline]
pub(crate) fn now() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Implements [`crate::platform::Platform::wall`].
pub(crate) fn wall() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    super::clock::gettime(clock, &mut time);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
