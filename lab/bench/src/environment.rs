//! The worlds that a workload runs in: one source for this machine and for the simulated one.

use crate::work;
use std::time::Duration;
use turnwise::platform::{Native, Platform};

/// What the threads of a workload need in addition to a lock. A simulator charges the time to the caller.
pub trait Environment: Platform {
    /// How much the length of thinking varies: on metal always by half, either way.
    type Jitter: Copy + Send + Sync + 'static;

    /// Returns how much work takes about `ns` nanoseconds.
    fn amount(ns: u64) -> u32;

    /// Works with the lock: always this much. Returns something that depends on `seed`.
    #[track_caller]
    fn work(seed: u64, amount: u32) -> u64;

    /// Works without the lock: about this much.
    #[track_caller]
    fn think(seed: u64, amount: u32, jitter: Self::Jitter) -> u64;

    /// Sleeps for `time`.
    #[track_caller]
    fn sleep(time: Duration);

    /// Prepares a thread that will sleep, before its first operation.
    fn prepare_to_sleep() {}
}

impl Environment for Native {
    type Jitter = ();

    fn amount(ns: u64) -> u32 {
        work::steps_for(Duration::from_nanos(ns))
    }

    #[inline(always)]
    fn work(seed: u64, amount: u32) -> u64 {
        work::work(seed, amount)
    }

    /// Varies, since threads that think for the same time in each round fall into a rhythm with each other, and the
    /// rhythm, which depends on the code around the lock, decides the cell (`docs/lab/0082`).
    #[inline(always)]
    fn think(seed: u64, amount: u32, (): ()) -> u64 {
        work::work(seed, work::about(seed, amount))
    }

    fn sleep(time: Duration) {
        std::thread::sleep(time);
    }

    /// Makes sleeps exact: the kernel otherwise rounds them up by 50 us.
    fn prepare_to_sleep() {
        // SAFETY: sets the calling thread's timer slack to 1 ns; no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    }
}
