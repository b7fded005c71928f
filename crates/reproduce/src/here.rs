//! Runs a document's workload here, where the simulator would run it on its machine.

use std::thread;
use turnwise::platform::Native;
use turnwise_bench::world::World;
use turnwise_sim::scene::Crew;

/// Runs the crew here, all threads at once, and returns how long that took, in nanoseconds.
pub fn here<C: Crew>(crew: &C) -> u64 {
    let begin = <Native as World>::stamp();
    thread::scope(|scope| {
        for number in 0..crew.threads() {
            scope.spawn(move || crew.act(number));
        }
    });
    <Native as World>::stamp() - begin
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
