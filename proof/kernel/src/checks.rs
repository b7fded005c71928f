//! What the threads do, and whether it was right.

use crate::Console;
use crate::machine;
use crate::platform::Machine;
use crate::scheduler::{self, CPUS, THREADS};
use core::fmt::Write;
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

/// Adds one without a lock: what is lost shows that the others could lose some.
fn add_unlocked() {
    let before = UNLOCKED.load(Relaxed);
    if before.is_multiple_of(16) {
        Machine::pause(Pause::Yield);
    }
    UNLOCKED.store(before + 1, Relaxed);
}

// All are there before the kernel starts: constants make them.
static MUTEX: Mutex<Pair, Machine> = Mutex::const_new_in(Pair(0, 0));
static SPIN: SpinLock<Pair, NoBackoff, Machine> = SpinLock::const_new_in(Pair(0, 0));
static TICKET: TicketLock<Pair, NoBackoff, Machine> = TicketLock::const_new_in(Pair(0, 0));
static QUEUED: QueuedSpinLock<Pair, Machine> = QueuedSpinLock::const_new_in(Pair(0, 0));
static MCS: McsLock<Pair, Machine> = McsLock::const_new_in(Pair(0, 0));
static RWSEM: RwSem<Pair, Machine> = RwSem::const_new_in(Pair(0, 0));
static BIG_READER: BigReaderLock<Pair, CPUS, Machine> = BigReaderLock::const_new_in(Pair(0, 0));
static SEQ: SeqRwLock<Pair, Machine> = SeqRwLock::const_new_in(Pair(0, 0));
static SEMAPHORE: Semaphore<false, Machine> = Semaphore::const_new_in(3);
static QUEUE: Mutex<u64, Machine> = Mutex::const_new_in(0);
static FILLED: Condvar<Machine> = Condvar::const_new_in();
static TIMED: Mutex<(), Machine> = Mutex::const_new_in(());
static UNLOCKED: AtomicU64 = AtomicU64::new(0);
/// Threads that have come to the end of a check, counted on for ever.
static ARRIVED: Mutex<u64, Machine> = Mutex::const_new_in(0);
static ALL_ARRIVED: Condvar<Machine> = Condvar::const_new_in();
/// Of the present check: things that must not be.
static WRONG: AtomicU64 = AtomicU64::new(0);
/// Of the present check: whatever it counts.
static COUNT: AtomicU64 = AtomicU64::new(0);
static INSIDE: AtomicU32 = AtomicU32::new(0);
static FAILED: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Waits until all threads are here.
fn meet() {
    let mut arrived = ARRIVED.lock();
    *arrived += 1;
    let all = arrived.next_multiple_of(THREADS as u64);
    ALL_ARRIVED.notify_all();
    ALL_ARRIVED.wait_while(&mut arrived, |arrived| *arrived < all);
}

/// Ends a check: the first thread says what came of it.
fn check(me: usize, name: &str, result: impl FnOnce() -> (bool, Said)) {
    meet();
    if me == 0 {
        let (right, Said(some, all, what)) = result();
        let wrong = WRONG.swap(0, Relaxed);
        let verdict = if right && wrong == 0 { "ok" } else { "WRONG" };
        let _ = writeln!(Console, "{name:16} {verdict}: {some} of {all} {what}, {wrong} wrong");
        FAILED.fetch_or(verdict != "ok", Relaxed);
        COUNT.store(0, Relaxed);
    }
    meet();
}

fn expect(right: bool) {
    WRONG.fetch_add(u64::from(!right), Relaxed);
}

/// How many of how many.
struct Said(u64, u64, &'static str);

/// Runs all checks, says whether all was right, and ends the machine.
pub(crate) fn run() -> ! {
    BEGUN.store(machine::now(), Relaxed);
    scheduler::run(thread, end)
}

fn end() -> ! {
    let well = !FAILED.load(Relaxed);
    let ms = (machine::now() - BEGUN.load(Relaxed)) / 1_000_000;
    let _ = writeln!(Console, "{} after {ms} ms", if well { "All locks hold" } else { "NOT ALL LOCKS HOLD" });
    machine::exit(well)
}

fn thread(me: usize) {
    exclusive(me);
    shared(me);
    waits(me);
    (0..ROUNDS).for_each(|_| add_unlocked());
    check(me, "no lock", || {
        let sum = UNLOCKED.load(Relaxed);
        (sum < ALL, Said(ALL - sum, ALL, "updates lost, as should be"))
    });
}

/// Locks with one owner at a time; a spin lock's may not give up its CPU.
fn exclusive(me: usize) {
    updates(me, "mutex", &MUTEX, ROUNDS, true);
    updates(me, "spin lock", &SPIN, ROUNDS, false);
    updates(me, "ticket lock", &TICKET, FAIR_ROUNDS, false);
    updates(me, "queued spin lock", &QUEUED, FAIR_ROUNDS, false);
    for _ in 0..FAIR_ROUNDS {
        MCS.with(|pair| update(pair, false));
    }
    check(me, "mcs lock", || MCS.with(|pair| updated(*pair, FAIR_ROUNDS)));
}

fn updates<R: RawLock>(me: usize, name: &str, lock: &Lock<R, Pair>, rounds: u64, yields: bool) {
    for _ in 0..rounds {
        update(&mut lock.lock(), yields);
    }
    check(me, name, || updated(*lock.lock(), rounds));
}

fn update(pair: &mut Pair, yields: bool) {
    expect(pair.0 == pair.1);
    pair.add(yields);
}

fn updated(pair: Pair, rounds: u64) -> (bool, Said) {
    let all = THREADS as u64 * rounds;
    (pair == Pair(all, all), Said(pair.0, all, "updates"))
}

/// A third of the threads write, the others read.
fn shared(me: usize) {
    const WRITES: u64 = ALL / 3;
    let writes = me.is_multiple_of(3);
    let read = |pair: Pair| {
        expect(pair.0 == pair.1);
        COUNT.fetch_add(1, Relaxed);
    };
    let right = |pair: Pair| {
        let reads = COUNT.load(Relaxed);
        (pair == Pair(WRITES, WRITES) && reads == ALL - WRITES, Said(pair.0 + reads, ALL, "writes and reads"))
    };
    for round in 0..ROUNDS {
        match writes {
            true => RWSEM.write().add(true),
            false => {
                let pair = RWSEM.read();
                if round.is_multiple_of(64) {
                    Machine::pause(Pause::Yield);
                }
                read(*pair);
            }
        }
    }
    check(me, "rwsem", || right(*RWSEM.read()));
    for _ in 0..ROUNDS {
        match writes {
            true => BIG_READER.write().add(true),
            false => read(*BIG_READER.read()),
        }
    }
    check(me, "big-reader lock", || right(*BIG_READER.read()));
    for round in 0..ROUNDS {
        match writes {
            true => SEQ.write().add(true),
            false if round.is_multiple_of(4) => read(*SEQ.blocking_read()),
            false => read(SEQ.read()),
        }
    }
    check(me, "seqrwlock", || right(SEQ.read()));
}

/// Those who wait for something, and for as long.
fn waits(me: usize) {
    for round in 0..ROUNDS {
        let permit = SEMAPHORE.acquire();
        expect(INSIDE.fetch_add(1, Relaxed) < 3);
        if round.is_multiple_of(64) {
            Machine::pause(Pause::Yield);
        }
        INSIDE.fetch_sub(1, Relaxed);
        drop(permit);
        COUNT.fetch_add(1, Relaxed);
    }
    check(me, "semaphore", || {
        let count = COUNT.load(Relaxed);
        (count == ALL, Said(count, ALL, "acquisitions"))
    });
    for _ in 0..ROUNDS {
        let mut items = QUEUE.lock();
        if me.is_multiple_of(2) {
            *items += 1;
            FILLED.notify_one();
        } else {
            FILLED.wait_while(&mut items, |items| *items == 0);
            *items -= 1;
            COUNT.fetch_add(1, Relaxed);
        }
    }
    check(me, "condition var.", || {
        let count = COUNT.load(Relaxed);
        (count == ALL / 2 && *QUEUE.lock() == 0, Said(count, ALL / 2, "items"))
    });
    time_out(me);
}

/// The first thread keeps the lock until all others have given up, each after 5 ms.
fn time_out(me: usize) {
    const WAIT: Duration = Duration::from_millis(5);
    const OTHERS: u64 = THREADS as u64 - 1;
    let owner = (me == 0).then(|| TIMED.lock());
    meet();
    let begun = machine::now();
    if owner.is_some() {
        // As long as a host may keep a virtual CPU waiting.
        while COUNT.load(Relaxed) < OTHERS && machine::now() < begun + 10_000_000_000 {
            Machine::pause(Pause::Nap(1_000_000));
        }
    } else {
        let got = TIMED.try_lock_for(WAIT);
        expect(got.is_none() && machine::now() - begun >= WAIT.as_nanos() as u64);
        COUNT.fetch_add(1, Relaxed);
    }
    drop(owner);
    check(me, "time-out", || {
        let count = COUNT.load(Relaxed);
        (count == OTHERS, Said(count, OTHERS, "waits timed out"))
    });
}
