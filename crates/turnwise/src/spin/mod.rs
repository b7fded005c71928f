//! Spin locks, whose waiters poll. They are for code that cannot sleep, and for sections of a few instructions with no
//! more threads than CPUs. Everywhere else use [`crate::Mutex`]: a spinner that waits for a thread that is off its CPU
//! burns CPU time, and the fair ones among these do so for every thread in the queue. On an operating system a spinner
//! without a deadline and without back-off yields now and then
//! ([`Policy::yield_after_ns`](crate::wait::Policy::yield_after_ns)), so that it does not keep that thread from running
//! for whole time slices.
//!
//! | lock | bytes | order | waiters spin on | unlock needs |
//! |---|---|---|---|---|
//! | [`SpinLock`] | 4 | none | the lock word | nothing |
//! | [`TicketLock`] | 4 | first come, first served | the lock word | nothing |
//! | [`QueuedSpinLock`] | 4 | first come, first served in the queue | own node, in static memory | nothing |
//! | [`McsLock`] | 8 | first come, first served | own node, on the stack | the node |
//!
//! The raw types have no data. The first three are released without any state from the acquisition, as a C interface
//! needs; they implement [`RawLock`](crate::raw::RawLock), and [`Lock`](crate::lock::Lock) adds data and guards.

/// Defines the constructors of locks of type `$raw`, which consist of a word, a back-off policy and counters.
macro_rules! constructors {
    ($raw:ident) => {
        impl $raw {
            /// Creates an unlocked lock without back-off.
            #[must_use]
            pub const fn new() -> Self {
                Self::with_backoff()
            }
        }

        impl<B: Backoff> $raw<B> {
            /// Creates an unlocked lock with the back-off policy of its type.
            #[must_use]
            pub const fn with_backoff() -> Self {
                Self::const_new_in()
            }
        }

        impl<B: Backoff, P: ConstPlatform> $raw<B, P> {
            /// Creates an unlocked lock on any platform that uses core's atomics; usable in constants and statics.
            #[must_use]
            pub const fn const_new_in() -> Self {
                $raw { word: $crate::spin::zero(), backoff: PhantomData, counters: Counters::new() }
            }
        }

        impl<B: Backoff, P: Platform> $raw<B, P> {
            /// Creates an unlocked lock on any platform.
            pub fn new_in() -> Self {
                $raw { word: P::U32::new(0), backoff: PhantomData, counters: Counters::new() }
            }
        }

        impl<T> Lock<$raw, T> {
            /// Creates an unlocked lock without back-off.
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn new(value: T) -> Self {
                Lock::from_raw($raw::new(), value)
            }
        }

        impl<T, B: Backoff> Lock<$raw<B>, T> {
            /// Creates an unlocked lock with the back-off policy of its type.
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn with_backoff(value: T) -> Self {
                Self::const_new_in(value)
            }
        }

        impl<T, B: Backoff, P: ConstPlatform> Lock<$raw<B, P>, T> {
            /// Creates an unlocked lock on any platform that uses core's atomics; usable in constants and statics.
            #[cfg_attr(feature = "order-check", track_caller)]
            pub const fn const_new_in(value: T) -> Self {
                Lock::from_raw($raw::const_new_in(), value)
            }
        }

        impl<B: Backoff> Default for $raw<B> {
            fn default() -> Self {
                Self::with_backoff()
            }
        }
    };
}

pub mod mcs;
mod queued;
mod ticket;
mod ttas;

pub use mcs::{McsLock, RawMcsLock};
pub use queued::{QueuedSpinLock, RawQueuedSpinLock};
pub use ticket::{RawTicketLock, TicketLock};
pub use ttas::{RawSpinLock, SpinLock};

use crate::platform::{Clock, Deadline, Platform};

/// The word of an unlocked lock.
const fn zero() -> core::sync::atomic::AtomicU32 {
    core::sync::atomic::AtomicU32::new(0)
}

/// The longest spin between two readings of the wall clock, which may be set while we wait.
const WALL_CLOCK_STEP_NS: u64 = 1_000_000;

/// Calls `attempt` with a limit on [`Platform::now`] until it succeeds or `deadline` has passed; at least once.
fn attempt_until<P: Platform>(deadline: Deadline, mut attempt: impl FnMut(u64) -> bool) -> bool {
    loop {
        let limit = match deadline.clock {
            Clock::Monotonic => deadline.at,
            Clock::Realtime => P::now() + deadline.at.saturating_sub(P::wall()).min(WALL_CLOCK_STEP_NS),
        };
        if attempt(limit) {
            return true;
        }
        if deadline.expired::<P>() {
            return false;
        }
    }
}
