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

    /// Computes for about `ns` nanoseconds. Returns something that depends on `seed`.
    #[track_caller]
    fn compute(seed: u64, ns: u64) -> u64;

    /// Sleeps for `time`.
    #[track_caller]
    fn sleep(time: Duration);

    /// Returns nanoseconds since some beginning. Reading it costs nothing in the simulator, so that what is measured
    /// does not change.
    fn stamp() -> u64;

    /// Notes that the calling thread has made progress, for detectors of stuck threads.
    fn progress() {}

    /// Does `call` as a system call of a kernel that is not preemptible, where that can be had.
    #[inline]
    fn in_kernel<R>(call: impl FnOnce() -> R) -> R {
        call()
    }

    /// Makes the calling thread run this program from now on: a simulator's profile distinguishes programs.
    #[inline]
    fn becomes(_command: &'static str) {}

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

    fn compute(seed: u64, ns: u64) -> u64 {
        work::work(seed, work::steps_of_ns(ns))
    }

    fn sleep(time: Duration) {
        std::thread::sleep(time);
    }

    fn stamp() -> u64 {
        <Native as Platform>::now()
    }

    /// Makes sleeps exact: the kernel otherwise rounds them up by 50 us.
    fn prepare_to_sleep() {
        // SAFETY: sets the calling thread's timer slack to 1 ns; no memory is involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    }
}
