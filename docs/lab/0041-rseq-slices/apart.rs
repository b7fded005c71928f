//! One lock, threads that want it, and busy threads beside them that do not.
//!
//! `apart KEY=VALUE…`, with the keys
//! - machine, seed, ms; cpus, spread (`yes`: the CPUs are taken from the nodes in turn);
//! - lock (mutex, ttas, backoff, far, ticket, queued), threads;
//! - inside, outside (ns), jitter (percent of `outside`), lines (of data, written in each section);
//! - busy (threads that compute all the time), pinned (`yes`: one on each CPU in turn);
//! - extension (ns), asks (`never`, `always`, `contended`: only acquisitions that found the mutex taken, or `kept`:
//!   these, and the request stays until it is used).
//!
//! `far` is a test-and-test-and-set lock with back-off by distance (Z. Radovic and E. Hagersten, HPCA 2003): the word
//! names the owner's node, and who finds the lock taken on another node stays away `times` as long, until it has waited
//! for `bound` ns. `first` and `limit` (ns) are the rests on the own node.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::backoff::{Exponential, NoBackoff};
use turnwise::platform::{Platform, Word};
use turnwise::raw::RawLock;
use turnwise::{RawMutex, RawQueuedSpinLock, RawSpinLock, RawTicketLock};
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
    marks: [RefCell<Option<(Snapshot, Vec<u64>)>>; 2],
}

fn run<L: Guarded>(cli: &Cli) {
    let machine = Arc::new(spec::load(&cli.text("machine", "sapphire-rapids-2s")).expect("a machine"));
    let (cpus, seed) = (cli.number("cpus", 8) as u32, cli.number("seed", 1));
    let (threads, busy) = (cli.number("threads", u64::from(cpus)) as usize, cli.number("busy", 0) as usize);
    let (inside, outside, jitter) = (cli.number("inside", 50), cli.number("outside", 100), cli.number("jitter", 50));
    let lines = cli.number("lines", 1) as usize;
    let (extension, ms) = (cli.number("extension", 0), cli.number("ms", 100));
    let asks = match &*cli.text("asks", "always") {
        "never" => Asks::Never,
        "always" => Asks::Always,
        "contended" => Asks::Contended,
        _ => Asks::Kept,
    };
    let asks = if extension == 0 { Asks::Never } else { asks };
    let topology = machine.topology.clone();
    let all = topology.cpus();
    let place = |n: u32| {
        let (per, nodes) = (all / topology.nodes, topology.nodes);
        if cli.text("spread", "no") == "yes" { n % nodes * per + n / nodes } else { n }
    };
    let config = Config {
        cpus: (0..cpus).map(place).collect(),
        slice_extension_ns: extension,
        ..Config::new(Arc::clone(&machine), seed)
    };
    let (begin, end) = (4_000_000, 4_000_000 + ms * 1_000_000);
    let mut sim = Simulation::new(config, threads + busy);
    let shared = sim.place(
        "lock",
        Shared { lock: L::new(cli), data: [const { Cell::new(0) }; 3], more: [const { Line([Cell::new(0)]) }; 8] },
    );
    let seen = Rc::new(Seen {
        ops: (0..threads).map(|_| Cell::new(0)).collect(),
        waits: RefCell::new(Vec::new()),
        busy_ns: Cell::new(0),
        marks: [const { RefCell::new(None) }; 2],
    });
    for thread in 0..threads {
        let (shared, seen) = (shared.clone(), seen.clone());
        sim.spawn(Affinity::Any, move || {
            while Sim::time_ns() < end {
                let asked = Sim::time_ns();
                let contended = shared.lock.lock();
                let got = Sim::time_ns();
                let wants = asks == Asks::Always || asks != Asks::Never && contended;
                if wants {
                    Sim::ask_for_extension();
                }
                let data: *const u8 = shared.data.as_ptr().cast();
                Sim::touch(data, 24, false);
                Sim::compute(inside);
                Sim::touch(data, 24, true);
                shared.more[..lines - 1].iter().for_each(|line| Sim::touch(line.0.as_ptr().cast(), 8, true));
                shared.lock.unlock();
                if wants || asks == Asks::Kept {
                    Sim::extension_over(asks == Asks::Kept);
                }
                if (begin..end).contains(&got) {
                    seen.ops[thread].set(seen.ops[thread].get() + 1);
                    seen.waits.borrow_mut().push(got - asked);
                }
                Sim::progress();
                let spread = outside * jitter / 100;
                Sim::compute(outside - spread + Sim::chance(2 * spread + 1));
            }
        });
    }
    for number in 0..busy {
        let seen = seen.clone();
        let affinity =
            if cli.text("pinned", "yes") == "yes" { Affinity::Cpu(place(number as u32 % cpus)) } else { Affinity::Any };
        sim.spawn(affinity, move || {
            while Sim::time_ns() < end {
                Sim::compute(20_000);
                if (begin..end).contains(&Sim::time_ns()) {
                    seen.busy_ns.set(seen.busy_ns.get() + 20_000);
                }
            }
        });
    }
    for (mark, at) in [begin, end].into_iter().enumerate() {
        let seen = seen.clone();
        sim.at(at, move |snapshot| {
            *seen.marks[mark].borrow_mut() = Some((snapshot.clone(), Vec::new()));
        });
    }
    sim.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    let ops: Vec<u64> = seen.ops.iter().map(Cell::get).collect();
    let total: u64 = ops.iter().sum();
    let mut waits = seen.waits.borrow_mut();
    waits.sort_unstable();
    let at = |q: f64| {
        waits.get(((waits.len() as f64 * q) as usize).min(waits.len().saturating_sub(1))).copied().unwrap_or(0)
    };
    let counters = [0, 1].map(|n| seen.marks[n].borrow().as_ref().expect("it came").0.counters.clone());
    let [b, e] = &counters;
    let per = |a: u64, b: u64| (a - b) as f64 / total.max(1) as f64;
    println!(
        "{}\t{:.1}\t{}\t{}\t{}\t{}\t{:.2}\t{:.2}\t{:.2}\t{}\t{}\t{:.3}",
        cli.0.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "),
        ms as f64 * 1e6 / total.max(1) as f64,
        at(0.5),
        at(0.99),
        at(0.999),
        waits.last().copied().unwrap_or(0),
        *ops.iter().min().unwrap_or(&0) as f64 / (*ops.iter().max().unwrap_or(&1)).max(1) as f64,
        per(e.transfers, b.transfers),
        per(e.remote_transfers, b.remote_transfers),
        e.voluntary - b.voluntary,
        e.involuntary - b.involuntary,
        seen.busy_ns.get() as f64 / (ms as f64 * 1e6),
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
        "far" => run::<Far>(&cli),
        "ticket" => run::<RawTicketLock<NoBackoff, Sim>>(&cli),
        "queued" => run::<RawQueuedSpinLock<Sim>>(&cli),
        other => panic!("no lock {other}"),
    }
}
