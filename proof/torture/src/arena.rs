//! The threads of one run, what they protect, which of them wait, and the watchdog.

use crate::object::Object;
use crate::ops::{Change, Condvar, Exclusive, LockRecord, Shared, Upgrade};
use crate::verdict::Verdict;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Native};

/// Places for threads at a time.
const SEATS: usize = 64;
/// The watchdog's polling period.
const LOOK: Duration = Duration::from_millis(20);
/// A watchdog that polls this late was not alone in standing still: the process, or all that runs here, was stopped.
pub(crate) const STOPPED: Duration = Duration::from_secs(1);

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Doing {
    /// No thread sits here, or the thread is between two rounds.
    Outside,
    /// It waits for the lock.
    Acquires,
    /// It has the lock.
    Holds,
    /// It releases the lock.
    Releases,
    /// It waits for a notification, or for the lock after one.
    Waits,
}

impl Doing {
    const ALL: [Doing; 5] = [Doing::Outside, Doing::Acquires, Doing::Holds, Doing::Releases, Doing::Waits];
}

/// What one thread shows to the watchdog.
#[derive(Default)]
struct Seat {
    doing: AtomicU8,
    rounds: AtomicU64,
    sections: AtomicU64,
    /// It does so since then, in milliseconds of the arena.
    since_ms: AtomicU64,
}

/// A lock, and a function that describes its words.
type Watched = (Object<'static>, fn(Object) -> String);

/// What a run has.
#[derive(Clone, Copy)]
pub struct Limits {
    /// For its random choices.
    pub seed: u64,
    /// Its time.
    pub length: Duration,
    /// Acquisitions that are enough, if they are reached sooner: for scenarios that call [`Arena::share`].
    pub acquisitions: u64,
    /// A thread that makes no progress for this long hangs.
    pub patience: Duration,
}

/// A run of one lock under one scenario.
pub struct Arena {
    /// What it has.
    pub limits: Limits,
    started: Instant,
    /// Milliseconds for which the process was stopped: no thread waited in them.
    stopped_ms: AtomicU64,
    done: AtomicBool,
    seats: [Seat; SEATS],
    watched: std::sync::Mutex<Vec<Watched>>,
}

impl Arena {
    /// Creates an arena for a run that begins now.
    pub fn new(limits: Limits) -> Self {
        Arena {
            limits,
            started: Instant::now(),
            stopped_ms: AtomicU64::new(0),
            done: AtomicBool::new(false),
            seats: std::array::from_fn(|_| Seat::default()),
            watched: std::sync::Mutex::default(),
        }
    }

    /// Returns whether there is time for another round.
    pub fn goes_on(&self) -> bool {
        self.started.elapsed() < self.limits.length
    }

    /// Returns how much of the run is over, of its time or of its acquisitions: 1 is all.
    pub fn share(&self) -> f64 {
        let time = self.started.elapsed().as_secs_f64() / self.limits.length.as_secs_f64();
        time.max(self.total() as f64 / self.limits.acquisitions as f64)
    }

    /// Returns a new lock with what it protects.
    pub fn guarded(&self, record: &LockRecord, ops: Exclusive) -> Guarded<'static> {
        Guarded::new(self.watched(record), ops)
    }

    /// Returns a new lock, whose words a report will show.
    pub fn watched(&self, record: &LockRecord) -> Object<'static> {
        let lock = record.make();
        self.watched.lock().unwrap().push((lock, record.ops.words));
        lock
    }

    /// Returns a thread's place; `number` names it and makes its random numbers.
    pub fn worker(&self, number: usize) -> Worker<'_> {
        assert!(number < SEATS, "more workers than seats");
        let rng = Xoshiro256PlusPlus::seed_from_u64(self.limits.seed.wrapping_add(number as u64));
        Worker { arena: self, number, rng }
    }

    /// Runs `body` on `threads` threads until all return; each gets its place.
    pub fn on_threads(&self, threads: usize, body: impl Fn(&mut Worker) + Sync) {
        std::thread::scope(|s| {
            for number in 0..threads {
                let body = &body;
                s.spawn(move || body(&mut self.worker(number)));
            }
        });
    }

    /// Runs `round` on `threads` threads while there is time.
    pub fn rounds(&self, threads: usize, round: impl Fn(&mut Worker) + Sync) {
        self.on_threads(threads, |worker| {
            while self.goes_on() {
                round(worker);
            }
        });
    }

    /// Runs `round` on `threads` threads again and again, until `main` returns.
    pub fn beside(&self, threads: usize, round: impl Fn(&mut Worker) + Sync, main: impl FnOnce()) {
        let over = AtomicBool::new(false);
        std::thread::scope(|s| {
            for number in 0..threads {
                let (over, round) = (&over, &round);
                s.spawn(move || {
                    let mut worker = self.worker(number);
                    while !over.load(Relaxed) {
                        round(&mut worker);
                    }
                });
            }
            main();
            over.store(true, Relaxed);
        });
    }

    /// Runs `round` on `threads` threads while there is time, with a new lock; checks that every section was counted.
    pub fn contend(
        &self,
        record: &LockRecord,
        ops: Exclusive,
        threads: usize,
        round: impl Fn(&Guarded, &mut Worker) + Sync,
    ) {
        let guarded = self.guarded(record, ops);
        self.rounds(threads, |worker| round(&guarded, worker));
        self.expect_counted(&[&guarded]);
    }

    /// Acquisitions so far, by all threads.
    pub fn total(&self) -> u64 {
        self.seats.iter().map(|seat| seat.rounds.load(Relaxed)).sum()
    }

    /// Called when no thread is in a section any more: fails unless every section was counted, and every lock is free.
    pub fn expect_counted(&self, locks: &[&Guarded]) {
        let sections: u64 = self.seats.iter().map(|seat| seat.sections.load(Relaxed)).sum();
        let (first, second) = locks.iter().map(|g| g.counted()).fold((0, 0), |sum, g| (sum.0 + g.0, sum.1 + g.1));
        if (first, second) != (sections, sections) {
            self.fail(Verdict::TwoOwners, &format!("{sections} sections were counted as {first} and {second}"));
        }
        for guarded in locks {
            if !(guarded.ops.try_acquire)(guarded.lock) {
                self.fail(Verdict::Hang, "the lock is free, but cannot be acquired");
            }
            // SAFETY: just acquired.
            unsafe { (guarded.ops.release)(guarded.lock) };
        }
    }

    /// Ends the run and this process with a verdict.
    pub fn fail(&self, verdict: Verdict, why: &str) -> ! {
        static FAILED: AtomicBool = AtomicBool::new(false);
        while FAILED.swap(true, Relaxed) {
            std::thread::sleep(Duration::from_secs(1)); // another thread is reporting this
        }
        println!("{}\n{why}", self.who_does_what());
        verdict.exit()
    }

    /// Ends the run and this process: the machine lacks what the scenario needs.
    pub fn skip(&self, why: &str) -> ! {
        println!("skipped: {why}");
        Verdict::Skipped.exit()
    }

    /// Ends the run and the watchdog.
    pub fn finish(&self) {
        self.done.store(true, Relaxed);
    }

    /// Fires when a thread hangs: reports which thread waits for what, and ends the process.
    pub fn watch(&self) {
        let mut looked = Instant::now();
        while !self.done.load(Relaxed) {
            std::thread::sleep(LOOK);
            let late = looked.elapsed().saturating_sub(LOOK);
            looked = Instant::now();
            if late > STOPPED {
                self.stopped_ms.fetch_add(late.as_millis() as u64, Relaxed);
            }
            let patience = self.limits.patience;
            if let Some(number) = self.seats.iter().position(|seat| self.waited(seat) > patience) {
                self.fail(Verdict::Hang, &format!("thread {number} has made no progress for {patience:?}"));
            }
        }
    }

    /// Called in a forked child, where the other threads do not exist. Starts a watchdog for this process.
    pub fn forked(&'static self) {
        self.seats.iter().for_each(|seat| seat.doing.store(Doing::Outside as u8, Relaxed));
        std::thread::spawn(|| self.watch());
    }

    /// Returns how long the thread on this seat has been waiting.
    fn waited(&self, seat: &Seat) -> Duration {
        // Read first: a thread that moves on now makes the time longer, never shorter.
        let now = self.now_ms();
        match Doing::ALL[seat.doing.load(Relaxed) as usize] {
            Doing::Outside | Doing::Holds => Duration::ZERO,
            _ => Duration::from_millis(now.saturating_sub(seat.since_ms.load(Relaxed))),
        }
    }

    /// Returns the milliseconds of the run so far, without those for which the process was stopped.
    fn now_ms(&self) -> u64 {
        (self.started.elapsed().as_millis() as u64).saturating_sub(self.stopped_ms.load(Relaxed))
    }

    fn who_does_what(&self) -> String {
        let now = self.now_ms();
        let mut out = String::from("thread  does      for        acquisitions");
        for (number, seat) in self.seats.iter().enumerate() {
            let (doing, rounds) = (Doing::ALL[seat.doing.load(Relaxed) as usize], seat.rounds.load(Relaxed));
            if doing != Doing::Outside || rounds > 0 {
                let since = now.saturating_sub(seat.since_ms.load(Relaxed));
                out += &format!("\n{number:>6}  {:<8}  {since:>6} ms  {rounds}", format!("{doing:?}"));
            }
        }
        for (number, (lock, words)) in self.watched.lock().unwrap().iter().enumerate() {
            out += &format!("\nlock {number}: {}", words(*lock));
        }
        out
    }
}

/// One thread of a run.
pub struct Worker<'a> {
    /// The run.
    pub arena: &'a Arena,
    /// The thread's number, and that of its seat.
    pub number: usize,
    /// Its random numbers.
    pub rng: Xoshiro256PlusPlus,
}

impl Worker<'_> {
    /// Fails the run if the thread gave a wait up before its time.
    pub fn expect_expired(&self, deadline: Deadline) {
        if !deadline.expired::<Native>() {
            self.arena.fail(Verdict::EarlyTimeout, &format!("thread {} gave up before {deadline:?}", self.number));
        }
    }

    /// Returns true one time in `n`.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.random_range(0..n) == 0
    }

    /// Shows what the thread does.
    pub fn does(&self, doing: Doing) {
        let seat = &self.arena.seats[self.number];
        if doing != Doing::Outside {
            seat.since_ms.store(self.arena.now_ms(), Relaxed);
        }
        seat.doing.store(doing as u8, Relaxed);
    }

    /// Does a step in which the thread may wait, and counts it.
    pub fn works<R>(&self, step: impl FnOnce() -> R) -> R {
        self.does(Doing::Acquires);
        let result = step();
        self.does(Doing::Outside);
        self.gets_on();
        result
    }

    /// Counts an acquisition, or any other sign that the thread makes progress.
    pub fn gets_on(&self) {
        self.gets_on_by(1);
    }

    /// Counts acquisitions.
    pub fn gets_on_by(&self, acquisitions: u64) {
        let rounds = &self.arena.seats[self.number].rounds;
        rounds.store(rounds.load(Relaxed) + acquisitions, Relaxed);
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.does(Doing::Outside);
    }
}

/// Occasionally does nothing, a few spins, a yield, or a short sleep.
pub fn dawdle(worker: &mut Worker) {
    match worker.rng.random_range(0..64) {
        0 => std::thread::sleep(Duration::from_micros(worker.rng.random_range(0..200))),
        1..4 => std::thread::yield_now(),
        4..32 => spin(worker.rng.random_range(0..100)),
        _ => {}
    }
}

/// Threads for a scenario that would like `wanted`, and is not about crowds.
pub fn threads(record: &LockRecord, wanted: usize) -> usize {
    wanted.min(record.nature.crowd / 2).max(2)
}

/// Keeps the CPU for a while.
pub fn spin(looks: u32) {
    (0..looks).for_each(|_| std::hint::spin_loop());
}

/// A lock and what it protects: two numbers that each section finds equal and leaves equal, and the owner's name.
/// They are atomics only so that a broken lock makes wrong numbers rather than undefined behaviour: every access is a
/// plain load or store.
pub struct Guarded<'a> {
    /// The lock.
    pub lock: Object<'a>,
    /// The operations by which it is owned.
    pub ops: Exclusive,
    owner: AtomicU64,
    upgradable: AtomicU64,
    first: AtomicU64,
    second: AtomicU64,
}

impl<'a> Guarded<'a> {
    /// Guards a new pair with `lock`.
    pub fn new(lock: Object<'a>, ops: Exclusive) -> Self {
        let zero = || AtomicU64::new(0);
        Guarded { lock, ops, owner: zero(), upgradable: zero(), first: zero(), second: zero() }
    }

    /// Acquires the lock, and checks that no other thread has it.
    pub fn acquire(&self, worker: &Worker) {
        worker.does(Doing::Acquires);
        (self.ops.acquire)(self.lock);
        self.enter(worker);
    }

    /// Does what every acquisition begins with.
    pub fn enter(&self, worker: &Worker) {
        worker.does(Doing::Holds);
        worker.gets_on();
        self.expect_owner(worker, 0);
        self.owner.store(worker.number as u64 + 1, Relaxed);
    }

    /// Runs the section: counts, with `pause` in the middle.
    pub fn count(&self, worker: &mut Worker, pause: impl FnOnce(&mut Worker)) {
        let (first, second) = (self.first.load(Relaxed), self.second.load(Relaxed));
        if first != second {
            worker.arena.fail(Verdict::TwoOwners, &format!("the pair differs: {first}, {second}"));
        }
        self.first.store(first + 1, Relaxed);
        pause(worker);
        self.expect_owner(worker, worker.number as u64 + 1);
        if let Some(early) = self.ops.before_last_write {
            early(self.lock);
        }
        spin(4);
        self.second.store(second + 1, Relaxed);
        let sections = &worker.arena.seats[worker.number].sections;
        sections.store(sections.load(Relaxed) + 1, Relaxed);
    }

    /// Does what every release begins with.
    pub fn leave(&self, worker: &Worker) {
        self.expect_owner(worker, worker.number as u64 + 1);
        self.owner.store(0, Relaxed);
        worker.does(Doing::Releases);
    }

    /// Releases the lock.
    pub fn release(&self, worker: &Worker) {
        self.release_by(worker, self.ops.release);
    }

    /// Releases the lock by `how`.
    pub fn release_by(&self, worker: &Worker, how: Change) {
        self.leave(worker);
        // SAFETY: the caller has the lock: `leave` checked it.
        unsafe { how(self.lock) };
        worker.does(Doing::Outside);
    }

    /// Releases the lock, waits for a notification or `deadline`, and acquires it again; returns whether it timed out.
    pub fn wait(&self, condvar: &Condvar, worker: &Worker, deadline: Option<Deadline>) -> bool {
        self.leave(worker);
        worker.does(Doing::Waits);
        // SAFETY: the caller is between `acquire` and `release`: `leave` checked it.
        let timed_out = unsafe { (condvar.wait)(self.lock, deadline) };
        self.enter(worker);
        timed_out
    }

    /// Tries to acquire by `how`; counts and releases if it succeeds; returns whether it did.
    pub fn attempt(&self, worker: &mut Worker, how: impl FnOnce(Object) -> bool) -> bool {
        worker.does(Doing::Acquires);
        if !how(self.lock) {
            worker.does(Doing::Outside);
            return false;
        }
        self.enter(worker);
        self.count(worker, dawdle);
        self.release(worker);
        true
    }

    /// Acquires, counts, releases.
    pub fn section(&self, worker: &mut Worker, pause: impl FnOnce(&mut Worker)) {
        self.acquire(worker);
        self.count(worker, pause);
        self.release(worker);
    }

    /// Returns both numbers. A reader or a writer finds the same ones while it has the lock.
    pub fn counted(&self) -> (u64, u64) {
        (self.first.load(Relaxed), self.second.load(Relaxed))
    }

    /// Does what every acquisition for reading begins with.
    pub fn enter_reading(&self, worker: &Worker) {
        worker.does(Doing::Holds);
        worker.gets_on();
    }

    /// Runs a reader's section: no writer is there, and none was during `pause`.
    pub fn look(&self, worker: &mut Worker, pause: impl FnOnce(&mut Worker)) {
        self.expect_owner(worker, 0);
        let before = self.counted();
        pause(worker);
        self.expect_unchanged(worker, before);
        self.expect_owner(worker, 0);
    }

    /// Fails if a thread wrote since the numbers were `before`, or is about to.
    pub fn expect_unchanged(&self, worker: &Worker, before: (u64, u64)) {
        let after = self.counted();
        if before != after || before.0 != before.1 {
            let why = format!("thread {} reads {before:?}, then {after:?}", worker.number);
            worker.arena.fail(Verdict::TwoOwners, &why);
        }
    }

    /// Releases a read lock.
    pub fn leave_reading(&self, shared: &Shared, worker: &Worker) {
        worker.does(Doing::Releases);
        // SAFETY: the caller is between `enter_reading` and this.
        unsafe { (shared.unlock_read)(self.lock) };
        worker.does(Doing::Outside);
    }

    /// Acquires for reading, checks, releases.
    pub fn read_section(&self, shared: &Shared, worker: &mut Worker, pause: impl FnOnce(&mut Worker)) {
        worker.does(Doing::Acquires);
        (shared.read)(self.lock);
        self.enter_reading(worker);
        self.look(worker, pause);
        self.leave_reading(shared, worker);
    }

    /// Tries to acquire for reading by `how`; checks and releases if it succeeds; returns whether it did.
    pub fn attempt_reading(&self, shared: &Shared, worker: &mut Worker, how: impl FnOnce(Object) -> bool) -> bool {
        worker.does(Doing::Acquires);
        let got = how(self.lock);
        if got {
            self.enter_reading(worker);
            self.look(worker, dawdle);
            self.leave_reading(shared, worker);
        }
        worker.does(Doing::Outside);
        got
    }

    /// Changes the write lock to a read lock by `how`; no writer comes between.
    pub fn downgrade(&self, worker: &mut Worker, how: Change) {
        let counted = self.counted();
        self.leave(worker);
        // SAFETY: the caller has the write lock: `leave` checked it.
        unsafe { how(self.lock) };
        self.expect_unchanged(worker, counted);
        self.enter_reading(worker);
    }

    /// Does what every acquisition for upgradable reading also begins with, however it comes about.
    pub fn enter_upgradable(&self, worker: &Worker) {
        let other = self.upgradable.load(Relaxed);
        if other != 0 {
            let why = format!("threads {} and {} read upgradably", worker.number, other - 1);
            worker.arena.fail(Verdict::TwoOwners, &why);
        }
        self.upgradable.store(worker.number as u64 + 1, Relaxed);
    }

    /// Changes the upgradable read lock to the write lock, unless `deadline` comes first; no writer comes between.
    pub fn upgrade(&self, upgrade: &Upgrade, worker: &mut Worker, deadline: Option<Deadline>) -> bool {
        let counted = self.counted();
        worker.does(Doing::Acquires);
        // SAFETY: the caller is between `enter_upgradable` and the release.
        let upgraded = unsafe { (upgrade.upgrade)(self.lock, deadline) };
        self.expect_unchanged(worker, counted);
        worker.does(Doing::Holds);
        if upgraded {
            self.upgradable.store(0, Relaxed);
            self.enter(worker);
        }
        upgraded
    }

    /// Changes the write lock to the upgradable read lock; no writer comes between.
    pub fn downgrade_to_upgradable(&self, upgrade: &Upgrade, worker: &mut Worker) {
        self.downgrade(worker, upgrade.downgrade);
        self.enter_upgradable(worker);
    }

    /// Releases the upgradable read lock.
    pub fn leave_upgradable(&self, upgrade: &Upgrade, worker: &Worker) {
        worker.does(Doing::Releases);
        self.upgradable.store(0, Relaxed);
        // SAFETY: the caller is between `enter_upgradable` and this.
        unsafe { (upgrade.unlock)(self.lock) };
        worker.does(Doing::Outside);
    }

    fn expect_owner(&self, worker: &Worker, owner: u64) {
        let found = self.owner.load(Relaxed);
        if found != owner {
            let who = |n: u64| n.checked_sub(1).map_or("nobody".to_owned(), |n| format!("thread {n}"));
            let why = format!("thread {}: the owner is {}, not {}", worker.number, who(found), who(owner));
            worker.arena.fail(Verdict::TwoOwners, &why);
        }
    }
}
