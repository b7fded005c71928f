//! `handoff_spin`: OSv's mutex with and without bounded spinning, in `misc-mutex` on a guest of four CPUs. Nothing is
//! fitted.

mod load;

use super::Context;
use super::report::PaperReport;
use super::words::Number;
use anyhow::Result;
use load::{MiscMutex, Shape, Shared, Shown};
use serde::Serialize;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise_bench::adapt::raw::RawLocked;
use turnwise_catalogue::{self as catalogue, Visit, visit};
use turnwise_sim::Sim;
use turnwise_sim::experiment::Experiment;
use turnwise_sim::spec::{self, Machine};

const NAME: &str = "handoff_spin";
const CPUS: u32 = 4;
/// How many threads the tables and listings have.
const THREADS: [u32; 4] = [1, 2, 4, 20];
/// The thread that starts the others is on the first one's CPU (OSv's `misc-mutex.cc`: the first is pinned to the first
/// CPU, where the program began), and gets that back after a slice.
const ALONE_NS: u64 = 4_000_000;
/// From the start of one of the others to the next: a wake-up each.
const SKEW_NS: u64 = 1_000;
/// A letter on the console, if a thread increments a million times.
const LETTER_NS: u64 = 10_000;
/// An uncontended round took 25 ns on the paper's machine, of which the lock's accesses to memory are 16 in the model;
/// instructions take no time there. On metal they do. From the store that offers the lock to the count of the next
/// round there are a return, a counter and a call: 2 to 4 ns.
const BETWEEN_NS: u64 = 3;
/// The rest is in `lock` and `unlock` themselves, and in the section.
const HELD_NS: u64 = 6;
const PAPERS_ROUNDS: u32 = 1_000_000;

/// The lock as it was, and with the paper's spin.
const NO_SPIN: &str = "osv-mutex-no-spin";
const SPIN: &str = "osv-mutex-spin";
/// A lock that only spins.
const SPIN_LOCK: &str = "ttas";
const TODAY: &str = "mutex";
/// The locks that are in the benchmark: techniques 2 (the paper's), 1 and 3 of the issue among them.
const LOCKS: [&str; 7] =
    [NO_SPIN, SPIN, "osv-mutex-spin-to-one", "osv-mutex-spin-polling", "osv-mutex-spin-after-push", SPIN_LOCK, TODAY];

#[derive(Clone)]
struct Run {
    machine: Arc<Machine>,
    cpus: u32,
    lock: &'static str,
    shape: Shape,
    seed: u64,
}

impl Visit<Sim> for &Run {
    type Out = Result<Shown>;

    fn exclusive<L: RawLock>(self, _: catalogue::Of<L>) -> Result<Shown> {
        let group = MiscMutex::<RawLocked<L, Shared>>::new(self.shape);
        // More threads than CPUs are not pinned in the benchmark either.
        let pinned = self.shape.threads <= self.cpus;
        let cpus = cores_first(&self.machine, self.shape.threads.min(self.cpus));
        let experiment = Experiment { pinned, cpus, ..Experiment::of(&self.machine, self.cpus, self.seed) };
        Ok(experiment.run("the mutex", group, MiscMutex::shown)?.end)
    }
}

/// Returns this many CPUs, one of each core before the second ones, as a host spreads busy virtual CPUs.
fn cores_first(machine: &Machine, count: u32) -> Vec<u32> {
    let per_core = machine.topology.threads_per_core;
    let mut cpus: Vec<u32> = (0..machine.topology.cpus()).collect();
    cpus.sort_by_key(|cpu| cpu % per_core);
    cpus.truncate(count as usize);
    cpus
}

/// Returns a shape with this many rounds; what is not in each round takes the same share of the run as in the paper.
fn shape(threads: u32, rounds: u32) -> Shape {
    let share = |ns: u64| ns * u64::from(rounds) / u64::from(PAPERS_ROUNDS);
    let alone_ns = if threads > CPUS { 0 } else { share(ALONE_NS) };
    let (skew_ns, letter_ns) = (share(SKEW_NS), share(LETTER_NS));
    Shape { threads, rounds, alone_ns, skew_ns, letter_ns, held_ns: HELD_NS, between_ns: BETWEEN_NS }
}

/// Increments of all threads together.
fn all_rounds(context: &Context<'_>) -> u32 {
    context.choose(40_000, 200_000)
}

/// A lock with what it showed.
type Of<T> = (&'static str, T);

/// What the report is made of.
#[derive(Serialize)]
struct Ours {
    threads: [u32; 4],
    locks: Vec<Of<Vec<Shown>>>,
    overlaps: Vec<Of<Shown>>,
    desktop: Vec<Of<Vec<Shown>>>,
}

/// Runs some locks with every number of threads.
fn curves(context: &Context<'_>, machine: &Arc<Machine>, locks: &[&'static str]) -> Result<Vec<Of<Vec<Shown>>>> {
    // Where threads outnumber CPUs a run must last for many slices: what a preempted owner leaves behind is the
    // paper's point. For locks that only a listing has, one of which polls all the time, a few will do.
    let judged = |lock| [NO_SPIN, SPIN, TODAY].contains(&lock);
    let slices = |lock, threads: u32| if threads > CPUS && judged(lock) { 5 } else { 1 };
    let rounds = |lock, threads: u32| all_rounds(context) * slices(lock, threads) / threads;
    let run = |lock, threads| Run {
        machine: Arc::clone(machine),
        cpus: CPUS,
        lock,
        shape: shape(threads, rounds(lock, threads)),
        seed: context.seed,
    };
    let runs: Vec<Run> = locks.iter().flat_map(|&lock| THREADS.map(|threads| run(lock, threads))).collect();
    let shown = context.pool.map(NAME, &runs, |run| visit::<Sim, _>(run.lock, run))?;
    Ok(locks.iter().copied().zip(shown.chunks(THREADS.len()).map(<[Shown]>::to_vec)).collect())
}

/// Runs two threads that meet for only a part of the run.
fn overlaps(context: &Context<'_>, machine: &Arc<Machine>) -> Result<Vec<Of<Shown>>> {
    // The first has done this much of its work when the other begins; an uncontended round takes 25 ns.
    const ALONE_PERCENT: [u64; 6] = [0, 25, 50, 75, 90, 100];
    const ROUND_NS: u64 = 25;
    let rounds = all_rounds(context) / 2;
    let run = |lock, percent: u64| {
        let alone_ns = u64::from(rounds) * ROUND_NS * percent / 100;
        let shape = Shape { alone_ns, ..shape(2, rounds) };
        Run { machine: Arc::clone(machine), cpus: CPUS, lock, shape, seed: context.seed }
    };
    let runs: Vec<Run> =
        [NO_SPIN, SPIN].iter().flat_map(|&lock| ALONE_PERCENT.map(|percent| run(lock, percent))).collect();
    let shown = context.pool.map("handoff_spin: overlap", &runs, |run| visit::<Sim, _>(run.lock, run))?;
    Ok(runs.iter().map(|run| run.lock).zip(shown).collect())
}

/// Reproduces the paper.
///
/// # Errors
/// When the threads get nowhere.
pub(super) fn run(context: &Context<'_>) -> Result<PaperReport> {
    let machine = Arc::new(spec::load("osv-laptop")?);
    let ours = Ours {
        threads: THREADS,
        locks: curves(context, &machine, &LOCKS)?,
        overlaps: overlaps(context, &machine)?,
        // A desktop with the same number of cores.
        desktop: curves(context, &Arc::new(spec::load("osv-4")?), &[NO_SPIN, SPIN, SPIN_LOCK])?,
    };
    let numbers: [Number<'_>; 6] = [
        ("alone_ms", &(ALONE_NS / 1_000_000)),
        ("skew_ns", &SKEW_NS),
        ("letter_us", &(LETTER_NS / 1000)),
        ("held_ns", &HELD_NS),
        ("between_ns", &BETWEEN_NS),
        ("round_ns", &(HELD_NS + BETWEEN_NS)),
    ];
    PaperReport::of(context, NAME, &machine, &numbers, ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_cpus_are_on_cores_of_their_own_while_there_are_enough() {
        let order = |name: &str, count| cores_first(&spec::load(name).expect("it is built in"), count);
        assert_eq!(order("osv-laptop", 2), [0, 2]);
        assert_eq!(order("osv-laptop", 4), [0, 2, 1, 3]);
        assert_eq!(order("osv-4", 3), [0, 1, 2]);
    }
}
