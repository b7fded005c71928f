//! Linux: futex, vDSO clocks, static thread slots, and the restartable-sequence area for the CPU number.
//!
//! | file | what |
//! |---|---|
//! | `tls.rs` | the three words that every thread has of its own, reached without a call |
//! | `thread.rs` | slots and tokens: the identity of a thread |
//! | `exit.rs` | notices that a thread exits, and gives its slot back |
//! | `rseq.rs` | the area in which the kernel says on which CPU a thread runs |
//! | `cpus.rs` | the number of CPUs that the process may use |
//! | `on_cpu.rs` | layer 1 of "does the owner run?": the same-CPU test and published spinners |
//! | `generation.rs` | the number of this forked child |
//! | `offer.rs` | yields, and what they give away |
//! | `sys.rs` | the system calls |
//! | `watcher.rs` | feature `live`: who is told of waits |

mod cpus;
mod exit;
mod generation;
mod offer;
mod on_cpu;
mod rseq;
mod spin;
mod sys;
mod thread;
mod tls;
#[cfg(feature = "live")]
mod watcher;

use super::{Deadline, Lane, Me, OnCpu, Parked, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

pub use cpus::assume_cpus;
pub use exit::{end_exit_key, is_alien_key};
pub use generation::generation;
pub use on_cpu::{OnCpuLayer, on_cpu_layer};
pub use thread::{SLOTS, introduce, thread_of};
#[cfg(feature = "live")]
pub(crate) use watcher::watch;

/// Returns a number that no other live thread has: the address of the calling thread's words. Unlike a token, every
/// thread has one.
#[inline]
pub(crate) fn thread_address() -> usize {
    tls::words().addr()
}

/// The number of counters that every thread has of its own: [`crate::events::here`].
#[cfg(feature = "thread-events")]
pub(crate) const THREAD_COUNTS: usize = 8;

/// Returns the calling thread's event counters.
#[cfg(feature = "thread-events")]
#[inline(always)]
pub(crate) fn thread_counts() -> &'static [AtomicU32; THREAD_COUNTS] {
    // SAFETY: the counters live as long as the thread, and the reference does not leave it: callers use it at once.
    unsafe { &*tls::counts() }
}

/// The constructor. It runs before `main`, or when the library is loaded: all that needs the loader or may allocate
/// happens here, never on a lock path.
extern "C" fn start() {
    generation::start();
    cpus::start();
    rseq::start();
    spin::start();
    exit::start();
    // Miri has no fork.
    if !cfg!(miri) {
        // SAFETY: registers a handler that touches statics only.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// Forgets the parent's other threads, as a handler in a forked child.
extern "C" fn in_child() {
    generation::in_child();
    thread::forget_others();
    exit::forget_others();
}

/// The destructor. It runs when the process ends by `exit`, or when the library that contains this is unloaded: then a
/// thread that exits later must not find our code. The loader unregisters `in_child` by itself.
extern "C" fn end() {
    exit::end_exit_key();
}

/// The Linux platform.
pub struct Native;

// SAFETY: `thread.rs` hands each token to one thread at a time; slots are in a static.
unsafe impl Platform for Native {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;

    #[inline(always)]
    fn relax() {
        spin::relax();
    }

    fn rest(ns: u32) {
        spin::rest(ns);
    }

    fn line_ns() -> u32 {
        spin::line_ns()
    }

    fn yield_now() {
        offer::yield_now();
    }

    fn offer() {
        offer::offer();
    }

    fn nap(ns: u32) {
        sys::sleep_ns(ns.into());
    }

    #[inline]
    fn spin_until<W: Word>(
        word: &W,
        ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        spin::spin_until(word, ready, limit)
    }

    fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        sys::futex_wait(word, expected, lane, deadline)
    }

    fn wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32 {
        sys::futex_wake(word, lane, count)
    }

    fn requeue(from: &AtomicU32, expected: u32, to: *const AtomicU32) -> Option<u32> {
        sys::futex_requeue(from, expected, to)
    }

    fn now() -> u64 {
        sys::clock_ns(libc::CLOCK_MONOTONIC)
    }

    fn wall() -> u64 {
        sys::clock_ns(libc::CLOCK_REALTIME)
    }

    #[inline(always)]
    fn current() -> Token {
        tls::token()
    }

    fn me() -> Option<Me<Self>> {
        thread::me()
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        thread::slot(token)
    }

    fn on_cpu(token: Token) -> OnCpu {
        on_cpu::on_cpu(token)
    }

    #[inline]
    fn cpu() -> u32 {
        rseq::cpu()
    }

    #[inline]
    fn cpus() -> u32 {
        cpus::cpus()
    }

    #[inline]
    fn node() -> u32 {
        rseq::node()
    }

    #[inline]
    fn generation() -> u32 {
        generation()
    }

    #[cfg(feature = "live")]
    #[inline]
    fn watcher() -> Option<&'static crate::live::Watcher> {
        watcher::watcher()
    }
}
