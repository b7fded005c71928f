//! What a machine is: its topology, what it charges for, and how its operating system behaves.
//!
//! [`Machine`] is what the engine works with: every time an integer of picoseconds. Machine files are TOML
//! (`machines/*.toml`); `file/` reads and checks them, `builtin.rs` has those that come with the program.

mod builtin;
mod describe;
pub mod file;
pub mod topology;

pub use builtin::{builtin, load};
pub use describe::{Entry, Number};
pub use file::SpecError;
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
/// answers.
#[derive(Clone, PartialEq, Debug)]
pub struct Coherence {
    /// Which cache or memory answers reads of shared lines.
    pub protocol: Protocol,
    /// Whether a read of a line that another cache has modified takes it as a whole, so that the reader can write it at
    /// once and the last writer has no copy any more. A read of one that its owner has only read makes both share.
    pub migratory: bool,
    /// Bytes of a line: a power of two.
    pub line_bytes: u32,
    /// A load of a line that another cache has modified (or has alone).
    pub load_modified: ByClass,
    /// A load of a line that other caches share.
    pub load_shared: ByClass,
    /// A store to a line that another cache has modified.
    pub store_modified: ByClass,
    /// A store to a line that other caches share: by the farthest of them.
    pub store_shared: ByClass,
    /// A locked read-modify-write of a line that another cache has modified.
    pub rmw_modified: ByClass,
    /// A locked read-modify-write of a line that other caches share.
    pub rmw_shared: ByClass,
    /// Any access to a line that no cache has; only distances from the CPU's own node on count.
    pub memory: ByClass,
    /// How long a read of a shared line delays other readers.
    pub read_occupancy: Ps,
    /// By how many thousandths a transfer takes more or less than its table states, drawn each time. In machine files
    /// [`SPREAD_PERMILLE`]; tests of exact costs do without.
    pub spread_permille: u32,
}

/// What instructions cost that find their line in their CPU's cache.
#[derive(Clone, PartialEq, Debug)]
pub struct Cpu {
    /// A load.
    pub load_hit: Ps,
    /// A store.
    pub store_hit: Ps,
    /// A locked read-modify-write.
    pub rmw_hit: Ps,
    /// The spin hint.
    pub pause: Ps,
    /// Reading the clock.
    pub clock: Ps,
    /// How long before its turn computing can begin that needs no earlier result: the CPU executes out of order, as far
    /// as it looks ahead.
    pub lookahead: Ps,
    /// Whether a CPU continues while a store waits for its line. In machine files always; tests of other costs do
    /// without.
    pub store_buffer: bool,
    /// How many times as long computing takes while the other thread of the core is busy, in thousandths.
    pub smt_permille: u32,
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
#[derive(Clone, PartialEq, Debug)]
pub struct System {
    /// Into the kernel and out again.
    pub syscall: Ps,
    /// A call that was to sleep, and found the word changed.
    pub wait_call: Ps,
    /// From one thread to the next.
    pub context_switch: Ps,
    /// What waking one thread costs the waker, without the interrupt.
    pub wake: Ps,
    /// What interrupting another CPU costs the sender, by distance.
    pub ipi: ByClass,
    /// What a call that yields the CPU costs where no other thread wants it.
    pub yield_call: Ps,
    /// How long an idle CPU polls before it sleeps; it needs no interrupt meanwhile. 0: it sleeps at once.
    pub idle_poll: Ps,
    /// Whether an idle CPU's sleep deepens as time goes by, as a virtual machine's does, whose host polls before it
    /// lets go; else the CPU chooses a state as it becomes idle.
    pub idle_deepens: bool,
    /// How an idle CPU sleeps, from the lightest state on.
    pub idle_exit: Vec<IdleState>,
    /// Within this time each ready thread of a CPU runs once.
    pub latency: Ps,
    /// But no thread runs for less than this.
    pub min_granularity: Ps,
    /// A woken thread preempts one that is ahead by this much.
    pub wakeup_granularity: Ps,
    /// How much later than that a slice may end: the jitter of the timer's tick that ends it.
    pub slice_jitter: Ps,
    /// Whether threads move to idle CPUs.
    pub migration: bool,
    /// What locks learn about whether another thread runs.
    pub on_cpu: OnCpuView,
}
