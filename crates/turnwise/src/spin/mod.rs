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

/// Implements the traits of the lock `$raw`, whose waiters poll, by its own functions: `take` takes a free lock at
/// once, `lock_slow` waits, by the rules of the lock's queue if it has one, and `attempt` outside it, until a time if
/// there is one. An acquisition after a wait counts as `$how`. A comment where it is used says why the lock keeps the
/// contracts.
macro_rules! spin_lock {
    ([$($parameter:tt)*] $raw:ty, $name:literal, $how:ident, |$lock:ident| $try:expr) => {
        // SAFETY: as stated where this macro is used.
        unsafe impl<$($parameter)* P: Platform> $crate::raw::RawLock for $raw {
            const NAME: &'static str = $name;
            type Platform = P;
            type GuardMarker = $crate::raw::GuardSend;

            fn new_in() -> Self {
                Self::new_in()
            }

            #[inline]
            fn lock(&self) {
                let wait = || {
                    self.lock_slow();
                    true
                };
                self.counters.acquisition(self.take(), wait, Event::$how);
            }

            #[inline]
            fn try_lock(&self) -> bool {
                let $lock = self;
                self.counters.attempt($try)
            }

            #[inline]
            unsafe fn unlock(&self) {
                self.release();
            }

            fn is_locked(&self) -> bool {
                is_held(self.word.load(Relaxed))
            }

            #[cfg(feature = "stats")]
            fn stats(&self) -> $crate::events::Stats {
                self.counters.read()
            }
        }

        // SAFETY: as stated where this macro is used.
        unsafe impl<$($parameter)* P: Platform> $crate::raw::RawTimedLock for $raw {
            fn lock_until(&self, deadline: $crate::platform::Deadline) -> bool {
                let wait = || $crate::spin::attempt_until::<P>(deadline, |until| self.attempt(Some(until)));
                self.counters.acquisition(self.take(), wait, Event::Spun)
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
