//! What a machine is: its topology, what it charges for, and how its operating system behaves.
//!
//! [`Machine`] is what the engine works with: every time an integer of picoseconds. Machine files are TOML
//! (`machines/*.toml`); `file/` reads and checks them, `builtin.rs` has those that come with the program.

mod builtin;
mod describe;
pub mod file;
pub mod topology;

pub use builtin::{builtin, draw, load};
pub use describe::{Entry, Number};
pub use file::{Range, SpecError};
pub use topology::{Class, Topology};

use serde::Deserialize;

/// Time of the simulation, in picoseconds.
pub type Ps = u64;

/// Picoseconds in a nanosecond.
pub const NS: Ps = 1_000;

/// A cost for each [`Class`] of distance, nearest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByClass(pub Vec<Ps>);

impl ByClass {
    /// Returns the cost at this distance; beyond the table's end, its last.
    #[inline]
    #[must_use]
    pub fn at(&self, class: Class) -> Ps {
        match self.0.get(class.0 as usize) {
            Some(&cost) => cost,
            None => self.0.last().copied().unwrap_or(0),
        }
    }
}

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// Its name for `--machine`.
    pub name: String,
    /// One line.
    pub title: String,
    /// Sockets, nodes, cores, threads, and how far they are apart.
    pub topology: Topology,
    /// Cache lines.
    pub coherence: Coherence,
    /// Instructions.
    pub cpu: Cpu,
    /// The operating system.
    pub system: System,
    /// Where each number comes from, in the order of the file.
    pub sources: Vec<Source>,
    /// Every number that the engine uses, in the order of the file.
    pub entries: Vec<Entry>,
    /// The ranges of numbers that were not measured, where the file gives them.
    pub ranges: Vec<Range>,
}

/// Where a number comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The key in the file: `coherence.load_modified`.
    pub key: String,
    /// Where it comes from.
    pub source: String,
    /// Recalled or guessed rather than read or measured.
    pub provisional: bool,
}

/// Transfers of one kind differ by where in the mesh the line's home is, and by other traffic: even means over 128
/// lines differ by 2 to 4% from round to round of `turnwise-lab calibrate`. Without any spread threads fall into a
/// lockstep that no machine keeps.
pub const SPREAD_PERMILLE: u32 = 80;

/// Which cache or memory answers a read of a line that several caches share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The home: a modified line is written back when it is read.
    Mesi,
    /// The cache that read it last.
    Mesif,
    /// The cache that wrote it last.
    Moesi,
}

/// What moving cache lines costs. A miss takes the time of its table at the distance of the cache or memory that
/// answers. In a machine file tables and times are of other types, which have sources.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coherence<Table = ByClass, Cost = Ps> {
    /// The source of `protocol` and `line_bytes`.
    pub source: String,
    /// Whether these are recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
    /// Which cache or memory answers reads of shared lines.
    pub protocol: Protocol,
    /// Whether a read of a line that another cache has modified takes it as a whole, so that the reader can write it at
    /// once and the last writer has no copy any more. A read of one that its owner has only read makes both share.
    #[serde(default)]
    pub migratory: bool,
    /// Bytes of a line: a power of two.
    pub line_bytes: u32,
    /// A load of a line that another cache has modified (or has alone).
    pub load_modified: Table,
    /// A load of a line that other caches share.
    pub load_shared: Table,
    /// A store to a line that another cache has modified.
    pub store_modified: Table,
    /// A store to a line that other caches share: by the farthest of them.
    pub store_shared: Table,
    /// A locked read-modify-write of a line that another cache has modified.
    pub rmw_modified: Table,
    /// A locked read-modify-write of a line that other caches share.
    pub rmw_shared: Table,
    /// Any access to a line that no cache has; only distances from the CPU's own node on count.
    pub memory: Table,
    /// How long a read of a shared line delays other readers.
    pub read_occupancy: Cost,
    /// By how many thousandths a transfer takes more or less than its table states, drawn each time. In machine files
    /// [`SPREAD_PERMILLE`]; tests of exact costs do without.
    #[serde(skip)]
    pub spread_permille: u32,
}

/// What instructions cost that find their line in their CPU's cache.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu<Cost = Ps, Optional = Ps, Factor = u32> {
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
    /// How long before its turn computing can begin that needs no earlier result: the CPU executes out of order, as far
    /// as it looks ahead. Where a file does not state it, not at all.
    pub lookahead: Optional,
    /// Whether a CPU continues while a store waits for its line. In machine files always; tests of other costs do
    /// without.
    #[serde(skip)]
    pub store_buffer: bool,
    /// How many times as long computing takes while the other thread of the core is busy, in thousandths; in a file a
    /// factor, needed with several threads a core.
    #[serde(rename = "smt_slowdown")]
    pub smt_permille: Factor,
}

/// What a lock learns about whether another thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnCpuView {
    /// The truth, as in a kernel.
    Exact,
    /// What the restartable-sequence area shows to an unprivileged program.
    Rseq,
    /// Nothing.
    Unknown,
}

/// How an idle CPU sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleState {
    /// It is idle for at least this long.
    pub after: Ps,
    /// How long it takes to notice a thread; rising.
    pub exit: Ps,
    /// What interrupting it costs the sender; `None`: [`System::ipi`].
    pub ipi: Option<Ps>,
}

/// How the operating system behaves, and what its services cost.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System<Table = ByClass, Cost = Ps, Optional = Ps, Idle = IdleState> {
    /// The source of `on_cpu` and `migration`.
    pub source: String,
    /// Whether these are recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
    /// Into the kernel and out again.
    pub syscall: Cost,
    /// A call that was to sleep, and found the word changed; where a file does not state it, as long as any call.
    pub wait_call: Optional,
    /// From one thread to the next.
    pub context_switch: Cost,
    /// What waking one thread costs the waker, without the interrupt.
    pub wake: Cost,
    /// What interrupting another CPU costs the sender, by distance.
    pub ipi: Table,
    /// What a call that yields the CPU costs where no other thread wants it.
    pub yield_call: Cost,
    /// How long an idle CPU polls before it sleeps; it needs no interrupt meanwhile. 0: it sleeps at once.
    pub idle_poll: Optional,
    /// Whether an idle CPU's sleep deepens as time goes by, as a virtual machine's does, whose host polls before it
    /// lets go; else the CPU chooses a state as it becomes idle.
    #[serde(default)]
    pub idle_deepens: bool,
    /// How an idle CPU sleeps, from the lightest state on.
    pub idle_exit: Vec<Idle>,
    /// Within this time each ready thread of a CPU runs once.
    pub latency: Cost,
    /// But no thread runs for less than this.
    pub min_granularity: Cost,
    /// A woken thread preempts one that is ahead by this much.
    pub wakeup_granularity: Cost,
    /// How much later than that a slice may end: the jitter of the timer's tick that ends it.
    pub slice_jitter: Optional,
    /// Whether threads move to idle CPUs.
    pub migration: bool,
    /// What locks learn about whether another thread runs.
    pub on_cpu: OnCpuView,
}
