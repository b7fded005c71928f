//! Machine files: the types of the TOML, one field for each key, and the conversion to a [`Machine`].
//!
//! `docs/machine-files.md` explains each key to authors of such files. Every number has a source; times are in
//! nanoseconds or, with `cpu.ghz`, in cycles.

mod check;
mod error;
mod numbers;
mod topology;

pub(super) use error::SORT;
pub use error::SpecError;

use super::{Machine, OnCpuView, Protocol};
use serde::Deserialize;

/// A machine file.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFile {
    /// Its name for `--machine`: lower case letters, digits and hyphens.
    pub name: String,
    /// One line.
    pub title: String,
    /// Sockets, nodes, cores, threads, and how far they are apart.
    pub topology: TopologyTable,
    /// What instructions cost that find their line in their CPU's cache.
    pub cpu: CpuTable,
    /// What moving cache lines costs.
    pub coherence: CoherenceTable,
    /// The operating system.
    pub system: SystemTable,
}

/// `[topology]`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyTable {
    /// Packages.
    pub sockets: u32,
    /// Memory nodes in all.
    pub nodes: u32,
    /// Groups of cores in a node that share a last-level cache.
    pub clusters_per_node: u32,
    /// Cores of a cluster.
    pub cores_per_cluster: u32,
    /// Hardware threads of a core.
    pub threads_per_core: u32,
    /// Hops between nodes, a row for each node.
    pub hops: Option<Vec<Vec<u8>>>,
    /// In place of `hops`: nodes in a mesh of this number of columns and rows, numbered row by row.
    pub mesh: Option<[u32; 2]>,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// `[cpu]`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTable {
    /// Clock rate, for numbers in cycles.
    pub ghz: Option<f64>,
    /// Where `ghz` comes from.
    pub source: String,
    /// Whether `ghz` is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
    /// A load.
    pub load_hit: Cost,
    /// A store.
    pub store_hit: Cost,
    /// A locked read-modify-write.
    pub rmw_hit: Cost,
    /// The spin hint.
    pub pause: Cost,
    /// Reading the clock.
    pub clock: Cost,
    /// How long before its turn computing can begin that needs no earlier result; without it, not at all.
    pub lookahead: Option<Cost>,
    /// How many times as long computing takes while the other thread of the core is busy; with several threads a core.
    pub smt_slowdown: Option<Factor>,
}

/// `[coherence]`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoherenceTable {
    /// Which cache or memory answers reads of shared lines.
    pub protocol: Protocol,
    /// Whether a read of a line that another cache has modified takes it as a whole.
    #[serde(default)]
    pub migratory: bool,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// The source of `protocol` and `line_bytes`.
    pub source: String,
    /// Whether these are recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
    /// A load of a line that another cache has modified (or has alone).
    pub load_modified: Table,
    /// A load of a line that other caches share.
    pub load_shared: Table,
    /// A store to a line that another cache has modified.
    pub store_modified: Table,
    /// A store to a line that other caches share.
    pub store_shared: Table,
    /// A locked read-modify-write of a line that another cache has modified.
    pub rmw_modified: Table,
    /// A locked read-modify-write of a line that other caches share.
    pub rmw_shared: Table,
    /// Any access to a line that no cache has.
    pub memory: Table,
    /// How long a read of a shared line delays other readers.
    pub read_occupancy: Cost,
}

/// `[system]`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemTable {
    /// What locks learn about whether another thread runs.
    pub on_cpu: OnCpuView,
    /// Whether threads move to idle CPUs.
    pub migration: bool,
    /// The source of `on_cpu` and `migration`.
    pub source: String,
    /// Whether these are recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
    /// Into the kernel and out again.
    pub syscall: Cost,
    /// A call that was to sleep, but found the word changed; without it, the cost of any call.
    pub wait_call: Option<Cost>,
    /// From one thread to the next.
    pub context_switch: Cost,
    /// What waking one thread costs the waker, without the interrupt.
    pub wake: Cost,
    /// What interrupting another CPU costs the sender.
    pub ipi: Table,
    /// What a call that yields the CPU costs where no other thread wants it.
    pub yield_call: Cost,
    /// Within this time each ready thread of a CPU runs once.
    pub latency: Cost,
    /// But no thread runs for less than this.
    pub min_granularity: Cost,
    /// A woken thread preempts one that is ahead by this much.
    pub wakeup_granularity: Cost,
    /// How much later a slice may end; without it, all are equally long.
    pub slice_jitter: Option<Cost>,
    /// How long an idle CPU polls, needing no interrupt, before it sleeps; without it, it sleeps at once.
    pub idle_poll: Option<Cost>,
    /// Whether an idle CPU's sleep deepens as time goes by; without it, the CPU chooses as it becomes idle.
    #[serde(default)]
    pub idle_deepens: bool,
    /// How long an idle CPU takes to notice a thread, by how long it was idle.
    pub idle_exit: Vec<IdleExit>,
}

/// A time: either `ns` or `cycles`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// In nanoseconds.
    pub ns: Option<f64>,
    /// In cycles of `cpu.ghz`.
    pub cycles: Option<f64>,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// The unit of a [`Table`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Cycles of `cpu.ghz`.
    Cycles,
}

/// Times by distance.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Between threads of a core; where cores have several.
    pub same_core: Option<f64>,
    /// Between cores of a cluster; where nodes have several clusters.
    pub same_cluster: Option<f64>,
    /// Within a node.
    pub same_node: f64,
    /// Between nodes one hop, two hops, ... apart: as many as the topology has.
    #[serde(default)]
    pub hops: Vec<f64>,
    /// The unit of all of them.
    pub unit: Unit,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// A ratio.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// 1 or more.
    pub factor: f64,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// How long a CPU takes to notice a thread when it has been idle for at least `after_ns`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleExit {
    /// Shortest idle time in nanoseconds; 0 in the first entry.
    pub after_ns: f64,
    /// In nanoseconds.
    pub ns: Option<f64>,
    /// In cycles of `cpu.ghz`.
    pub cycles: Option<f64>,
    /// What interrupting such a CPU costs the sender, in nanoseconds; without it, the value of `ipi`.
    pub ipi_ns: Option<f64>,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// Reads a machine file; `origin` names it in errors.
///
/// # Errors
///
/// States which key of which line is wrong, why, and what to do.
pub fn parse(text: &str, origin: &str) -> Result<Machine, SpecError> {
    let file: MachineFile = toml::from_str(text).map_err(|e| SpecError::of_reader(&e, origin, text))?;
    file.check().map_err(|fault| fault.of(origin, text))
}
