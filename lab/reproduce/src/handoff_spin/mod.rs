//! `handoff_spin`: OSv's mutex with and without bounded spinning, in `misc-mutex` on a guest of four CPUs. Nothing is
//! fitted.

mod load;

use super::numbers::Numbers;
use super::{Context, Simulated};
use anyhow::Result;
use load::{MiscMutex, Shape, Shared, Shown};
use serde::Serialize;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise_bench::adapt::raw::RawLocked;
use turnwise_catalogue::{self as catalogue, Visit, visit};
use turnwise_sim::Sim;
use turnwise_sim::experiment::Experiment;
use turnwise_sim::spec::Machine;

const CPUS: u32 = 4;
/// How many threads the tables and listings have.
const THREADS: [u32; 4] = [1, 2, 4, 20];
/// The lock as it was, and with the paper's spin.
const NO_SPIN: &str = "osv-mutex-no-spin";
const SPIN: &str = "osv-mutex-spin";
/// A lock that only spins.
const SPIN_LOCK: &str = "ttas";
const TODAY: &str = "mutex";
/// The locks that are in the benchmark: first those of rows and claims; techniques 2 (the paper's), 1 and 3 of the
/// issue are among them.
const LOCKS: [&str; 7] =
    [NO_SPIN, SPIN, SPIN_LOCK, TODAY, "osv-mutex-spin-to-one", "osv-mutex-spin-polling", "osv-mutex-spin-after-push"];

#[derive(Clone)]
struct Run {
    machine: Arc<Machine>,
    lock: &'static str,
    shape: Shape,
    seed: u64,
}

impl Visit<Sim> for &Run {
    type Out = Result<Shown>;

    fn exclusive<L: RawLock>(self, _: catalogue::Of<L>) -> Result<Shown> {
        let group = MiscMutex::<RawLocked<L, Shared>>::new(self.shape);
        // More threads than CPUs are not pinned in the benchmark either.
        let pinned = self.shape.threads <= CPUS;
        let cpus = cores_first(&self.machine, self.shape.threads.min(CPUS));
        let experiment = Experiment { pinned, cpus, ..Experiment::of(&self.machine, CPUS, self.seed) };
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
fn shape(numbers: &Numbers<'_>, threads: u32, rounds: u32) -> Result<Shape> {
    let all = numbers.float("rounds")?;
    let share = |name, unit: u32| -> Result<u64> {
        Ok((numbers.float(name)? * f64::from(unit) * f64::from(rounds) / all) as u64)
    };
    Ok(Shape {
        threads,
        rounds,
        alone_ns: if threads > CPUS { 0 } else { share("alone_ms", 1_000_000)? },
        skew_ns: share("skew_ns", 1)?,
        letter_ns: share("letter_us", 1000)?,
        held_ns: numbers.times("held_ns", 1)?,
        between_ns: numbers.times("between_ns", 1)?,
    })
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
fn curves(
    context: &Context<'_>,
    numbers: &Numbers<'_>,
    machine: &Arc<Machine>,
    locks: &[&'static str],
) -> Result<Vec<Of<Vec<Shown>>>> {
    // Where threads outnumber CPUs a run must last for many slices: what a preempted owner leaves behind is the
    // paper's point. For locks that only a listing has, one of which polls all the time, a few will do.
    let judged = |lock| [NO_SPIN, SPIN, TODAY].contains(&lock);
    let slices = |lock, threads: u32| if threads > CPUS && judged(lock) { 5 } else { 1 };
    let rounds = |lock, threads: u32| all_rounds(context) * slices(lock, threads) / threads;
    let run = |lock, threads| {
        let shape = shape(numbers, threads, rounds(lock, threads))?;
        Ok(Run { machine: Arc::clone(machine), lock, shape, seed: context.seed })
    };
    let runs = locks.iter().flat_map(|&lock| THREADS.map(|threads| run(lock, threads)));
    let runs: Vec<Run> = runs.collect::<Result<_>>()?;
    let shown = context.pool.map("handoff_spin", &runs, |run| visit::<Sim, _>(run.lock, run))?;
    Ok(locks.iter().copied().zip(shown.chunks(THREADS.len()).map(<[Shown]>::to_vec)).collect())
}

/// Runs two threads that meet for only a part of the run.
fn overlaps(context: &Context<'_>, numbers: &Numbers<'_>, machine: &Arc<Machine>) -> Result<Vec<Of<Shown>>> {
    // The first has done this much of its work when the other begins; an uncontended round takes 25 ns.
    const ALONE_PERCENT: [u64; 6] = [0, 25, 50, 75, 90, 100];
    const ROUND_NS: u64 = 25;
    let rounds = all_rounds(context) / 2;
    let run = |lock, percent: u64| {
        let alone_ns = u64::from(rounds) * ROUND_NS * percent / 100;
        let shape = Shape { alone_ns, ..shape(numbers, 2, rounds)? };
        Ok(Run { machine: Arc::clone(machine), lock, shape, seed: context.seed })
    };
    let runs = [NO_SPIN, SPIN].iter().flat_map(|&lock| ALONE_PERCENT.map(|percent| run(lock, percent)));
    let runs: Vec<Run> = runs.collect::<Result<_>>()?;
    let shown = context.pool.map("handoff_spin: overlap", &runs, |run| visit::<Sim, _>(run.lock, run))?;
    Ok(runs.iter().map(|run| run.lock).zip(shown).collect())
}

/// Runs what the paper's report is made of.
pub(super) fn run(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Simulated> {
    let machine = numbers.machine(numbers.text("machine")?)?;
    let listings = context.draw.is_none();
    let ours = Ours {
        threads: THREADS,
        locks: curves(context, numbers, &machine, context.judged(&LOCKS, 3))?,
        overlaps: if listings { overlaps(context, numbers, &machine)? } else { Vec::new() },
        // A desktop with the same number of cores.
        desktop: match listings.then(|| numbers.machine("osv-4")).transpose()? {
            Some(desktop) => curves(context, numbers, &desktop, &LOCKS[..3])?,
            None => Vec::new(),
        },
    };
    Ok(Simulated::new(&machine, ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_sim::spec;

    #[test]
    fn busy_cpus_are_on_cores_of_their_own_while_there_are_enough() {
        let order = |name: &str, count| cores_first(&spec::load(name).expect("it is built in"), count);
        assert_eq!(order("osv-laptop", 2), [0, 2]);
        assert_eq!(order("osv-laptop", 4), [0, 2, 1, 3]);
        assert_eq!(order("osv-4", 3), [0, 1, 2]);
    }
}
