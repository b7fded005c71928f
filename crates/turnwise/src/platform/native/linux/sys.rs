//! System calls. None of them changes `errno`: a lock call between a failed call and the program's look at `errno` must
//! not disturb it.

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

/// Implements [`crate::platform::Platform::park`].
pub(crate) fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
    let mut op = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let time = deadline.map(|d| timespec(d.at));
    if deadline.is_some_and(|d| d.clock == Clock::Realtime) {
        op |= libc::FUTEX_CLOCK_REALTIME;
    }
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let errno = KeepErrno::new();
    // SAFETY: `word` outlives the call; `time` is null or points to a timespec on this stack.
    let r =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, expected, time, ptr::null::<u32>(), bitset(lane)) };
    if r == 0 {
        return Parked::Woken;
    }
    match errno.now() {
        libc::ETIMEDOUT => Parked::TimedOut,
        libc::EINTR => Parked::Interrupted,
        _ => Parked::Changed, // EAGAIN
    }
}

/// Implements [`crate::platform::Platform::wake`].
pub(crate) fn wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32 {
    let op = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let count = count.min(i32::MAX as u32);
    let _errno = KeepErrno::new();
    // SAFETY: a private futex wake uses the address as a number; it reads no memory there.
    let woken = unsafe {
        let none = ptr::null::<libc::timespec>();
        libc::syscall(libc::SYS_futex, word, op, count, none, ptr::null::<u32>(), bitset(lane))
    };
    u32::try_from(woken).unwrap_or(0)
}

/// Implements [`crate::platform::Platform::requeue`].
pub(crate) fn requeue(from: &AtomicU32, expected: u32, to: *const AtomicU32) -> Option<u32> {
    if cfg!(miri) {
        return None; // Miri has no FUTEX_CMP_REQUEUE
    }
    let op = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    let _errno = KeepErrno::new();
    // SAFETY: `from` is alive; the kernel validates `to` and answers EFAULT if it is gone.
    let moved = unsafe { libc::syscall(libc::SYS_futex, from.as_ptr(), op, 1, i32::MAX as usize, to, expected) };
    u32::try_from(moved).ok()
}

/// Sleeps for about `ns`, or until a signal handler has run. It avoids the C library's function, which is a
/// cancellation point: no lock path may be one, nor any code that a thread's exit calls.
pub(super) fn sleep_ns(ns: u64) {
    let time = timespec(ns);
    let none = ptr::null_mut::<libc::timespec>();
    let _errno = KeepErrno::new();
    if cfg!(miri) {
        // Miri does not know the system call by number.
        // SAFETY: `time` is a timespec on this stack; the pointer for the remaining time is null.
        unsafe { libc::nanosleep(&time, none) };
        return;
    }
    // SAFETY: `time` is a timespec on this stack; the pointer for the remaining time is null.
    unsafe { libc::syscall(libc::SYS_clock_nanosleep, libc::CLOCK_MONOTONIC, 0, &raw const time, none) };
}

/// Implements [`crate::platform::Platform::nap`].
pub(crate) fn nap(ns: u32) {
    sleep_ns(ns.into());
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
    // SAFETY: `time` is writable; the clocks that we name exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the kernel's number of the calling thread. Not by the C library's function, which glibc has since
/// 2.30; Miri interprets that.
pub(crate) fn tid() -> u32 {
    if cfg!(miri) {
        // SAFETY: the call has no arguments and cannot fail.
        return unsafe { libc::gettid() as u32 };
    }
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Returns the CPU time that a thread of this process has had, in nanoseconds; `None` if there is no such thread.
pub(super) fn cpu_time_ns(tid: u32) -> Option<u64> {
    /// The kind of a clock that is a thread's (4) and as precise as the scheduler's own account (2).
    const OF_A_THREAD: libc::clockid_t = 6;
    if cfg!(miri) {
        return None; // Miri has no clocks of other threads
    }
    let clock = (!tid as libc::clockid_t) << 3 | OF_A_THREAD;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let _errno = KeepErrno::new();
    // SAFETY: `time` is writable; the kernel answers EINVAL for a clock that does not exist.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
