//! A recorded program on a simulated machine with more CPUs.
//!
//! | file | what |
//! |---|---|
//! | `lib.rs` | by proportions: threads that compute and take locks as often and for as long as the recorded ones |
//! | `trace.rs`, `slices.rs`, `order.rs` | in order: what a recording keeps of it; its phases; their replay |
//! | `replayed.rs` | what both share: slots for locks, the window in which threads are watched |
//! | `futex.rs` | the C library's locks |
//!
//! By proportions ([`replay`]), a replay keeps how often each lock is taken, as reader or writer, the distribution of
//! its hold times, and how much threads compute in between, on average. It does not keep which lock follows which,
//! locks held within one another, phases, and how often threads wait for anything but these locks. In order
//! ([`order::Replay`]) all of that is kept, and the number of threads is the recorded one.

mod futex;
pub mod order;
mod replayed;
mod slices;
pub mod trace;

use anyhow::{Result, ensure};
use replayed::{Counts, Slot, watch, window};
use std::sync::Arc;
use trace::Kind;
use turnwise::platform::Platform;
use turnwise::{RawLock, RawMutex, RawRwLock, RawRwSem};
use turnwise_lineage::linux_mutex::{LinuxMutex, NoSpin};
use turnwise_lineage::rwsem_xadd::{Fifo, RwsemXadd};
use turnwise_sim::Sim;
use turnwise_sim::experiment::ThreadGroup;
use turnwise_sim::spec::Machine;

/// The most locks that are replayed; what happens at others is left out.
pub const MOST_LOCKS: usize = 16;

/// The program, as recorded.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Which of its locks are readers-writer locks.
    pub has_readers: Vec<bool>,
    /// The places that take them.
    pub sites: Vec<Site>,
    /// What a thread computes between two acquisitions, on average.
    pub think_ns: f64,
}

/// A place that takes a lock.
#[derive(Clone, Debug)]
pub struct Site {
    /// Which of the program's locks it takes.
    pub lock: usize,
    /// Whether it takes the lock for reading.
    pub reader: bool,
    /// How many of the program's acquisitions happen here.
    pub acquisitions: u64,
    /// How long it holds the lock: upper bound of a bucket, and how often.
    pub holds: Vec<(u64, u64)>,
}

/// Which locks it runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locks {
    /// Threads that find the lock taken sleep, as with the C library's: a mutex without spinning, a readers-writer lock
    /// that is granted in order.
    Sleeping,
    /// Turnwise's.
    Adaptive,
}

/// What a replay predicts.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Acquisitions per second of all threads together.
    pub acquisitions_per_s: f64,
    /// Share of the threads' time that they wait for each lock.
    pub waiting: Vec<f64>,
}

/// One thread on each of the first `cpus` CPUs, or this many threads on fewer.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Threads.
    pub threads: u32,
    /// CPUs.
    pub cpus: u32,
}

/// Replays the program.
///
/// # Errors
/// It takes no locks; the machine is too small; the threads make no progress.
pub fn replay(
    program: &Arc<Program>,
    machine: &Arc<Machine>,
    crowd: Crowd,
    locks: Locks,
    seed: u64,
) -> Result<Forecast> {
    ensure!(!program.sites.is_empty(), "the program took no locks, so there is nothing to replay");
    let has = machine.topology.cpus();
    ensure!(crowd.cpus <= has, "machine {} has {has} CPUs, not {}", machine.name, crowd.cpus);
    match locks {
        Locks::Sleeping => run::<LinuxMutex<NoSpin, Sim>, RwsemXadd<Fifo, Sim>>(program, machine, crowd, seed),
        Locks::Adaptive => run::<RawMutex<Sim>, RawRwSem<Sim>>(program, machine, crowd, seed),
    }
}

/// Acquisitions that a forecast rests on, about.
const EFFORT: f64 = 20_000.0;
/// However long the program computes, and however little: many times as long as a waiter may be passed over.
const WINDOW_NS: std::ops::RangeInclusive<f64> = 20e6..=200e6;

fn run<M: RawLock, S: RawRwLock>(
    program: &Arc<Program>,
    machine: &Arc<Machine>,
    crowd: Crowd,
    seed: u64,
) -> Result<Forecast> {
    let round_ns = program.think_ns + program.hold_ns();
    let each_ns = (round_ns / f64::from(crowd.cpus)).max(program.serial_ns());
    let window = window(EFFORT * each_ns, WINDOW_NS);
    let crew = Replay::<M, S>::new(Arc::clone(program), crowd.threads, window.1);
    let watched = watch(machine, (crowd.cpus, seed), window, crew, |crew| &crew.counts)?;
    let all_ns = watched.ns * f64::from(crowd.threads);
    Ok(Forecast {
        acquisitions_per_s: watched.acquisitions as f64 / watched.ns * 1e9,
        waiting: watched.waited_ns[..program.has_readers.len()].iter().map(|waited| waited / all_ns).collect(),
    })
}

/// Returns the mean of values with weights; of nothing, zero.
fn mean(values: impl Iterator<Item = (f64, u64)>) -> f64 {
    let (sum, all) = values.fold((0.0, 0), |(sum, all), (value, weight)| (sum + value * weight as f64, all + weight));
    if all == 0 { 0.0 } else { sum / all as f64 }
}

/// Returns the item that a place below the sum of all weights falls on.
fn at<T>(items: &[T], weight: impl Fn(&T) -> u64, mut place: u64) -> Option<&T> {
    items.iter().find(|item| {
        let left = place.checked_sub(weight(item));
        place = left.unwrap_or(0);
        left.is_none()
    })
}

impl Program {
    /// Returns the hold time of an acquisition, on average.
    #[must_use]
    pub fn hold_ns(&self) -> f64 {
        mean(self.sites.iter().map(|site| (site.mean_ns(), site.acquisitions)))
    }

    /// Returns how long the most-held lock is held, for each acquisition of the program: no machine is faster.
    fn serial_ns(&self) -> f64 {
        let all: u64 = self.sites.iter().map(|site| site.acquisitions).sum();
        let held = |lock: usize| {
            let sites = self.sites.iter().filter(|site| site.lock == lock && !site.reader);
            sites.map(|site| site.acquisitions as f64 * site.mean_ns()).sum::<f64>()
        };
        (0..self.has_readers.len()).map(held).fold(0.0, f64::max) / all.max(1) as f64
    }
}

impl Site {
    fn mean_ns(&self) -> f64 {
        mean(self.holds.iter().map(|&(ns, count)| (ns as f64, count)))
    }

    /// Returns one of the recorded times.
    fn hold_ns(&self, chance: impl FnOnce(u64) -> u64) -> u64 {
        let count: u64 = self.holds.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return 0;
        }
        at(&self.holds, |(_, count)| *count, chance(count)).map_or(0, |(ns, _)| *ns)
    }
}

/// The threads.
struct Replay<M, S> {
    locks: [Slot<M, S>; MOST_LOCKS],
    program: Arc<Program>,
    all: u64,
    threads: u32,
    until_ns: u64,
    counts: Counts,
}

impl<M: RawLock, S: RawRwLock> Replay<M, S> {
    fn new(program: Arc<Program>, threads: u32, until_ns: u64) -> Self {
        Replay {
            locks: std::array::from_fn(|_| Slot::new()),
            all: program.sites.iter().map(|site| site.acquisitions).sum(),
            program,
            threads,
            until_ns,
            counts: Counts::of(threads as usize, MOST_LOCKS),
        }
    }

    /// Returns a site, by how often it takes its lock.
    fn site(&self) -> &Site {
        let sites = &self.program.sites;
        at(sites, |site| site.acquisitions, Sim::chance(self.all.max(1))).unwrap_or(&sites[sites.len() - 1])
    }

    fn visit(&self, thread: usize, site: &Site) {
        let slot = &self.locks[site.lock];
        let how = (if self.program.has_readers[site.lock] { Kind::RwLock } else { Kind::Mutex }, site.reader);
        let hold_ns = site.hold_ns(Sim::chance);
        self.counts.wait(thread, site.lock, || slot.lock(how));
        Sim::touch((&raw const slot.data).cast(), size_of::<u64>(), !site.reader);
        Sim::compute(hold_ns);
        // SAFETY: acquired above.
        unsafe { slot.unlock(how) };
        self.counts.acquired();
    }
}

impl<M: RawLock, S: RawRwLock> ThreadGroup for Replay<M, S> {
    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn act(&self, thread: usize) {
        while Sim::time_ns() < self.until_ns {
            Sim::compute(between(self.program.think_ns, Sim::chance));
            self.visit(thread, self.site());
            Sim::progress();
        }
    }
}

/// Draws a time of the exponential distribution with this mean: nothing is known of when threads come.
fn between(mean_ns: f64, chance: impl FnOnce(u64) -> u64) -> u64 {
    const PARTS: u64 = 1 << 20;
    let share = (chance(PARTS) + 1) as f64 / (PARTS + 1) as f64;
    (-share.ln() * mean_ns) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_sim::spec;

    fn program(think_ns: f64, holds: Vec<(u64, u64)>) -> Arc<Program> {
        let site = |lock, acquisitions, reader| Site { lock, reader, acquisitions, holds: holds.clone() };
        let sites = vec![site(0, 90, false), site(1, 1, false), site(1, 9, true)];
        Arc::new(Program { has_readers: vec![false, true], sites, think_ns })
    }

    fn forecast(program: &Arc<Program>, cpus: u32, locks: Locks) -> Forecast {
        let machine = Arc::new(spec::load("graviton4").unwrap());
        replay(program, &machine, Crowd { threads: cpus, cpus }, locks, 1).unwrap()
    }

    #[test]
    fn a_busy_lock_becomes_the_wall_and_a_quiet_one_does_not() {
        let program = program(1_000.0, vec![(200, 3), (400, 1)]);
        for locks in [Locks::Sleeping, Locks::Adaptive] {
            let (one, many) = (forecast(&program, 1, locks), forecast(&program, 32, locks));
            assert!(one.waiting[0] < 0.1, "{one:?}");
            assert!(many.waiting[0] > 0.5 && many.waiting[1] < 0.1, "{locks:?}: {many:?}");
            let most = 1e9 / 250.0 / 0.9;
            assert!(many.acquisitions_per_s < most, "{locks:?}: no more than one at a time: {many:?}");
        }
    }

    #[test]
    fn a_thread_that_computes_alone_scales() {
        let program = program(50_000.0, vec![(100, 1)]);
        let (one, eight) = (forecast(&program, 1, Locks::Adaptive), forecast(&program, 8, Locks::Adaptive));
        let ratio = eight.acquisitions_per_s / one.acquisitions_per_s;
        assert!((6.5..=9.5).contains(&ratio), "{one:?} {eight:?}");
    }

    #[test]
    fn times_are_those_that_were_recorded() {
        let site = Site { lock: 0, reader: false, acquisitions: 4, holds: vec![(10, 3), (50, 1)] };
        assert_eq!([0, 2, 3].map(|at| site.hold_ns(|_| at)), [10, 10, 50]);
        assert!((site.mean_ns() - 20.0).abs() < 1e-9);
        assert_eq!(between(1000.0, |parts| parts - 1), 0);
    }

    #[test]
    fn what_cannot_be_replayed_is_said() {
        let machine = Arc::new(spec::load("desktop-4").unwrap());
        let crowd = Crowd { threads: 8, cpus: 8 };
        let few = replay(&program(1.0, vec![]), &machine, crowd, Locks::Adaptive, 1).unwrap_err();
        assert!(few.to_string().contains("has 4 CPUs, not 8"), "{few}");
        let none = replay(&Arc::default(), &machine, crowd, Locks::Adaptive, 1).unwrap_err();
        assert!(none.to_string().contains("took no locks"), "{none}");
    }
}
