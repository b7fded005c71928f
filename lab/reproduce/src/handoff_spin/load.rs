//! `misc-mutex`: some threads, each of which repeatedly locks, increments and unlocks, and prints a letter before every
//! tenth of its rounds.

use serde::Serialize;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::Platform;
use turnwise_bench::load::exclusive::Lock;
use turnwise_sim::Sim;
use turnwise_sim::experiment::ThreadGroup;

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) threads: u32,
    /// Increments by each.
    pub(super) rounds: u32,
    /// How long the first thread is alone: the one that starts the others waits for its CPU.
    pub(super) alone_ns: u64,
    /// Time from the start of one of the others to that of the next.
    pub(super) skew_ns: u64,
    /// What a letter takes.
    pub(super) letter_ns: u64,
    /// What a round takes in addition to the lock's accesses to memory, while the thread has the lock.
    pub(super) held_ns: u64,
    /// The same between two rounds.
    pub(super) between_ns: u64,
}

/// What the lock protects, and its last owner.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    count: u64,
    owner: u32,
    /// How often it was another than before.
    changes: u64,
}

/// The threads.
pub(super) struct MiscMutex<L> {
    lock: L,
    shape: Shape,
    begun: Vec<AtomicU64>,
    ended: Vec<AtomicU64>,
}

/// What a run showed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Shown {
    /// Nanoseconds for an increment, as the benchmark counts: all of the run, start and end of threads included.
    pub(super) each_ns: f64,
    /// Share of the run in which at least two threads were at it.
    pub(super) overlap: f64,
    /// Mean number of increments in a row by one thread.
    pub(super) run_length: f64,
}

impl<L: Lock<Shared>> MiscMutex<L> {
    pub(super) fn new(shape: Shape) -> Self {
        let times = || (0..shape.threads).map(|_| AtomicU64::new(0)).collect();
        let lock = L::new(Shared { count: 0, owner: u32::MAX, changes: 0 });
        MiscMutex { lock, begun: times(), ended: times(), shape }
    }

    /// Returns the results after the run.
    pub(super) fn shown(&self) -> Shown {
        let Shared { count, changes, .. } = self.lock.with(|shared| *shared);
        assert_eq!(count, u64::from(self.shape.threads) * u64::from(self.shape.rounds), "the lock let two in at once");
        let mut times: Vec<(u64, i32)> = self.begun.iter().map(|time| (time.load(Relaxed), 1)).collect();
        times.extend(self.ended.iter().map(|time| (time.load(Relaxed), -1)));
        times.sort_unstable();
        let all = times.last().map_or(1, |end| end.0.max(1)) as f64;
        Shown {
            each_ns: all / count as f64,
            overlap: together(&times) as f64 / all,
            run_length: count as f64 / changes as f64,
        }
    }
}

/// Returns for how long at least two ran: from the changes in their number, in the order of time.
fn together(times: &[(u64, i32)]) -> u64 {
    let (mut sum, mut there, mut since) = (0, 0, 0);
    for (time, change) in times {
        if there >= 2 {
            sum += time - since;
        }
        (there, since) = (there + change, *time);
    }
    sum
}

impl<L: Lock<Shared>> ThreadGroup for MiscMutex<L> {
    fn threads(&self) -> usize {
        self.shape.threads as usize
    }

    fn act(&self, thread: usize) {
        let Shape { rounds, alone_ns, skew_ns, letter_ns, held_ns, between_ns, .. } = self.shape;
        if let Some(later) = thread.checked_sub(1) {
            let start_ns = alone_ns + later as u64 * skew_ns;
            if start_ns > 0 {
                Sim::sleep(start_ns);
            }
        }
        self.begun[thread].store(Sim::time_ns(), Relaxed);
        let tenth = (rounds / 10).max(1);
        for round in 0..rounds {
            self.lock.with(|shared| {
                Sim::touch(std::ptr::from_mut(shared).cast(), size_of::<u64>(), true);
                shared.count += 1;
                shared.changes += u64::from(shared.owner != thread as u32);
                shared.owner = thread as u32;
                Sim::compute(held_ns);
            });
            Sim::compute(between_ns);
            if round % tenth == 0 {
                Sim::compute(letter_ns);
                Sim::progress();
            }
        }
        self.ended[thread].store(Sim::time_ns(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_the_time_of_two_or_more() {
        assert_eq!(together(&[(0, 1), (10, 1), (30, -1), (50, 1), (55, -1), (70, -1)]), 20 + 5);
        assert_eq!(together(&[(0, 1), (10, -1), (10, 1), (20, -1)]), 0);
    }
}
