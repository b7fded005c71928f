//! The big-reader lock on real threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::{BigReaderLock, RawBigReaderLock};

/// Fewer under Miri, which interprets, some thousand times slower.
const ROUNDS: u64 = if cfg!(miri) { 15 } else { 10_000 };
const SOON: Duration = Duration::from_millis(10);

/// Runs six threads, each of which writes once in `one_in` rounds, and reads in the others.
fn mixed(one_in: u64) {
    let pair = BigReaderLock::<_, 4>::new((0_u64, 0_u64));
    std::thread::scope(|s| {
        for number in 0..6 {
            let pair = &pair;
            s.spawn(move || {
                for round in 0..ROUNDS {
                    if (round + number) % one_in == 0 {
                        let mut pair = pair.write();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = pair.read();
                        assert_eq!(pair.0, pair.1);
                    }
                }
            });
        }
    });
    let writes = (0..6).map(|number| (0..ROUNDS).filter(|round| (round + number) % one_in == 0).count() as u64);
    let writes = writes.sum();
    assert_eq!(pair.into_inner(), (writes, writes));
}

#[test]
fn writes_are_counted_and_readers_see_whole_ones() {
    [3, 100, 1_000].into_iter().for_each(mixed);
}

#[test]
fn no_write_is_lost_whichever_thread_spreads_it_and_however_often() {
    let (count, over) = (BigReaderLock::<_, 4>::new(0_u64), AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !over.load(Relaxed) {
                count.raw().spread();
                let seen = *count.read();
                assert!(*count.read() >= seen);
            }
        });
        let writers: Vec<_> = (0..2).map(|_| s.spawn(|| (0..ROUNDS).for_each(|_| *count.write() += 1))).collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        over.store(true, Relaxed);
    });
    assert_eq!(count.into_inner(), 2 * ROUNDS);
}

#[test]
fn readers_are_inside_together() {
    const READERS: usize = 3;
    for spread in [false, true] {
        let (lock, inside) = (BigReaderLock::<_>::new(()), Barrier::new(READERS));
        if spread {
            lock.raw().spread();
        }
        std::thread::scope(|s| {
            for _ in 0..READERS {
                s.spawn(|| {
                    let _read = lock.read();
                    inside.wait(); // returns when all are in
                });
            }
        });
        assert!(!lock.is_locked());
    }
}

#[test]
fn tries_say_who_is_in() {
    let lock = BigReaderLock::<_>::new(0);
    for spread in [false, true] {
        if spread {
            lock.raw().spread();
        }
        let read = lock.read();
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
        assert!(lock.is_locked() && !lock.is_write_locked());
        drop(read);
        let write = lock.try_write().expect("free");
        assert!(lock.is_write_locked() && lock.try_read().is_none() && lock.try_write().is_none());
        drop(write);
        assert!(!lock.is_locked());
    }
}

#[test]
fn timed_waits_end_and_leave_no_trace() {
    for spread in [false, true] {
        let lock = BigReaderLock::<_>::new(0);
        if spread {
            lock.raw().spread();
        }
        let fails = |wait: fn(&BigReaderLock<u32>) -> bool| {
            let start = Instant::now();
            assert!(!wait(&lock) && start.elapsed() >= SOON);
        };
        let read = lock.read();
        std::thread::scope(|s| s.spawn(|| fails(|lock| lock.try_write_for(SOON).is_some())).join().unwrap());
        assert!(lock.try_read().is_some(), "the writer has left");
        drop(read);
        let write = lock.write();
        std::thread::scope(|s| {
            s.spawn(|| fails(|lock| lock.try_write_for(SOON).is_some()));
            s.spawn(|| fails(|lock| lock.try_read_for(SOON).is_some()));
        });
        drop(write);
        assert!(!lock.is_locked() && lock.try_write_for(SOON).is_some() && lock.try_read_for(SOON).is_some());
    }
}

#[test]
fn a_writer_sleeps_until_the_last_reader_leaves() {
    let lock = BigReaderLock::<_>::new(0);
    lock.raw().spread();
    let read = lock.read();
    std::thread::scope(|s| {
        let writer = s.spawn(|| *lock.write() = 1);
        while lock.try_read().is_some() {
            std::thread::yield_now(); // until a writer waits
        }
        std::thread::sleep(SOON);
        assert_eq!(*read, 0);
        drop(read);
        writer.join().unwrap();
    });
    assert_eq!(*lock.read(), 1);
}

#[test]
fn a_panic_releases() {
    let lock = BigReaderLock::<_>::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        *lock.write() = 7;
        let _read = lock.read();
        panic!("while it is read");
    }));
    assert!(result.is_err() && !lock.is_locked());
    assert_eq!(*lock.read(), 7);
}

#[test]
fn statics_zeroed_memory_and_unsized_data_work() {
    static LOCK: BigReaderLock<u32, 8> = BigReaderLock::new(4);
    assert_eq!(*LOCK.read(), 4);
    // SAFETY: zero bytes are a valid value, unlocked: the lock guarantees it.
    let zeroed: BigReaderLock<u32> = unsafe { std::mem::zeroed() };
    assert!(zeroed.try_write().is_some() && zeroed.try_read().is_some());
    let slice: &BigReaderLock<[u8]> = &BigReaderLock::new([1, 2, 3]);
    slice.write()[0] = 9;
    assert_eq!(slice.read().iter().sum::<u8>(), 14);
    // With counters the inner lock takes more cache lines.
    if cfg!(not(feature = "stats")) {
        assert_eq!(size_of::<RawBigReaderLock<8>>(), 128 * 10);
    }
    assert_eq!(
        format!("{:?} {:?}", BigReaderLock::<_>::from(3), BigReaderLock::<u8>::default().read()),
        "BigReaderLock { data: 3, .. } 0"
    );
}
