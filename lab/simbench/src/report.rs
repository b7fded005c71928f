//! The results of simulated runs: one type, from which the text, the JSON and the HTML are made.
//!
//! It contains nothing of the host, neither its name nor how long it took: one seed gives one report, byte for byte.

use serde::{Deserialize, Serialize};
use turnwise_bench::report::Waits;
use turnwise_sim::spec::Machine;

/// The format of [`SimReport`] as JSON. Raised when a field changes its meaning or is removed.
pub const FORMAT: &str = "turnwise-sim/1";

/// A sweep, or a part of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SimReport {
    /// [`FORMAT`].
    pub format: String,
    /// The command line that repeats the whole sweep.
    pub command: String,
    /// The commit of the program, if known.
    pub commit: Option<String>,
    /// The simulated machine.
    pub machine: SimMachine,
    /// What the threads do.
    pub workload: String,
    /// Simulated time of the measured interval of each cell.
    pub duration_ns: u64,
    /// Simulated time before it.
    pub warm_up_ns: u64,
    /// Random seed.
    pub seed: u64,
    /// Which part of the sweep this is, and of how many: (1, 1) for all of it.
    pub part: (u32, u32),
    /// Cells of the whole sweep.
    pub cells_in_all: u32,
    /// One for each lock and number of CPUs or threads, in the order of the sweep.
    pub cells: Vec<Cell>,
}

/// A simulated machine.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SimMachine {
    /// Its name.
    pub name: String,
    /// One line.
    pub title: String,
    /// CPUs in all.
    pub cpus: u32,
    /// Memory nodes.
    pub nodes: u32,
    /// A hash of all its numbers: reports of different machines do not merge.
    pub fingerprint: String,
    /// Numbers that are recalled or guessed: keys of the machine file.
    pub provisional: Vec<String>,
    /// Numbers of the machine file in all; 0 in reports from before they were counted.
    #[serde(default)]
    pub numbers: u32,
    /// How many of them are recalled or guessed.
    #[serde(default)]
    pub from_memory: u32,
}

impl SimMachine {
    /// Describes this machine.
    #[must_use]
    pub fn of(machine: &Machine) -> SimMachine {
        SimMachine {
            name: machine.name.clone(),
            title: machine.title.clone(),
            cpus: machine.topology.cpus(),
            nodes: machine.topology.nodes,
            fingerprint: machine.fingerprint(),
            provisional: machine.provisional().into_iter().map(str::to_owned).collect(),
            numbers: machine.numbers().count() as u32,
            from_memory: machine.numbers().filter(|number| number.provisional).count() as u32,
        }
    }
}

/// One simulated run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Its place in the whole sweep, from 0.
    pub index: u32,
    /// The lock.
    pub lock: String,
    /// CPUs that the threads may use.
    pub cpus: u32,
    /// Nodes that these CPUs belong to.
    pub nodes: u32,
    /// Threads.
    pub threads: u32,
    /// Its own seed, drawn from the sweep's.
    pub seed: u64,
    /// What it found, or why it found nothing.
    pub result: Result<Figures, Stuck>,
}

/// What a run found in its measured interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Operations of all threads.
    pub ops: u64,
    /// How many of these are reads; `None` where the lock does not report it.
    pub reads: Option<u64>,
    /// Operations per simulated second.
    pub ops_per_s: f64,
    /// Length of the interval over the operations.
    pub op_ns: f64,
    /// CPU time, in threads and the system, over the operations.
    pub cpu_ns: f64,
    /// Operations of the least busy thread over those of the busiest (with the same role).
    pub fairness: f64,
    /// Times from asking to having the lock.
    pub wait: Option<Waits>,
    /// Times from having the lock to having released it.
    pub hold: Option<Waits>,
    /// Acquisitions by where the last owner was.
    pub handoffs: Handoffs,
    /// Cache lines that moved from one cache to another, over the operations.
    pub transfers_per_op: f64,
    /// How many of these moved between nodes, over the operations.
    pub remote_transfers_per_op: f64,
    /// Times that a thread slept or yielded to another.
    pub voluntary: u64,
    /// Times that a thread was preempted.
    pub involuntary: u64,
    /// Where CPU time went, most first; the shares of all rows, idle time included, are 1 together.
    pub profile: Vec<ProfileRow>,
    /// Notes on these figures.
    pub notes: Vec<String>,
}

/// Acquisitions by where the last owner was.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Handoffs {
    /// By the thread that had the lock before.
    pub same_thread: u64,
    /// Another thread of the same node.
    pub same_node: u64,
    /// A thread of another node.
    pub other_node: u64,
    /// Mean number of acquisitions in a row by one thread.
    pub run_length: f64,
}

/// Time that CPUs spent in a function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProfileRow {
    /// The function, or what the CPU did: idle, context switch.
    pub function: String,
    /// The file and line of the operation, if it is one of the locks'.
    pub place: Option<String>,
    /// What it did there: compute, memory, spin, system, idle.
    pub kind: String,
    /// Share of the CPUs' time.
    pub share: f64,
}

/// A run in which some threads got nowhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stuck {
    /// Deadlock, livelock, starvation.
    pub what: String,
    /// Which thread holds what and which waits for what, line by line.
    pub who: String,
    /// The command that repeats it.
    pub replay: String,
}
