//! What the tests have in common.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise::platform::Platform;
use turnwise_sim::spec::{ByClass, Machine, NS, Protocol, Topology};
use turnwise_sim::{Config, Happened, Outcome, Sim, SimWord};

/// A word of the simulated memory.
pub(crate) type Word32 = SimWord<u32>;

/// Notes that several threads take.
pub(crate) type Notes<T> = Rc<RefCell<Vec<T>>>;

/// Creates empty notes.
pub(crate) fn notes<T>() -> Notes<T> {
    Rc::new(RefCell::new(Vec::new()))
}

/// Returns a machine, the same on each call.
pub(crate) fn config(machine: &Arc<Machine>, seed: u64) -> Config {
    Config::new(Arc::clone(machine), seed)
}

/// Returns the same with a trace.
pub(crate) fn traced(machine: &Arc<Machine>, seed: u64) -> Config {
    Config { traced: true, ..config(machine, seed) }
}

/// Returns the times of these events of a thread, in picoseconds, with the CPU.
pub(crate) fn when(outcome: &Outcome, thread: u32, what: impl Fn(Happened) -> bool) -> Vec<(u64, u32)> {
    let mine = outcome.trace.iter().filter(|event| event.thread == thread && what(event.what));
    mine.map(|event| (event.ps, event.cpu)).collect()
}

/// Returns when and where a thread got a CPU.
pub(crate) fn runs(outcome: &Outcome, thread: u32) -> Vec<(u64, u32)> {
    when(outcome, thread, |what| what == Happened::Runs)
}

/// Computes until this simulated time.
pub(crate) fn compute_until(ns: u64) {
    let now = Sim::time_ps();
    Sim::compute((ns * NS).saturating_sub(now) / NS);
}

/// Returns the caller's simulated time in this function, in picoseconds.
pub(crate) fn took(f: impl FnOnce()) -> u64 {
    let begin = Sim::time_ps();
    f();
    Sim::time_ps() - begin
}

/// Returns the token of a simulated thread.
pub(crate) fn token() -> turnwise::platform::Token {
    Sim::current()
}

fn table(ns: [u64; 6]) -> ByClass {
    ByClass(ns.iter().map(|ns| ns * NS).collect())
}

/// Returns four nodes in a row, each of two clusters of two cores of two threads: every possible distance, each at a
/// cost of its own.
pub(crate) fn row(protocol: Protocol) -> Machine {
    let mut machine = crate::support::machine(1, 1);
    let hops = (0..16u8).map(|place| (place / 4).abs_diff(place % 4)).collect();
    machine.topology =
        Topology { sockets: 4, nodes: 4, clusters_per_node: 2, cores_per_cluster: 2, threads_per_core: 2, hops };
    let costs = &mut machine.coherence;
    costs.protocol = protocol;
    costs.load_modified = table([10, 30, 50, 130, 210, 290]);
    costs.load_shared = table([6, 20, 26, 100, 180, 260]);
    costs.store_modified = table([12, 32, 52, 150, 230, 310]);
    costs.store_shared = table([14, 34, 54, 152, 232, 312]);
    costs.rmw_modified = table([16, 40, 60, 160, 240, 320]);
    costs.rmw_shared = table([18, 42, 62, 162, 242, 322]);
    costs.memory = table([80, 80, 80, 170, 250, 330]);
    machine
}

/// Returns a word that holds 0.
pub(crate) fn word() -> Word32 {
    turnwise::platform::Word::new(0)
}
