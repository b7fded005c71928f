//! Runs a paper's workload here, where the simulator would run it on the paper's machine.

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
