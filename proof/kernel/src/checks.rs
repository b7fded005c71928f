//! What the threads do, and whether it was right.

use crate::Console;
use crate::machine;
use crate::platform::Machine;
use crate::scheduler::{self, CPUS, THREADS};
use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use turnwise::backoff::NoBackoff;
use turnwise::platform::{Pause, Platform};
use turnwise::{
    BigReaderLock, Condvar, Lock, McsLock, Mutex, QueuedSpinLock, RawLock, RwSem, Semaphore, SeqRwLock, SpinLock,
    TicketLock,
};

/// What each thread does with each lock.
const ROUNDS: u64 = 1000;
const ALL: u64 = THREADS as u64 * ROUNDS;
/// The same for locks that hand over in order: the next may be a virtual CPU that has to wait for the host's.
const FAIR_ROUNDS: u64 = ROUNDS / 20;

/// Two numbers that differ while a thread writes, and at no other time.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pair(u64, u64);

impl Pair {
    /// Adds one, and takes a while; every 64th time `yields`, with the pair half written.
    fn add(&mut self, yields: bool) {
        self.0 += 1;
        for _ in 0..self.0 % 32 {
            Machine::pause(Pause::Relax);
        }
        if yields && self.0.is_multiple_of(64) {
            Machine::pause(Pause::Yield);
        }
        self.1 += 1;
    }
}

/// The same without a lock: what it loses shows that the others could.
struct Unlocked(UnsafeCell<u64>);

// SAFETY: none; the race is the point. It is read and written by volatile accesses of whole words.
unsafe impl Sync for Unlocked {}

impl Unlocked {
    fn add(&self) {
        let count: *mut u64 = self.0.get();
        // SAFETY: in bounds, and volatile: a race loses an addition, and does no other harm here.
        let before = unsafe { count.read_volatile() };
        if before.is_multiple_of(16) {
            Machine::pause(Pause::Yield);
        }
        // SAFETY: the write is in bounds and volatile, like the read.
        unsafe { count.write_volatile(before + 1) };
    }
}

struct Locks {
    mutex: Mutex<Pair, Machine>,
    spin: SpinLock<Pair, NoBackoff, Machine>,
    ticket: TicketLock<Pair, NoBackoff, Machine>,
    queued: QueuedSpinLock<Pair, Machine>,
    mcs: McsLock<Pair, Machine>,
    rwsem: RwSem<Pair, Machine>,
    big_reader: BigReaderLock<Pair, CPUS, Machine>,
    seq: SeqRwLock<Pair, Machine>,
    semaphore: Semaphore<false, Machine>,
    queue: Mutex<u64, Machine>,
    filled: Condvar<Machine>,
    timed: Mutex<(), Machine>,
    unlocked: Unlocked,
    /// Threads that have come to the end of a check, counted on for ever.
    arrived: Mutex<u64, Machine>,
    all_arrived: Condvar<Machine>,
    /// Of the present check: things that must not be.
    wrong: AtomicU64,
    /// Of the present check: whatever it counts.
    count: AtomicU64,
    inside: AtomicU32,
    failed: AtomicBool,
    begun: AtomicU64,
}

/// All are there before the kernel starts: constants make them.
static LOCKS: Locks = Locks::new();

impl Locks {
    const fn new() -> Self {
        Locks {
            mutex: Mutex::const_new_in(Pair(0, 0)),
            spin: SpinLock::const_new_in(Pair(0, 0)),
            ticket: TicketLock::const_new_in(Pair(0, 0)),
            queued: QueuedSpinLock::const_new_in(Pair(0, 0)),
            mcs: McsLock::const_new_in(Pair(0, 0)),
            rwsem: RwSem::const_new_in(Pair(0, 0)),
            big_reader: BigReaderLock::const_new_in(Pair(0, 0)),
            seq: SeqRwLock::const_new_in(Pair(0, 0)),
            semaphore: Semaphore::const_new_in(3),
            queue: Mutex::const_new_in(0),
            filled: Condvar::const_new_in(),
            timed: Mutex::const_new_in(()),
            unlocked: Unlocked(UnsafeCell::new(0)),
            arrived: Mutex::const_new_in(0),
            all_arrived: Condvar::const_new_in(),
            wrong: AtomicU64::new(0),
            count: AtomicU64::new(0),
            inside: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            begun: AtomicU64::new(0),
        }
    }

    /// Waits until all threads are here.
    fn meet(&self) {
        let mut arrived = self.arrived.lock();
        *arrived += 1;
        let all = arrived.next_multiple_of(THREADS as u64);
        self.all_arrived.notify_all();
        self.all_arrived.wait_while(&mut arrived, |arrived| *arrived < all);
    }

    /// Ends a check: the first thread says what came of it.
    fn check(&self, me: usize, name: &str, result: impl FnOnce() -> (bool, Said)) {
        self.meet();
        if me == 0 {
            let (right, said) = result();
            let wrong = self.wrong.swap(0, Relaxed);
            let verdict = if right && wrong == 0 { "ok" } else { "WRONG" };
            let _ = writeln!(Console, "{name:16} {verdict}: {said}, {wrong} wrong");
            self.failed.fetch_or(verdict != "ok", Relaxed);
            self.count.store(0, Relaxed);
        }
        self.meet();
    }

    fn expect(&self, right: bool) {
        self.wrong.fetch_add(u64::from(!right), Relaxed);
    }
}

/// How many of how many.
struct Said(u64, u64, &'static str);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.0, self.1, self.2)
    }
}

/// Runs all checks, says whether all was right, and ends the machine.
pub(crate) fn run() -> ! {
    LOCKS.begun.store(machine::now(), Relaxed);
    scheduler::run(thread, end)
}

fn end() -> ! {
    let well = !LOCKS.failed.load(Relaxed);
    let ms = (machine::now() - LOCKS.begun.load(Relaxed)) / 1_000_000;
    let _ = writeln!(Console, "{} after {ms} ms", if well { "All locks hold" } else { "NOT ALL LOCKS HOLD" });
    machine::exit(well)
}

fn thread(me: usize) {
    let locks = &LOCKS;
    exclusive(locks, me);
    shared(locks, me);
    waits(locks, me);
    (0..ROUNDS).for_each(|_| locks.unlocked.add());
    locks.check(me, "no lock", || {
        // SAFETY: all threads are in `check`.
        let sum = unsafe { *locks.unlocked.0.get() };
        (sum < ALL, Said(ALL - sum, ALL, "updates lost, as should be"))
    });
}

/// Locks with one owner at a time; a spin lock's may not give up its CPU.
fn exclusive(locks: &Locks, me: usize) {
    updates(locks, me, "mutex", &locks.mutex, ROUNDS, true);
    updates(locks, me, "spin lock", &locks.spin, ROUNDS, false);
    updates(locks, me, "ticket lock", &locks.ticket, FAIR_ROUNDS, false);
    updates(locks, me, "queued spin lock", &locks.queued, FAIR_ROUNDS, false);
    for _ in 0..FAIR_ROUNDS {
        locks.mcs.with(|pair| update(locks, pair, false));
    }
    locks.check(me, "mcs lock", || locks.mcs.with(|pair| updated(*pair, FAIR_ROUNDS)));
}

fn updates<R: RawLock>(locks: &Locks, me: usize, name: &str, lock: &Lock<R, Pair>, rounds: u64, yields: bool) {
    for _ in 0..rounds {
        update(locks, &mut lock.lock(), yields);
    }
    locks.check(me, name, || updated(*lock.lock(), rounds));
}

fn update(locks: &Locks, pair: &mut Pair, yields: bool) {
    locks.expect(pair.0 == pair.1);
    pair.add(yields);
}

fn updated(pair: Pair, rounds: u64) -> (bool, Said) {
    let all = THREADS as u64 * rounds;
    (pair == Pair(all, all), Said(pair.0, all, "updates"))
}

/// A third of the threads write, the others read.
fn shared(locks: &Locks, me: usize) {
    const WRITES: u64 = ALL / 3;
    let writes = me.is_multiple_of(3);
    let read = |pair: Pair| {
        locks.expect(pair.0 == pair.1);
        locks.count.fetch_add(1, Relaxed);
    };
    let right = |pair: Pair| {
        let reads = locks.count.load(Relaxed);
        (pair == Pair(WRITES, WRITES) && reads == ALL - WRITES, Said(pair.0 + reads, ALL, "writes and reads"))
    };
    for round in 0..ROUNDS {
        match writes {
            true => locks.rwsem.write().add(true),
            false => {
                let pair = locks.rwsem.read();
                if round.is_multiple_of(64) {
                    Machine::pause(Pause::Yield);
                }
                read(*pair);
            }
        }
    }
    locks.check(me, "rwsem", || right(*locks.rwsem.read()));
    for _ in 0..ROUNDS {
        match writes {
            true => locks.big_reader.write().add(true),
            false => read(*locks.big_reader.read()),
        }
    }
    locks.check(me, "big-reader lock", || right(*locks.big_reader.read()));
    for round in 0..ROUNDS {
        match writes {
            true => locks.seq.write().add(true),
            false if round.is_multiple_of(4) => read(*locks.seq.blocking_read()),
            false => read(locks.seq.read()),
        }
    }
    locks.check(me, "seqrwlock", || right(locks.seq.read()));
}

/// Those who wait for something, and for as long.
fn waits(locks: &Locks, me: usize) {
    for round in 0..ROUNDS {
        let permit = locks.semaphore.acquire();
        locks.expect(locks.inside.fetch_add(1, Relaxed) < 3);
        if round.is_multiple_of(64) {
            Machine::pause(Pause::Yield);
        }
        locks.inside.fetch_sub(1, Relaxed);
        drop(permit);
        locks.count.fetch_add(1, Relaxed);
    }
    locks.check(me, "semaphore", || {
        let count = locks.count.load(Relaxed);
        (count == ALL, Said(count, ALL, "acquisitions"))
    });
    for _ in 0..ROUNDS {
        let mut items = locks.queue.lock();
        if me.is_multiple_of(2) {
            *items += 1;
            locks.filled.notify_one();
        } else {
            locks.filled.wait_while(&mut items, |items| *items == 0);
            *items -= 1;
            locks.count.fetch_add(1, Relaxed);
        }
    }
    locks.check(me, "condition var.", || {
        let count = locks.count.load(Relaxed);
        (count == ALL / 2 && *locks.queue.lock() == 0, Said(count, ALL / 2, "items"))
    });
    time_out(locks, me);
}

/// The first thread keeps the lock until all others have given up, each after 5 ms.
fn time_out(locks: &Locks, me: usize) {
    const WAIT: Duration = Duration::from_millis(5);
    const OTHERS: u64 = THREADS as u64 - 1;
    let owner = (me == 0).then(|| locks.timed.lock());
    locks.meet();
    let begun = machine::now();
    if owner.is_some() {
        // As long as a host may keep a virtual CPU waiting.
        while locks.count.load(Relaxed) < OTHERS && machine::now() < begun + 10_000_000_000 {
            Machine::pause(Pause::Nap(1_000_000));
        }
    } else {
        let got = locks.timed.try_lock_for(WAIT);
        locks.expect(got.is_none() && machine::now() - begun >= WAIT.as_nanos() as u64);
        locks.count.fetch_add(1, Relaxed);
    }
    drop(owner);
    locks.check(me, "time-out", || {
        let count = locks.count.load(Relaxed);
        (count == OTHERS, Said(count, OTHERS, "waits timed out"))
    });
}
