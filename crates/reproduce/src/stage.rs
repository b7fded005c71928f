//! Where a document's workload runs: on the simulated machine or here, from one source.

use std::thread;
use turnwise::platform::{Native, Platform};
use turnwise_bench::world::World;
use turnwise_sim::Sim;
use turnwise_sim::scene::Crew;

/// A world that also tells the time without a charge, so that what is measured does not change.
pub trait Stage: World {
    /// Nanoseconds since some beginning.
    fn stamp() -> u64;

    /// The calling thread has got on.
    fn progress() {}

    /// Does `call` as a system call of a kernel that is not preemptible, where that can be had.
    fn in_kernel<R>(call: impl FnOnce() -> R) -> R {
        call()
    }
}

impl Stage for Native {
    fn stamp() -> u64 {
        <Native as Platform>::now()
    }
}

impl Stage for Sim {
    fn stamp() -> u64 {
        Sim::time_ns()
    }

    fn progress() {
        Sim::progress();
    }

    fn in_kernel<R>(call: impl FnOnce() -> R) -> R {
        Sim::in_kernel(call)
    }
}

/// Runs the crew here, all threads at once, and returns how long that took, in nanoseconds.
pub fn here<C: Crew>(crew: &C) -> u64 {
    let begin = <Native as Stage>::stamp();
    thread::scope(|scope| {
        for number in 0..crew.threads() {
            scope.spawn(move || crew.act(number));
        }
    });
    <Native as Stage>::stamp() - begin
}

/// How often threads of this process have slept so far.
#[must_use]
pub fn voluntary() -> u64 {
    // SAFETY: all bytes zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_nvcsw as u64
}
