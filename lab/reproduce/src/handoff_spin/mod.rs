//! `handoff_spin`: OSv's mutex with and without bounded spinning, in `misc-mutex` on a guest of four CPUs. Nothing is
//! fitted.

mod load;
mod tables;

use super::Context;
use super::here::here;
use super::locks::{WithLock, with_lock};
use super::report::DocumentReport;
use anyhow::Result;
use load::{MiscMutex, Shape, Shared, Shown};
use std::sync::Arc;
use turnwise::RawLock;
use turnwise::platform::Native;
use turnwise_bench::adapt::raw::RawLocked;
use turnwise_bench::environment::Environment;
use turnwise_bench::published::{self, HandoffSpin};
use turnwise_sim::Sim;
use turnwise_sim::experiment::Experiment;
use turnwise_sim::spec::{self, Machine};
use turnwise_simbench::report::SimMachine;

const NAME: &str = "handoff_spin";
const CPUS: u32 = 4;
/// How many threads the tables and listings have.
const THREADS: [u32; 4] = [1, 2, 4, 20];
/// From one thread's start to the next.
const SKEW_NS: u64 = 20_000;
/// A letter on the console, if a thread increments a million times.
const LETTER_NS: u64 = 10_000;
/// An uncontended round took 25 ns on the document's machine, of which the lock's accesses to memory are 13.5 in the
/// model; instructions take no time there. On metal they do.
const ROUND_NS: u64 = 12;
const DOCUMENTS_ROUNDS: u32 = 1_000_000;

/// The lock as it was, and with the document's spin.
const NO_SPIN: &str = "osv-mutex-no-spin";
const SPIN: &str = "osv-mutex-spin";
/// A lock that does nothing else.
const SPIN_LOCK: &str = "ttas";
const TODAY: &str = "mutex";
/// The locks that are in the benchmark: techniques 2 (the document's), 1 and 3 of the issue among them.
const LOCKS: [&str; 7] =
    [NO_SPIN, SPIN, "osv-mutex-spin-to-one", "osv-mutex-spin-polling", "osv-mutex-spin-after-push", SPIN_LOCK, TODAY];

struct Run {
    machine: Arc<Machine>,
    cpus: u32,
    lock: &'static str,
    shape: Shape,
    seed: u64,
}

impl WithLock<Sim> for &Run {
    type Out = Result<Shown>;

    fn with<L: RawLock>(self) -> Result<Shown> {
        let group = MiscMutex::<Sim, RawLocked<L, Shared>>::new(self.shape);
        // More threads than CPUs are not pinned in the benchmark either.
        let experiment = Experiment {
            pinned: self.shape.threads <= self.cpus,
            ..Experiment::of(&self.machine, self.shape.threads.min(self.cpus), self.seed)
        };
        Ok(experiment.run("the mutex", group, |group| group.shown(0))?.end)
    }
}

impl WithLock<Native> for Shape {
    type Out = Shown;

    fn with<L: RawLock>(self) -> Shown {
        let group = MiscMutex::<Native, RawLocked<L, Shared>>::new(self);
        let begin = <Native as Environment>::stamp();
        here(&group);
        group.shown(begin)
    }
}

/// So many rounds; a letter takes as much of the run as with those of the document.
fn shape(threads: u32, rounds: u32, round_ns: u64) -> Shape {
    let letter_ns = LETTER_NS * u64::from(rounds) / u64::from(DOCUMENTS_ROUNDS);
    let skew_ns = SKEW_NS * u64::from(rounds) / u64::from(DOCUMENTS_ROUNDS);
    Shape { threads, rounds, skew_ns, letter_ns, round_ns }
}

/// Every lock with every number of threads.
struct Curves(Vec<(&'static str, Vec<Shown>)>);

impl Curves {
    fn run(context: &Context<'_>, machine: &Arc<Machine>) -> Result<Curves> {
        // Where threads outnumber CPUs a run must last for many slices: what a preempted owner leaves behind is the
        // document's point.
        let slices = |threads: u32| if threads > CPUS { 5 } else { 1 };
        let rounds = |threads: u32| context.choose(40_000, 200_000) * slices(threads) / threads;
        let run = |lock, threads| Run {
            machine: Arc::clone(machine),
            cpus: CPUS,
            lock,
            shape: shape(threads, rounds(threads), ROUND_NS),
            seed: context.seed,
        };
        let runs: Vec<Run> = LOCKS.iter().flat_map(|&lock| THREADS.map(|threads| run(lock, threads))).collect();
        let shown = context.pool.map(NAME, &runs, |run| with_lock::<Sim, _>(run.lock, run))?;
        let rows = shown.chunks(THREADS.len()).map(<[Shown]>::to_vec);
        Ok(Curves(LOCKS.into_iter().zip(rows).collect()))
    }

    fn at(&self, lock: &str, threads: u32) -> Shown {
        let row = self.0.iter().find(|(other, _)| *other == lock).map(|(_, row)| row);
        let place = THREADS.iter().position(|n| *n == threads);
        row.zip(place).map(|(row, place)| row[place]).expect("all locks ran with these threads")
    }
}

/// The document.
///
/// # Errors
/// When the threads get nowhere.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let machine = Arc::new(spec::load("osv-4")?);
    let published: HandoffSpin = published::typed(NAME)?;
    let curves = Curves::run(context, &machine)?;
    let mut listings = curves.techniques();
    let mut beyond = Vec::new();
    if !context.quick {
        beyond.push(tables::to_1024(context)?.plot());
    }
    if context.metal {
        listings.push(tables::metal(context));
    }
    Ok(DocumentReport {
        name: NAME.to_owned(),
        title: published::title(NAME),
        published_on: published::text(NAME, "machine").unwrap_or_default(),
        machine: SimMachine::of(&machine),
        workload: "misc-mutex: each thread locks, increments and unlocks again and again, and prints a letter after \
                   every tenth; pinned, but for 20 threads"
            .to_owned(),
        claims: curves.claims(&published),
        facts: facts(),
        fitted: Vec::new(),
        chosen: chosen(),
        tables: vec![curves.table(&published)?, curves.unchanged()?],
        bars: curves.bars(&published),
        listings,
        plots: vec![curves.plot(&published)],
        beyond,
        whys: crate::whys::of(NAME),
        notes: vec![crate::page(NAME)],
        left_out: context.choose(
            vec!["four fifths of the rounds (20 threads: of the slices); threads to 1024 (mesh-1024)".to_owned()],
            Vec::new(),
        ),
    })
}

fn chosen() -> Vec<String> {
    vec![
        format!("threads start {} us apart", SKEW_NS / 1000),
        format!("a letter takes {} us", LETTER_NS / 1000),
        format!("{ROUND_NS} ns of instructions between rounds"),
    ]
}

fn facts() -> Vec<String> {
    let own = [
        "the machine: an OSv guest on four cores of 2014; `turnwise-lab sim --machine osv-4 --describe` has each \
         number with its source"
            .to_owned(),
        "the lock: count, owner, a queue, and a token that offers the lock; the spin looks at the token up to 1000 \
         times while the owner runs and nobody is queued"
            .to_owned(),
        format!(
            "threads start {} us apart, and a letter takes {} us, in a run of a million increments: guessed",
            SKEW_NS / 1000,
            LETTER_NS / 1000
        ),
        "an uncontended round took 25 ns on that machine: 12 more than the lock's accesses to memory take in the \
         model, spent between rounds"
            .to_owned(),
        "nanoseconds for an acquisition are the whole run, start and end of threads included, over the increments of \
         all threads, as the benchmark has it"
            .to_owned(),
    ];
    own.to_vec()
}
