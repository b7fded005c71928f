//! The workload: threads meet at a barrier, then all open and read the same next file.
//!
//! Opening and reading a file means a number of acquisitions of one lock, with private work in between. The owner reads
//! and writes some lines of what it protects, which the last owner wrote: on these machines instructions take
//! nanoseconds and such lines hundreds, the more the farther the last owner was. Readers together only read.
//!
//! The barrier is a program's, in memory that it spins on: the time that a thread waits there is user time, all else is
//! system time. On a full machine, the program's first thread, which repeatedly checks whether all are done, shares a
//! CPU with one of them.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use turnwise::platform::{IntWord, Pause, Platform, SpinLimit, Word};
use turnwise_bench::load::exclusive::Lock;
use turnwise_bench::simulated::Jitter;
use turnwise_sim::experiment::ThreadGroup;
use turnwise_sim::{Sim, SimWord};

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Threads that read files.
    pub(super) threads: u32,
    /// Files, one after another.
    pub(super) files: u32,
    /// Acquisitions of the lock for each file and thread.
    pub(super) acquisitions: u32,
    /// Lines that each owner reads and writes, in hundredths: the last of them is touched only at some acquisitions.
    pub(super) lines: u32,
    /// Whether the owner is alone, and writes.
    pub(super) alone: bool,
    /// Work before each.
    pub(super) private_ns: u64,
    /// Whether the first thread of the program is here, too, though there is no CPU left for it.
    pub(super) watched: bool,
    /// Whether fields that the owner changes lie on the lock's line, as those of an inode do.
    pub(super) inode: bool,
}

/// A value apart from its neighbours.
#[repr(align(128))]
struct Apart<T>(T);

/// A barrier that its threads spin at.
struct Barrier {
    arrived: Apart<SimWord<u32>>,
    round: Apart<SimWord<u32>>,
}

impl Barrier {
    fn new() -> Self {
        Barrier { arrived: Apart(SimWord::new(0)), round: Apart(SimWord::new(0)) }
    }

    fn wait(&self, threads: u32) {
        let round = self.round.0.load(Relaxed);
        // ORDERING barrier.arrive: pairs with itself; the last one sees what all did before.
        if self.arrived.0.fetch_add(1, std::sync::atomic::Ordering::AcqRel) + 1 == threads {
            self.arrived.0.store(0, Relaxed);
            // ORDERING barrier.go: pairs with barrier.see.
            return self.round.0.store(round.wrapping_add(1), Release);
        }
        // Where threads outnumber CPUs, some missing threads wait for our CPU.
        const PATIENCE_NS: u64 = 50_000;
        loop {
            let until = Some(Sim::now() + PATIENCE_NS);
            let limit = SpinLimit { until, ..SpinLimit::NONE };
            if Sim::spin_until(&self.round.0, |now| now != round, limit).is_ok() {
                break;
            }
            Sim::pause(Pause::Yield);
        }
        // ORDERING barrier.see: pairs with barrier.go.
        self.round.0.load(Acquire);
    }
}

/// The threads. Whether readers of a file take its lock together depends on the lock.
pub(super) struct SameFile<L> {
    barrier: Barrier,
    lock: Apart<L>,
    /// What the lock protects.
    fields: Vec<Apart<SimWord<u32>>>,
    shape: Shape,
    jitter: Jitter,
    user_ns: AtomicU64,
    system_ns: AtomicU64,
    /// Threads that are done.
    done: AtomicU32,
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    /// From the first barrier to the last, nanoseconds.
    pub(super) wall_ns: f64,
    /// Of all threads, opening and reading.
    pub(super) system_ns: f64,
    /// Of all threads, at the barrier.
    pub(super) user_ns: f64,
}

impl Took {
    /// Returns the mean of some runs.
    pub(super) fn mean(runs: &[Took]) -> Took {
        let mean = |of: fn(&Took) -> f64| runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64;
        Took { wall_ns: mean(|t| t.wall_ns), system_ns: mean(|t| t.system_ns), user_ns: mean(|t| t.user_ns) }
    }
}

impl<L: Lock<()>> SameFile<L> {
    /// Threads that have not started yet.
    pub(super) fn new(shape: Shape, jitter: Jitter) -> Self {
        SameFile {
            barrier: Barrier::new(),
            lock: Apart(L::new(())),
            fields: (0..shape.lines.div_ceil(100)).map(|_| Apart(SimWord::new(0))).collect(),
            shape,
            jitter,
            user_ns: AtomicU64::new(0),
            system_ns: AtomicU64::new(0),
            done: AtomicU32::new(0),
        }
    }

    /// Returns what it took. User and system time of all threads together are the time from the first barrier to the
    /// last, once for each.
    pub(super) fn took(&self) -> Took {
        let (user, system) = (self.user_ns.load(Relaxed) as f64, self.system_ns.load(Relaxed) as f64);
        Took { wall_ns: (user + system) / f64::from(self.shape.threads), system_ns: system, user_ns: user }
    }

    fn open_and_read(&self) {
        for n in 0..self.shape.acquisitions {
            self.jitter.think(self.shape.private_ns);
            self.lock.0.with(|()| {
                if self.shape.inode {
                    Sim::touch((&raw const self.lock).cast_mut().cast(), size_of::<u32>(), true);
                }
                // Steps by the golden ratio: any few acquisitions touch the last line as often as they should.
                let lines = (self.shape.lines + n * 62 % 100) / 100;
                self.use_fields(lines as usize);
            });
        }
    }

    /// Reads and writes this many lines of what the lock protects.
    fn use_fields(&self, lines: usize) {
        for field in &self.fields[..lines] {
            let value = field.0.load(Relaxed);
            if self.shape.alone {
                field.0.store(value.wrapping_add(1), Relaxed);
            }
        }
    }

    /// Checks whether all are done, and yields the CPU between checks.
    fn watch(&self) {
        while self.done.load(Relaxed) < self.shape.threads {
            Sim::compute(LOOK_NS);
            Sim::pause(Pause::Yield);
        }
    }

    fn work(&self) {
        let (mut user, mut system) = (0, 0);
        self.barrier.wait(self.shape.threads);
        let mut last = Sim::time_ns();
        for _ in 0..self.shape.files {
            self.open_and_read();
            let read = Sim::time_ns();
            self.barrier.wait(self.shape.threads);
            let met = Sim::time_ns();
            (system, user) = (system + (read - last), user + (met - read));
            last = met;
            Sim::progress();
        }
        self.system_ns.fetch_add(system, Relaxed);
        self.user_ns.fetch_add(user, Relaxed);
        self.done.fetch_add(1, Relaxed);
    }
}

/// How long the first thread of the program polls before it yields the CPU.
const LOOK_NS: u64 = 1_000;

impl<L: Lock<()>> ThreadGroup for SameFile<L> {
    fn threads(&self) -> usize {
        self.shape.threads as usize + usize::from(self.shape.watched)
    }

    fn act(&self, thread: usize) {
        if thread == self.shape.threads as usize { self.watch() } else { self.work() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::locks::{WithLock, with_lock};
    use super::super::model::{LOCKS, RWSEM, TODAY, TOGETHER};
    use super::*;

    /// One thread on a file.
    struct Alone(Shape);

    impl WithLock for Alone {
        type Out = Vec<u32>;

        fn with<L: Lock<()>>(self) -> Vec<u32> {
            let group = SameFile::<L>::new(self.0, Jitter::percent(0));
            group.open_and_read();
            group.fields.iter().map(|field| field.0.load(Relaxed)).collect()
        }
    }

    #[test]
    fn a_lone_thread_writes_this_many_lines_and_readers_together_none() {
        for lock in LOCKS {
            let shape = Shape {
                threads: 1,
                files: 1,
                acquisitions: 100,
                lines: 250,
                alone: !TOGETHER.contains(&lock),
                private_ns: 5_000,
                watched: false,
                inode: false,
            };
            let written = with_lock(lock, Alone(shape));
            let expected = if [RWSEM, TODAY].contains(&lock) { [0; 3] } else { [100, 100, 50] };
            assert_eq!(written, expected, "{lock}");
        }
    }
}
