//! Acquisitions by the million and threads by the thousand: nothing is lost, nothing grows, nothing gets slower.

use crate::arena::{Arena, Doing, Worker, spin};
use crate::object::Object;
use crate::ops::{Exclusive, LockRecord, Shared};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};
use turnwise::platform::{Native, Platform};
use turnwise_present::spent::Spent;

/// The number of equal laps in a run; the first lap is what the last is compared with.
const LAPS: usize = 8;
/// Acquisitions between two checks of the clock and the flag.
const BATCH: u64 = 16;
/// Batches per pause. More pauses would take more time than the acquisitions.
const PAUSES: u64 = 64;
/// Memory that a run may come to need after its first lap: what the C library keeps for its threads.
const SLACK_KIB: u64 = 2048;
/// A lock gets slower if an acquisition costs this many times what it did at the beginning.
const SLOWER: f64 = 3.0;
/// Laps of less CPU time show nothing about speed.
const TELLING: Duration = Duration::from_millis(2);
/// Threads that a comer may find as well: the main one, the watchdog, and the comers of the batch before.
const OTHERS: u32 = 16;

/// The result of one bout.
#[derive(Clone, Copy, Default)]
struct Made {
    acquisitions: u64,
    wall: Duration,
    cpu: Duration,
}

impl Made {
    /// Nanoseconds for each acquisition.
    fn each(self, time: Duration) -> f64 {
        time.as_nanos() as f64 / self.acquisitions.max(1) as f64
    }
}

/// What the threads of a run share.
struct Run<'a> {
    arena: &'a Arena,
    ops: Exclusive,
    /// Every other acquisition is a reader's, if there are readers.
    shared: Option<Shared>,
    lock: Object<'static>,
    /// The numbers that sections find equal and leave equal.
    pair: [AtomicU64; 2],
    updates: AtomicU64,
    /// The highest number that any thread had as its token.
    most: AtomicU32,
}

pub(super) fn load(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let run = Run::new(arena, record, ops);
    // Threads, and the part of the lap that they have.
    let bouts = [(1, 0.3), (2, 0.5), (record.nature.crowd, 0.2)];
    let mut laps = [[Made::default(); 3]; LAPS];
    let mut memory = [0; LAPS];
    for (made, memory) in laps.iter_mut().zip(&mut memory) {
        for ((threads, part), made) in bouts.into_iter().zip(made) {
            *made = run.bout(threads, part / LAPS as f64);
        }
        *memory = resident_kib();
    }
    run.expect_all();
    run.expect_no_growth(memory[0], memory[LAPS - 1], record.nature.crowd as u32);
    let alone = |laps: &[[Made; 3]]| laps.iter().map(|lap| lap[0].each(lap[0].cpu)).fold(f64::INFINITY, f64::min);
    let (began, ended) = (alone(&laps[..2]), alone(&laps[LAPS - 2..]));
    if ended > began * SLOWER && laps.iter().all(|lap| lap[0].cpu > TELLING) {
        arena.fail(Verdict::Slowed, &format!("an acquisition costs {ended:.0} ns, at the beginning {began:.0}"));
    }
    let column = |bout: usize| {
        let each = |lap: usize| laps[lap][bout].each(laps[lap][bout].wall);
        format!("{:.1} to {:.1}", each(0), each(LAPS - 1))
    };
    println!(
        "| {} | {} | {} | {} | {began:.1} to {ended:.1} | {} | {} | {} to {} | {} |",
        record.name,
        arena.total(),
        run.updates.load(Relaxed),
        run.lost(),
        column(1),
        column(2),
        memory[0],
        memory[LAPS - 1],
        run.most.load(Relaxed),
    );
}

/// Runs threads that come, take a lock that all share and one of their own, which they allocate, and exit.
pub(super) fn churn(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let run = Run::new(arena, record, ops);
    let (began, comers) = (Instant::now(), (record.nature.crowd / 2).clamp(2, 4));
    let (mut threads, mut first) = (0_u64, None);
    while arena.share() < 1.0 {
        std::thread::scope(|s| {
            let comes = |number| {
                let run = &run;
                s.spawn(move || run.comes_and_goes(&mut run.arena.worker(number), record))
            };
            let came: Vec<_> = (0..comers).map(comes).collect();
            // A scope's end waits for what threads do, and not for their exits, in which they give their numbers back:
            // next to other programs many batches of them would pile up.
            came.into_iter().for_each(|thread| thread.join().expect("none panics"));
        });
        threads += comers as u64;
        if first.is_none() && arena.share() > 1.0 / LAPS as f64 {
            first = Some(resident_kib());
        }
    }
    run.expect_all();
    let (last, rate) = (resident_kib(), threads as f64 / began.elapsed().as_secs_f64());
    let first = first.unwrap_or(last);
    run.expect_no_growth(first, last, comers as u32);
    let most = run.most.load(Relaxed);
    let (name, all, lost) = (record.name, arena.total(), run.lost());
    println!("| {name} | {threads} | {rate:.0} | {all} | {lost} | {first} to {last} | {most} |");
}

impl Run<'_> {
    fn new<'a>(arena: &'a Arena, record: &LockRecord, ops: Exclusive) -> Run<'a> {
        let (lock, shared) = (arena.watched(record), record.ops.shared);
        let (pair, updates, most) = (Default::default(), AtomicU64::new(0), AtomicU32::new(0));
        Run { arena, ops, shared, lock, pair, updates, most }
    }

    /// Threads acquire for this part of the run.
    fn bout(&self, threads: usize, part: f64) -> Made {
        let (over, until) = (AtomicBool::new(false), self.arena.share() + part);
        let (before, wall, cpu) = (self.arena.total(), Instant::now(), Spent::here().cpu);
        std::thread::scope(|s| {
            for number in 0..threads {
                let over = &over;
                s.spawn(move || {
                    let mut worker = self.arena.worker(number);
                    while !over.load(Relaxed) {
                        self.batch(&mut worker, over);
                    }
                    self.leaves();
                });
            }
            while self.arena.share() < until {
                std::thread::sleep(Duration::from_micros(500));
            }
            over.store(true, Relaxed);
        });
        let acquisitions = self.arena.total() - before;
        Made { acquisitions, wall: wall.elapsed(), cpu: Spent::here().cpu.saturating_sub(cpu) }
    }

    /// Does some acquisitions, occasionally with a random pause somewhere; fewer if the run is over.
    fn batch(&self, worker: &mut Worker, over: &AtomicBool) {
        let pause = worker.rng.random_range(0..PAUSES * BATCH);
        let (mut turn, mut updates) = (0, 0);
        worker.does(Doing::Acquires);
        while turn < BATCH && !over.load(Relaxed) {
            match self.shared {
                Some(shared) if turn % 2 == 1 => self.read(shared),
                _ => {
                    self.update();
                    updates += 1;
                }
            }
            if turn == pause {
                spin(100);
            }
            turn += 1;
        }
        worker.does(Doing::Outside);
        worker.gets_on_by(turn);
        self.updates.fetch_add(updates, Relaxed);
    }

    fn update(&self) {
        (self.ops.acquire)(self.lock);
        let [first, second] = self.pair.each_ref().map(|number| number.load(Relaxed));
        self.expect_equal(first, second);
        self.pair[0].store(first + 1, Relaxed);
        self.pair[1].store(second + 1, Relaxed);
        // SAFETY: acquired above.
        unsafe { (self.ops.release)(self.lock) };
    }

    fn read(&self, shared: Shared) {
        (shared.read)(self.lock);
        self.expect_equal(self.pair[0].load(Relaxed), self.pair[1].load(Relaxed));
        // SAFETY: acquired above.
        unsafe { (shared.unlock_read)(self.lock) };
    }

    fn expect_equal(&self, first: u64, second: u64) {
        if first != second {
            self.arena.fail(Verdict::TwoOwners, &format!("the pair differs: {first}, {second}"));
        }
    }

    fn comes_and_goes(&self, worker: &mut Worker, record: &LockRecord) {
        record.for_a_while(|own| {
            (self.ops.acquire)(own);
            self.batch(worker, &AtomicBool::new(false));
            // SAFETY: acquired above.
            unsafe { (self.ops.release)(own) };
        });
        self.leaves();
    }

    /// Notes the calling thread's number.
    fn leaves(&self) {
        let number = Native::me().map_or(0, |_| Native::current().get());
        self.most.fetch_max(number, Relaxed);
    }

    /// Updates that the data does not have.
    fn lost(&self) -> u64 {
        let updates = self.updates.load(Relaxed);
        self.pair.iter().map(|number| updates.abs_diff(number.load(Relaxed))).fold(0, u64::max)
    }

    /// Fails unless every update is there.
    fn expect_all(&self) {
        let (updates, lost) = (self.updates.load(Relaxed), self.lost());
        if lost > 0 {
            self.arena.fail(Verdict::TwoOwners, &format!("{lost} of {updates} updates were lost"));
        }
    }

    fn expect_no_growth(&self, first: u64, last: u64, threads: u32) {
        if last > first + SLACK_KIB {
            self.arena.fail(Verdict::Grew, &format!("the process had {first} KiB, and has {last}"));
        }
        let most = self.most.load(Relaxed);
        if most > threads + OTHERS {
            self.arena.fail(Verdict::Grew, &format!("{threads} threads at a time came to number {most}"));
        }
    }
}

/// Returns the resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    resident.and_then(|number| number.parse().ok()).unwrap_or(0)
}
