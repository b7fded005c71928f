//! Which words share a line: those that do on the hardware.

use crate::support;
use crate::world::{Word32, config};
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{IntWord, Native, Word};
use turnwise::{
    BigReaderLock, Condvar, FairSemaphore, LockRef, McsLock, Mutex, QueuedSpinLock, RawBigReaderLock, RawMutex,
    RawRwSem, RawSeqRwLock, ReentrantMutex, RwSem, Semaphore, SeqRwLock, SpinLock, TicketLock, backoff::NoBackoff,
};
use turnwise_sim::{Affinity, Placed, Sim, Simulation};

#[repr(C)]
struct Near {
    a: Word32,
    b: Word32,
}

#[repr(C, align(64))]
struct Apart(Word32);

/// Returns the transfers while two CPUs each count in a word of their own.
fn transfers<T: 'static>(value: T, a: fn(&T) -> &Word32, b: fn(&T) -> &Word32) -> u64 {
    let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
    let both: Placed<T> = sim.place("counters", value);
    for (cpu, mine) in [(0, a), (1, b)] {
        let both = both.clone();
        sim.spawn(Affinity::Cpu(cpu), move || {
            for _ in 0..1000 {
                mine(&both).fetch_add(1, Relaxed);
                Sim::compute(100);
            }
        });
    }
    sim.run().unwrap().counters.transfers
}

#[test]
fn counters_that_share_a_line_take_it_from_each_other() {
    let near = Near { a: Word32::new(0), b: Word32::new(0) };
    let shared = transfers(near, |both| &both.a, |both| &both.b);
    assert!(shared > 1500, "2000 increments by turns: {shared} transfers");
    let apart = (Apart(Word32::new(0)), Apart(Word32::new(0)));
    assert_eq!(transfers(apart, |both| &both.0.0, |both| &both.1.0), 0);
}

#[test]
fn a_larger_line_joins_what_a_smaller_one_parts() {
    let mut machine = support::machine(1, 2);
    machine.coherence.line_bytes = 128;
    let machine = std::sync::Arc::new(machine);
    let mut sim = Simulation::new(config(&machine, 1), 2);
    let both = sim.place("counters", (Apart(Word32::new(0)), Apart(Word32::new(0))));
    for cpu in 0..2 {
        let both = both.clone();
        sim.spawn(Affinity::Cpu(cpu), move || {
            for _ in 0..100 {
                if cpu == 0 { &both.0 } else { &both.1 }.0.fetch_add(1, Relaxed);
                Sim::compute(1000);
            }
        });
    }
    assert!(sim.run().unwrap().counters.transfers > 150);
}

#[test]
fn touched_data_moves_line_by_line() {
    for (bytes, lines) in [(1, 1), (64, 1), (65, 2), (640, 10)] {
        let mut sim = Simulation::new(config(&support::shared(1, 2), 1), 2);
        let data = sim.place("data", [0u8; 640]);
        for cpu in 0..2u32 {
            let data = data.clone();
            sim.spawn(Affinity::Cpu(cpu), move || {
                Sim::compute(10_000 * u64::from(cpu + 1));
                <Sim as turnwise::platform::Platform>::touch(data.as_ptr(), bytes, true);
            });
        }
        assert_eq!(sim.run().unwrap().counters.transfers, lines, "{bytes} bytes");
    }
}

macro_rules! same_layout {
    ($($native:ty => $sim:ty),* $(,)?) => {
        $(assert_eq!(
            (size_of::<$sim>(), align_of::<$sim>()),
            (size_of::<$native>(), align_of::<$native>()),
            stringify!($native)
        );)*
    };
}

#[test]
fn locks_are_as_large_as_on_metal() {
    same_layout! {
        Mutex<u64, Native> => Mutex<u64, Sim>,
        RwSem<u64, Native> => RwSem<u64, Sim>,
        BigReaderLock<u64, 64, Native> => BigReaderLock<u64, 64, Sim>,
        SeqRwLock<u64, Native> => SeqRwLock<u64, Sim>,
        LockRef<Native> => LockRef<Sim>,
        Condvar<Native> => Condvar<Sim>,
        Semaphore<false, Native> => Semaphore<false, Sim>,
        Semaphore<true, Native> => Semaphore<true, Sim>,
        ReentrantMutex<u64, Native> => ReentrantMutex<u64, Sim>,
        SpinLock<u64, NoBackoff, Native> => SpinLock<u64, NoBackoff, Sim>,
        TicketLock<u64, NoBackoff, Native> => TicketLock<u64, NoBackoff, Sim>,
        QueuedSpinLock<u64, Native> => QueuedSpinLock<u64, Sim>,
        McsLock<u64, Native> => McsLock<u64, Sim>,
        RawMutex<Native> => RawMutex<Sim>,
        RawRwSem<Native> => RawRwSem<Sim>,
        RawBigReaderLock<8, Native> => RawBigReaderLock<8, Sim>,
        RawSeqRwLock<Native> => RawSeqRwLock<Sim>,
    }
    assert_eq!(size_of::<FairSemaphore>(), size_of::<Semaphore<true, Sim>>());
}
