//! The worlds that a workload runs in: one source for this machine and for the simulated one.

use crate::work;
use std::time::Duration;
use turnwise::platform::{Native, Platform};

/// What the threads of a workload need beside a lock. A simulator charges the time to the caller.
pub trait World: Platform {
    /// How much the length of thinking varies: nothing on metal, where no two rounds take the same time anyway.
    type Spread: Copy + Send + Sync + 'static;

    /// How much work takes about `ns` nanoseconds.
    fn amount(ns: u64) -> u32;

    /// Works with the lock: always so much. Returns something that depends on `seed`.
    #[track_caller]
    fn work(seed: u64, amount: u32) -> u64;

    /// Works without the lock: about so much.
    #[track_caller]
    fn think(seed: u64, amount: u32, spread: Self::Spread) -> u64;

    /// Sleeps.
    #[track_caller]
    fn sleep(time: Duration);

    /// In a thread that will sleep, before its first operation.
    fn prepare_to_sleep() {}
}

impl World for Native {
    type Spread = ();

    fn amount(ns: u64) -> u32 {
        work::steps_for(Duration::from_nanos(ns))
    }

    #[inline(always)]
    fn work(seed: u64, amount: u32) -> u64 {
        work::work(seed, amount)
    }

    #[inline(always)]
    fn think(seed: u64, amount: u32, (): ()) -> u64 {
        work::work(seed, amount)
    }

    fn sleep(time: Duration) {
        std::thread::sleep(time);
    }

    /// The kernel rounds sleeps up by 50 us otherwise.
    fn prepare_to_sleep() {
        // SAFETY: sets the calling thread's timer slack to 1 ns; no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    }
}
