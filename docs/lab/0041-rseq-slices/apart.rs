//! One lock, threads that want it, and busy threads beside them that do not.
//!
//! `apart KEY=VALUE…`, with the keys
//! - machine, seed, ms; cpus, spread (`yes`: the CPUs are taken from the nodes in turn);
//! - lock (mutex, ttas, backoff, distance, far, ticket, queued), threads;
//! - inside, outside (ns), jitter (percent of `outside`), lines (of data, written in each section);
//! - busy (threads that compute all the time), pinned (`yes`: one on each CPU in turn);
//! - extension (ns), asks (`never`, `always`, `contended`: only acquisitions that found the mutex taken, or `kept`:
//!   these, and the request stays until it is used).
//!
//! `far` is a test-and-test-and-set lock with back-off by distance (Z. Radovic and E. Hagersten, HPCA 2003): the word
//! names the owner's node, and who finds the lock taken on another node stays away `times` as long, until it has waited
//! for `bound` ns. `first` and `limit` (ns) are the rests on the own node.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::backoff::{ByDistance, Exponential, NoBackoff};
use turnwise::platform::{Platform, Word};
use turnwise::raw::RawLock;
use turnwise::{RawMutex, RawQueuedSpinLock, RawSpinLock, RawTicketLock};
use turnwise_sim::spec::Topology;
use turnwise_sim::{Affinity, Config, Sim, SimWord, Simulation, Snapshot, spec};

#[derive(Clone, Debug)]
struct Cli(Vec<(String, String)>);

impl Cli {
    fn text(&self, key: &str, default: &str) -> String {
        self.0.iter().rev().find(|(k, _)| k == key).map_or(default.to_owned(), |(_, v)| v.clone())
    }
    fn number(&self, key: &str, default: u64) -> u64 {
        self.text(key, &default.to_string()).parse().unwrap_or_else(|e| panic!("{key}: {e}"))
    }
}

/// How a lock is used: with the parts of the mutex that tell whether it was contended.
trait Guarded: 'static {
    fn new(cli: &Cli) -> Self;
    /// Whether it found the lock taken.
    fn lock(&self) -> bool;
    fn unlock(&self);
}

impl Guarded for RawMutex<Sim> {
    fn new(_: &Cli) -> Self {
        Self::new_in()
    }
    fn lock(&self) -> bool {
        let fast = self.lock_fast();
        if !fast {
            self.lock_contended();
        }
        !fast
    }
    fn unlock(&self) {
        // SAFETY: the caller has it.
        unsafe { RawLock::unlock(self) };
    }
}

macro_rules! plain {
    ($($lock:ty),*) => { $(impl Guarded for $lock {
        fn new(_: &Cli) -> Self {
            Self::new_in()
        }
        fn lock(&self) -> bool {
            RawLock::lock(self);
            false
        }
        fn unlock(&self) {
            // SAFETY: the caller has it.
            unsafe { RawLock::unlock(self) };
        }
    })* };
}
plain!(
    RawSpinLock<NoBackoff, Sim>,
    RawSpinLock<Exponential, Sim>,
    RawSpinLock<ByDistance, Sim>,
    RawTicketLock<NoBackoff, Sim>,
    RawQueuedSpinLock<Sim>
);

#[repr(C)]
struct Shared<L> {
    lock: L,
    data: [Cell<u64>; 3],
    more: [Line; 8],
}

#[repr(align(64))]
struct Line([Cell<u64>; 1]);

/// The lock with back-off by distance. The word: 0 free, else the owner's node + 1.
struct Far {
    word: SimWord<u32>,
    /// The first rest and the longest on the own node, how many times as long the others are, and up to when.
    numbers: [u64; 4],
}

impl Far {
    fn take(&self) -> Result<u32, u32> {
        self.word.compare_exchange(0, Sim::node() + 1, Acquire, Relaxed)
    }
}

impl Guarded for Far {
    fn new(cli: &Cli) -> Self {
        let keys = [("first", 200), ("limit", 10_000), ("times", 1), ("bound", 1_000_000)];
        Far { word: SimWord::new(0), numbers: keys.map(|(key, default)| cli.number(key, default)) }
    }
    fn lock(&self) -> bool {
        let Err(mut found) = self.take() else { return false };
        let [first, limit, times, bound] = self.numbers;
        let (since, mut next) = (Sim::now(), first);
        loop {
            if found != 0 {
                let far = found != Sim::node() + 1 && times > 1 && Sim::now() - since < bound;
                let rest = next * if far { times } else { 1 };
                next = (next * 2).min(limit);
                let half = rest / 2;
                Sim::rest((rest - half + Sim::chance(half + 1)) as u32);
                found = self.word.load(Relaxed);
            }
            if found == 0 {
                match self.take() {
                    Ok(_) => return true,
                    Err(other) => found = other,
                }
            }
        }
    }
    fn unlock(&self) {
        self.word.store(0, Release);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Asks {
    Never,
    Always,
    Contended,
    Kept,
}

struct Seen {
    ops: Vec<Cell<u64>>,
    waits: RefCell<Vec<u64>>,
    busy_ns: Cell<u64>,
    marks: [RefCell<Option<Snapshot>>; 2],
}

/// What a run is, apart from the lock.
struct Plan {
    threads: usize,
    busy: usize,
    inside: u64,
    outside: u64,
    spread: u64,
    lines: usize,
    asks: Asks,
    extension: u64,
    ms: u64,
    cpus: Vec<u32>,
    pinned: bool,
}

impl Plan {
    fn of(cli: &Cli, topology: &Topology) -> Plan {
        let (count, (per, nodes)) = (cli.number("cpus", 8), (topology.cpus() / topology.nodes, topology.nodes));
        let spread = cli.text("spread", "no") == "yes";
        let place = |n: u32| if spread { n % nodes * per + n / nodes } else { n };
        let (extension, outside) = (cli.number("extension", 0), cli.number("outside", 100));
        let asks = match &*cli.text("asks", "always") {
            _ if extension == 0 => Asks::Never,
            "never" => Asks::Never,
            "always" => Asks::Always,
            "contended" => Asks::Contended,
            _ => Asks::Kept,
        };
        Plan {
            threads: cli.number("threads", count) as usize,
            busy: cli.number("busy", 0) as usize,
            inside: cli.number("inside", 50),
            outside,
            spread: outside * cli.number("jitter", 50) / 100,
            lines: cli.number("lines", 1) as usize,
            asks,
            extension,
            ms: cli.number("ms", 100),
            cpus: (0..count as u32).map(place).collect(),
            pinned: cli.text("pinned", "yes") == "yes",
        }
    }

    /// The measured interval.
    fn interval(&self) -> Range<u64> {
        const BEGIN: u64 = 4_000_000;
        BEGIN..BEGIN + self.ms * 1_000_000
    }
}

/// A thread that wants the lock.
fn wants<L: Guarded>(plan: &Plan, thread: usize, shared: &Shared<L>, seen: &Seen) {
    let interval = plan.interval();
    while Sim::time_ns() < interval.end {
        let asked = Sim::time_ns();
        let contended = shared.lock.lock();
        let got = Sim::time_ns();
        let asks = plan.asks == Asks::Always || plan.asks != Asks::Never && contended;
        if asks {
            Sim::ask_for_extension();
        }
        let data: *const u8 = shared.data.as_ptr().cast();
        Sim::touch(data, 24, false);
        Sim::compute(plan.inside);
        Sim::touch(data, 24, true);
        shared.more[..plan.lines - 1].iter().for_each(|line| Sim::touch(line.0.as_ptr().cast(), 8, true));
        shared.lock.unlock();
        if asks || plan.asks == Asks::Kept {
            Sim::extension_over(plan.asks == Asks::Kept);
        }
        if interval.contains(&got) {
            seen.ops[thread].set(seen.ops[thread].get() + 1);
            seen.waits.borrow_mut().push(got - asked);
        }
        Sim::progress();
        Sim::compute(plan.outside - plan.spread + Sim::chance(2 * plan.spread + 1));
    }
}

/// A thread that wants a CPU only.
fn computes(interval: &Range<u64>, seen: &Seen) {
    while Sim::time_ns() < interval.end {
        Sim::compute(20_000);
        if interval.contains(&Sim::time_ns()) {
            seen.busy_ns.set(seen.busy_ns.get() + 20_000);
        }
    }
}

fn run<L: Guarded>(cli: &Cli) {
    let machine = Arc::new(spec::load(&cli.text("machine", "sapphire-rapids-2s")).expect("a machine"));
    let plan = Rc::new(Plan::of(cli, &machine.topology));
    let config = Config {
        cpus: plan.cpus.clone(),
        slice_extension_ns: plan.extension,
        ..Config::new(machine, cli.number("seed", 1))
    };
    let mut sim = Simulation::new(config, plan.threads + plan.busy);
    let (data, more) = ([const { Cell::new(0) }; 3], [const { Line([Cell::new(0)]) }; 8]);
    let shared = sim.place("lock", Shared { lock: L::new(cli), data, more });
    let seen = Rc::new(Seen {
        ops: (0..plan.threads).map(|_| Cell::new(0)).collect(),
        waits: RefCell::new(Vec::new()),
        busy_ns: Cell::new(0),
        marks: [const { RefCell::new(None) }; 2],
    });
    for thread in 0..plan.threads {
        let (plan, shared, seen) = (plan.clone(), shared.clone(), seen.clone());
        sim.spawn(Affinity::Any, move || wants(&plan, thread, &shared, &seen));
    }
    for number in 0..plan.busy {
        let (interval, seen) = (plan.interval(), seen.clone());
        let cpu = plan.cpus[number % plan.cpus.len()];
        let affinity = if plan.pinned { Affinity::Cpu(cpu) } else { Affinity::Any };
        sim.spawn(affinity, move || computes(&interval, &seen));
    }
    for (mark, at) in [plan.interval().start, plan.interval().end].into_iter().enumerate() {
        let seen = seen.clone();
        sim.at(at, move |snapshot| *seen.marks[mark].borrow_mut() = Some(snapshot.clone()));
    }
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    tell(cli, &plan, &seen);
}

/// Prints a line: see `slices.sh` for the columns.
fn tell(cli: &Cli, plan: &Plan, seen: &Seen) {
    let ops: Vec<u64> = seen.ops.iter().map(Cell::get).collect();
    let (total, ns) = (ops.iter().sum::<u64>().max(1) as f64, plan.ms as f64 * 1e6);
    let mut waits = seen.waits.borrow_mut();
    waits.sort_unstable();
    let last = waits.len().saturating_sub(1);
    let at = |q: f64| waits.get(((waits.len() as f64 * q) as usize).min(last)).copied().unwrap_or(0);
    let counters = [0, 1].map(|n| seen.marks[n].borrow().as_ref().expect("it came").counters);
    let [b, e] = &counters;
    println!(
        "{}\t{:.1}\t{}\t{}\t{}\t{}\t{:.2}\t{:.2}\t{:.2}\t{}\t{}\t{:.3}",
        cli.0.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "),
        ns / total,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        *ops.iter().min().unwrap_or(&0) as f64 / (*ops.iter().max().unwrap_or(&1)).max(1) as f64,
        (e.transfers - b.transfers) as f64 / total,
        (e.remote_transfers - b.remote_transfers) as f64 / total,
        e.voluntary - b.voluntary,
        e.involuntary - b.involuntary,
        seen.busy_ns.get() as f64 / ns,
    );
}

fn main() {
    let split = |arg: String| {
        let (key, value) = arg.split_once('=').unwrap_or_else(|| panic!("{arg} is not KEY=VALUE"));
        (key.to_owned(), value.to_owned())
    };
    let cli = Cli(std::env::args().skip(1).map(split).collect());
    match &*cli.text("lock", "mutex") {
        "mutex" => run::<RawMutex<Sim>>(&cli),
        "ttas" => run::<RawSpinLock<NoBackoff, Sim>>(&cli),
        "backoff" => run::<RawSpinLock<Exponential, Sim>>(&cli),
        "distance" => run::<RawSpinLock<ByDistance, Sim>>(&cli),
        "far" => run::<Far>(&cli),
        "ticket" => run::<RawTicketLock<NoBackoff, Sim>>(&cli),
        "queued" => run::<RawQueuedSpinLock<Sim>>(&cli),
        other => panic!("no lock {other}"),
    }
}
