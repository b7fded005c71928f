//! The platform of programs with std: every thread has a static slot, and waits sleep in the kernel.
//!
//! | file | contents |
//! |---|---|
//! | `thread.rs` | slots and tokens: the identity of a thread |
//! | `free.rs` | the slots that are free |
//! | `tls` | the thread-local words |
//! | `spin.rs` | the spin loop |
//! | `linux` | the services of Linux: futexes with lanes, CPUs, owners that do not run, exits, forks |
//! | `portable` | the same for any other system that has std, as far as all of them provide it |
//!
//! Both folders define the same names, and one of them is compiled. `--cfg turnwise_portable` selects the second on
//! Linux, so that it can be tested there.

mod free;
mod spin;
mod thread;
mod tls;

#[cfg(all(target_os = "linux", not(turnwise_portable)))]
mod linux;
#[cfg(any(not(target_os = "linux"), turnwise_portable))]
mod portable;

#[cfg(all(target_os = "linux", not(turnwise_portable)))]
use linux as system;
#[cfg(any(not(target_os = "linux"), turnwise_portable))]
use portable as system;

use super::{Deadline, Hint, Lane, Me, OnCpu, Parked, Pause, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

#[cfg(all(target_os = "linux", not(turnwise_portable)))]
pub use linux::{assume_filtered, end_exit_key, find_filter, is_alien_key, is_clock_faked, may_be_filtered, tid};
pub use system::generation;
pub use thread::{SLOTS, introduce, thread_of, waiting};

/// Returns a number that no other live thread has: the address of the calling thread's words. Unlike a token, every
/// thread has one.
#[inline]
pub(crate) fn thread_address() -> usize {
    core::ptr::from_ref(tls::words()).addr()
}

/// Returns what `on_cpu` rests on in this process, for reports: `rseq`, Linux's restartable sequences (the same-CPU
/// test and published spinners), or `none`, where the system has none or the C library registers no area for them.
#[must_use]
pub fn on_cpu_layer() -> &'static str {
    if system::is_registered() { "rseq" } else { "none" }
}

/// The watcher of this process, if there is one: see [`crate::live::watch`].
#[cfg(feature = "live")]
pub(crate) static WATCHER: AtomicPtr<crate::live::Watcher> = AtomicPtr::new(core::ptr::null_mut());

/// The number of thread-local counters: [`crate::events::here`].
#[cfg(feature = "thread-events")]
pub(crate) const THREAD_COUNTS: usize = 8;

/// Returns the calling thread's event counters.
#[cfg(feature = "thread-events")]
#[inline(always)]
pub(crate) fn thread_counts() -> &'static [AtomicU32; THREAD_COUNTS] {
    &tls::words().counts
}

/// Defines functions of the platform as those of the same name in a module of this folder.
macro_rules! those_of {
    ($($(#[$attribute:meta])? $module:ident: $name:ident($($argument:ident: $type:ty),*) -> $out:ty;)*) => {$(
        $(#[$attribute])?
        fn $name($($argument: $type),*) -> $out {
            $module::$name($($argument),*)
        }
    )*};
}

/// The platform of programs that have std.
///
/// ```
/// use turnwise::platform::{Native, Platform};
///
/// let before = Native::now();
/// assert!(Native::now() >= before);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Native;

// SAFETY: `thread.rs` hands each token to one thread at a time; slots are in a static.
unsafe impl Platform for Native {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;

    #[inline(always)]
    fn pause(pause: Pause) {
        match pause {
            Pause::Relax => spin::relax(),
            Pause::Rest(ns) => spin::rest(ns),
            Pause::Yield => system::yield_now(),
            Pause::Offer => system::yield_bounded(),
            Pause::Nap(ns) => system::nap(ns),
        }
    }

    #[inline]
    fn spin_until<W: Word>(
        word: &W,
        ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        spin::spin_until(word, ready, limit)
    }

    #[inline(always)]
    fn calls_may_be_left() -> bool {
        true
    }

    those_of! {
        system: park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked;
        system: wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32;
        system: has_lanes() -> bool;
        system: requeue(from: &AtomicU32, expected: u32, to: *const AtomicU32) -> Option<u32>;
        system: now() -> u64;
        system: wall() -> u64;
        #[inline]
        system: generation() -> u32;
        thread: me() -> Option<Me<Self>>;
        thread: slot(token: Token) -> &'static ThreadSlot<Self>;
    }

    fn on_cpu(token: Token) -> OnCpu {
        system::on_cpu_at(token, system::now)
    }

    #[inline(always)]
    fn current() -> Token {
        tls::token()
    }

    #[inline(always)]
    fn hint(hint: Hint) -> u32 {
        match hint {
            Hint::Cpu => system::cpu(),
            Hint::Cpus => system::cpus(),
            Hint::Node => system::node(),
            Hint::LineNs => spin::line_ns(),
        }
    }
}
