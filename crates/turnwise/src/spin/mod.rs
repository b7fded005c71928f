//! Spin locks: waiting is looking. For code that cannot sleep, and for sections of a few instructions with no more
//! threads than CPUs. Everywhere else take [`crate::Mutex`]: a spinner that waits for a thread that is off its CPU
//! burns a time slice, and the fair ones among these do so for every thread in the line.
//!
//! | lock | bytes | order | waiters look at | unlock needs |
//! |---|---|---|---|---|
//! | [`SpinLock`] | 4 | none: whoever comes | the lock word | nothing |
//! | [`TicketLock`] | 4 | first come, first served | the lock word | nothing |
//! | [`QueuedSpinLock`] | 4 | first come, first served in the queue | own node, in static memory | nothing |
//! | [`McsLock`] | 8 | first come, first served | own node, on the stack | the node |
//!
//! The raw types have no data. The first three are released without anything that the acquisition left behind, which
//! is what a C interface needs; [`RawSpin`] is what they have in common, and [`Lock`] puts data and guards on top.

mod lock;
pub mod mcs;
mod queued;
mod ticket;
mod ttas;

pub use lock::{Lock, SpinGuard};
pub use mcs::{McsLock, RawMcsLock};
pub use queued::{QueuedSpinLock, RawQueuedSpinLock};
pub use ticket::{RawTicketLock, TicketLock};
pub use ttas::{RawSpinLock, SpinLock};

use crate::platform::{Clock, Deadline, Platform};

/// A spin lock without data, released by `unlock` alone.
///
/// # Safety
/// At most one thread is between an acquisition (`lock`, or `try_lock` or `lock_until` that returned `true`) and the
/// `unlock` after it; what it wrote there is visible to the next. `unlock` may be called on any thread and touches
/// nothing after releasing.
pub unsafe trait RawSpin: Send + Sync {
    /// The machine that it runs on.
    type Platform: Platform;

    /// Acquires the lock.
    fn lock(&self);

    /// Acquires the lock if it is free.
    fn try_lock(&self) -> bool;

    /// Acquires the lock, or gives up at `deadline`; says whether it got it.
    fn lock_until(&self, deadline: Deadline) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The lock is held, and whoever acquired it does not release it too.
    unsafe fn unlock(&self);

    /// Whether somebody has the lock at this moment.
    fn is_locked(&self) -> bool;

    /// What has happened to this lock so far; a lock that does not count says that nothing did.
    #[cfg(feature = "stats")]
    fn stats(&self) -> crate::events::Stats {
        crate::events::Stats::ZERO
    }
}

/// Longest spin between two looks at the wall clock, which may be set while we wait.
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
