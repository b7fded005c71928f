//! Runs a document's workload here, where the simulator would run it on its machine.

use std::thread;
use turnwise::platform::Native;
use turnwise_bench::environment::Environment;
use turnwise_sim::experiment::ThreadGroup;

/// Runs the group here, all threads at once, and returns how long that took, in nanoseconds.
pub fn here<C: ThreadGroup>(group: &C) -> u64 {
    let begin = <Native as Environment>::stamp();
    thread::scope(|scope| {
        for number in 0..group.threads() {
            scope.spawn(move || group.act(number));
        }
    });
    <Native as Environment>::stamp() - begin
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
