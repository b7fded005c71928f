//! Every lock of the library keeps its guarantee in random schedules, on fewer CPUs than threads and on more.

use crate::support;
use crate::world::config;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use turnwise::backoff::{Exponential, NoBackoff};
use turnwise::raw::RawLock;
use turnwise::wait::Tuned;
use turnwise::{
    Condvar, LockRef, McsLock, Mutex, QueuedSpinLock, RawMutex, RawRwSem, ReentrantMutex, RwSem, Semaphore, SeqRwLock,
    SpinLock, TicketLock,
};
use turnwise_sim::spec::{Machine, OnCpuView};
use turnwise_sim::{Affinity, Config, Perturb, Placed, Sim, Simulation};

/// Counts the threads inside, in plain memory that costs nothing: if a lock lets in too many, this detects it.
#[derive(Default)]
struct Inside {
    writers: Cell<u32>,
    readers: Cell<u32>,
    most: Cell<u32>,
}

impl Inside {
    fn write(&self, section: impl FnOnce()) {
        assert_eq!((self.writers.get(), self.readers.get()), (0, 0), "a writer is not alone");
        self.writers.set(1);
        section();
        assert_eq!((self.writers.get(), self.readers.get()), (1, 0), "somebody came in");
        self.writers.set(0);
    }

    /// At most `limit` threads may read at a time.
    fn read(&self, limit: u32, section: impl FnOnce()) {
        assert_eq!(self.writers.get(), 0, "a reader beside a writer");
        self.readers.set(self.readers.get() + 1);
        assert!(self.readers.get() <= limit, "{} at a time", self.readers.get());
        self.most.set(self.most.get().max(self.readers.get()));
        section();
        self.readers.set(self.readers.get() - 1);
    }
}

/// Yields schedules: the machine, how many of its CPUs, and what disturbs it.
fn schedules() -> impl Iterator<Item = Config> {
    let perturbs = [
        Perturb::None,
        Perturb::Stalls { per_million: 2_000, max_ns: 200_000 },
        Perturb::Pct { per_million: 2_000, max_ns: 200_000 },
    ];
    let views = [OnCpuView::Exact, OnCpuView::Rseq, OnCpuView::Unknown];
    let machine = move |cores: u32, view| {
        let nodes = if cores == 16 { 2 } else { 1 };
        let mut machine: Machine = support::machine(nodes, cores / nodes);
        machine.system.on_cpu = view;
        Arc::new(machine)
    };
    let all = [1, 3, 16].into_iter().flat_map(move |cores| (0..3).map(move |n| (cores, n)));
    all.map(move |(cores, n)| {
        // The views and the disturbances meet on all sizes, in turn.
        let (view, perturb) = (views[(n + cores as usize) % 3], perturbs[n]);
        Config { perturb, ..config(&machine(cores, view), u64::from(cores) * 10 + n as u64) }
    })
}

const ROUNDS: u32 = 12;

/// Runs threads that do this repeatedly, with pauses, in every schedule; `end` checks the final state.
fn torture<L: 'static>(make: impl Fn() -> L, operate: fn(&L, &Inside), end: impl Fn(&L, u32, &Inside)) {
    for config in schedules() {
        let what = format!("{} CPUs, seed {}, {:?}", config.cpus.len(), config.seed, config.perturb);
        let threads = config.cpus.len() + 5;
        let mut sim = Simulation::new(config, threads);
        let lock: Placed<L> = sim.place("lock", make());
        let inside = Rc::new(Inside::default());
        for _ in 0..threads {
            let (lock, inside) = (lock.clone(), inside.clone());
            sim.spawn(Affinity::Any, move || {
                for _ in 0..ROUNDS {
                    operate(&lock, &inside);
                    Sim::progress();
                    Sim::compute(Sim::chance(2_000));
                }
            });
        }
        let left = lock.clone();
        sim.run().unwrap_or_else(|stuck| panic!("{what}: {stuck}"));
        end(&left, threads as u32 * ROUNDS, &inside);
    }
}

/// Runs a section: mostly short, sometimes longer than a slice.
fn section() {
    Sim::compute(match Sim::chance(50) {
        0 => 1_000_000,
        1..10 => 5_000,
        _ => Sim::chance(200),
    });
}

macro_rules! exclusive {
    ($test:ident, $make:expr, $lock:ty) => {
        #[test]
        fn $test() {
            let operate = |lock: &$lock, inside: &Inside| {
                let mut count = lock.lock();
                inside.write(section);
                *count += 1;
            };
            torture(|| $make, operate, |lock, all, _| assert_eq!(*lock.lock(), all));
        }
    };
}

exclusive!(mutex, Mutex::new_in(0), Mutex<u32, Sim>);
exclusive!(spin_lock, SpinLock::new_in(0), SpinLock<u32, NoBackoff, Sim>);
exclusive!(spin_lock_with_back_off, SpinLock::new_in(0), SpinLock<u32, Exponential, Sim>);
exclusive!(ticket_lock, TicketLock::new_in(0), TicketLock<u32, NoBackoff, Sim>);
exclusive!(queued_spin_lock, QueuedSpinLock::new_in(0), QueuedSpinLock<u32, Sim>);

#[test]
fn mcs_lock() {
    let operate = |lock: &McsLock<u32, Sim>, inside: &Inside| {
        lock.with(|count| {
            inside.write(section);
            *count += 1;
        });
    };
    torture(|| McsLock::new_in(0), operate, |lock, all, _| lock.with(|count| assert_eq!(*count, all)));
}

#[test]
fn mutex_with_time_outs() {
    let operate = |lock: &Mutex<u32, Sim>, inside: &Inside| loop {
        let guard = match Sim::chance(3) {
            0 => lock.try_lock(),
            1 => lock.try_lock_for(Duration::from_nanos(Sim::chance(300_000))),
            _ => Some(lock.lock()),
        };
        if let Some(mut count) = guard {
            inside.write(section);
            *count += 1;
            return;
        }
    };
    torture(|| Mutex::new_in(0), operate, |lock, all, _| assert_eq!(*lock.lock(), all));
}

#[test]
fn readers_writer_lock() {
    let operate = |lock: &RwSem<u32, Sim>, inside: &Inside| match Sim::chance(4) {
        0 => {
            let mut count = lock.write();
            inside.write(section);
            *count += 1;
        }
        1 => {
            if let Some(_read) = lock.try_read_for(Duration::from_micros(50)) {
                inside.read(u32::MAX, section);
            }
        }
        _ => {
            let _read = lock.read();
            inside.read(u32::MAX, section);
        }
    };
    let most = Cell::new(0);
    torture(
        || RwSem::new_in(0),
        operate,
        |lock, _, inside| {
            assert!(!lock.is_locked());
            most.set(most.get().max(inside.most.get()));
        },
    );
    assert!(most.get() > 1, "readers never met");
}

#[test]
fn sequence_lock() {
    let operate = |lock: &SeqRwLock<[u64; 4], Sim>, inside: &Inside| match Sim::chance(4) {
        0 => {
            let mut four = lock.write();
            inside.write(section);
            let next = four[0] + 1;
            *four = [next; 4];
        }
        1 => {
            let _four = lock.blocking_read();
            inside.read(u32::MAX, section);
        }
        _ => {
            let four = lock.read();
            assert!(four.iter().all(|&one| one == four[0]), "half of a write: {four:?}");
        }
    };
    torture(|| SeqRwLock::new_in([0; 4]), operate, |lock, _, _| assert!(lock.read()[0] > 0));
}

#[test]
fn counted_references_with_a_lock() {
    let operate = |lock: &LockRef<Sim>, inside: &Inside| {
        lock.get();
        match Sim::chance(3) {
            0 => {
                let _guard = lock.lock();
                inside.write(section);
            }
            1 => assert!(lock.get_not_zero() && lock.put() > 0),
            _ => Sim::compute(100),
        }
        assert!(lock.put() > 0, "the first reference is never put");
    };
    torture(|| LockRef::new_in(1), operate, |lock, _, _| assert_eq!((lock.count(), lock.is_locked()), (1, false)));
}

#[test]
fn semaphore() {
    semaphore_of::<false>();
}

#[test]
fn fair_semaphore() {
    semaphore_of::<true>();
}

fn semaphore_of<const FAIR: bool>() {
    let operate = |semaphore: &Semaphore<FAIR, Sim>, inside: &Inside| {
        let n = 1 + Sim::chance(2) as u32;
        if Sim::chance(4) == 0 {
            if let Some(_permits) = semaphore.try_acquire_for(n, Duration::from_micros(Sim::chance(100))) {
                inside.read(3, section);
            }
        } else {
            let _permits = semaphore.acquire_many(n);
            inside.read(3, section);
        }
    };
    torture(|| Semaphore::new_in(3), operate, |semaphore, _, _| assert_eq!(semaphore.available(), 3));
}

#[test]
fn reentrant_mutex() {
    let operate = |lock: &ReentrantMutex<Cell<u32>, Sim>, inside: &Inside| {
        let outer = lock.lock();
        let inner = lock.lock();
        inside.write(section);
        inner.set(inner.get() + 1);
        drop(inner);
        assert!(lock.is_mine());
        drop(outer);
    };
    torture(|| ReentrantMutex::new_in(Cell::new(0)), operate, |lock, all, _| assert_eq!(lock.lock().get(), all));
}

/// A queue of this many places between threads that put and threads that take.
struct Channel {
    places: Mutex<u32, Sim>,
    changed: Condvar<Sim>,
    turn: Cell<u32>,
}

impl Channel {
    /// Returns whether this call puts; the next takes.
    fn puts(&self) -> bool {
        self.turn.replace(self.turn.get() + 1).is_multiple_of(2)
    }
}

#[test]
fn condition_variable() {
    let make = || Channel { places: Mutex::new_in(0), changed: Condvar::new_in(), turn: Cell::new(0) };
    let operate = |channel: &Channel, inside: &Inside| {
        let puts = channel.puts();
        let mut full = channel.places.lock();
        channel.changed.wait_while(&mut full, |full| if puts { *full == 2 } else { *full == 0 });
        inside.write(section);
        if puts {
            *full += 1
        } else {
            *full -= 1
        }
        drop(full);
        channel.changed.notify_all();
    };
    torture(make, operate, |channel, all, _| assert_eq!(*channel.places.lock(), all % 2));
}

/// Many CPUs fight over a lock so hard that waiters cannot fall asleep, join the spinners again, and sleep after all:
/// each of these paths must leave a thread that wakes the rest.
fn fought_over<L: Clone + 'static>(place: fn(&mut Simulation) -> L, operate: fn(&L)) {
    let machine = Arc::new(turnwise_sim::spec::load("westmere-ex-80").expect("it is built in"));
    let slept = (1..=100).map(|seed| fought_over_once(Config::new(Arc::clone(&machine), seed), place, operate));
    let slept: u64 = slept.sum();
    assert!(slept > 600, "too few slept to tell: {slept}");
}

/// Returns how often a thread slept.
fn fought_over_once<L: Clone + 'static>(config: Config, place: fn(&mut Simulation) -> L, operate: fn(&L)) -> u64 {
    let mut simulation = Simulation::new(config, 80);
    let lock = place(&mut simulation);
    for cpu in 0..80 {
        let lock = lock.clone();
        simulation.spawn(Affinity::Cpu(cpu), move || {
            for _ in 0..25 {
                operate(&lock);
                Sim::progress();
                Sim::compute(50 + Sim::chance(100));
            }
        });
    }
    simulation.run().expect("nobody is left asleep").counters.voluntary
}

/// Threads with these settings leave the queue and sleep where each in it would have its turn.
const IN_A_HURRY: Tuned = Tuned { spin_ns: Some(20_000), yield_after_ns: None, handoff_after_ns: None };

#[test]
fn nobody_is_left_asleep_by_waiters_that_spin_again() {
    fought_over(
        |simulation| simulation.place("mutex", RawMutex::<Sim>::new_in()),
        |lock| {
            if !lock.lock_fast() {
                lock.lock_tuned(IN_A_HURRY);
            }
            Sim::compute(50);
            // SAFETY: locked above.
            unsafe { lock.unlock() };
        },
    );
    fought_over(
        |simulation| simulation.place("rwsem", RawRwSem::<Sim>::new_in()),
        |lock| {
            assert!(lock.write_tuned(None, IN_A_HURRY));
            Sim::compute(50);
            // SAFETY: locked above.
            unsafe { lock.unlock() };
        },
    );
}
