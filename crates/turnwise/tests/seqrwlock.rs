//! The sequence read/write lock on real threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::{RawLock, RawSeqRwLock, SeqRwLock};

/// Fewer under Miri, which interprets, some thousand times slower.
const ROUNDS: u64 = if cfg!(miri) { 20 } else { 20_000 };

/// A record with padding after `small`, and a pointer that must keep its provenance.
#[derive(Clone, Copy)]
struct Record {
    small: u8,
    large: u64,
    name: &'static str,
}

impl Record {
    fn number(n: u64) -> Self {
        Record { small: n as u8, large: n, name: if n.is_multiple_of(2) { "even" } else { "odd" } }
    }

    fn is_whole(&self) -> bool {
        let whole = Record::number(self.large);
        self.small == whole.small && self.name == whole.name
    }
}

#[test]
fn every_kind_of_read_sees_whole_values() {
    let lock = SeqRwLock::new(Record::number(0));
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        let readers = [
            |lock: &SeqRwLock<Record>| lock.read(),
            |lock: &SeqRwLock<Record>| lock.read_with(|record| *record),
            |lock: &SeqRwLock<Record>| *lock.blocking_read(),
        ];
        for read in readers {
            let (lock, over) = (&lock, &over);
            s.spawn(move || {
                let mut last = 0;
                while !over.load(Relaxed) {
                    let record = read(lock);
                    assert!(record.is_whole(), "{} {} {}", record.small, record.large, record.name);
                    assert!(record.large >= last, "an older value than before");
                    last = record.large;
                }
            });
        }
        for n in 1..=ROUNDS {
            lock.set(Record::number(n));
        }
        over.store(true, Relaxed);
    });
    assert_eq!(lock.into_inner().large, ROUNDS);
}

#[test]
fn writers_shut_each_other_out() {
    let lock = SeqRwLock::new([0_u64; 4]);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..ROUNDS).for_each(|_| lock.write().iter_mut().for_each(|n| *n += 1)));
        }
    });
    assert_eq!(lock.read(), [4 * ROUNDS; 4]);
}

#[test]
fn a_blocking_reader_shuts_writers_out_and_leaves_the_sequence_alone() {
    let mut lock = SeqRwLock::new(7_u32);
    let begin = lock.raw().try_read_begin().expect("no writer");
    let (first, second) = (lock.blocking_read(), lock.try_blocking_read().expect("readers share"));
    assert!(lock.try_write().is_none());
    std::thread::scope(|s| {
        s.spawn(|| {
            let start = Instant::now();
            assert!(lock.try_write_for(Duration::from_millis(20)).is_none());
            assert!(start.elapsed() >= Duration::from_millis(20));
            assert_eq!(lock.read(), 7, "optimistic reads go on");
        });
    });
    assert!(!lock.raw().read_retry(begin));
    drop((first, second));
    *lock.try_write_for(Duration::ZERO).expect("no thread has it") = 8;
    assert!(lock.raw().read_retry(begin));
    *lock.get_mut() += 1;
    assert_eq!(lock.read(), 9);
}

#[test]
fn a_writer_publishes_when_it_says_so() {
    let lock = SeqRwLock::new(1_u64);
    let mut guard = lock.write();
    *guard = 2;
    assert_eq!(lock.read(), 1, "not published yet");
    assert!(lock.try_blocking_read().is_none());
    let wait = || assert!(lock.try_blocking_read_for(Duration::from_millis(1)).is_none());
    // On another thread: the order checker would call it a self-deadlock.
    std::thread::scope(|s| _ = s.spawn(wait));
    turnwise::SeqWriteGuard::publish(&mut guard);
    assert_eq!(lock.read(), 2);
    *guard = 3;
    drop(guard);
    assert_eq!(lock.try_read(), Some(3));
    assert_eq!(format!("{lock:?}"), "SeqRwLock { value: 3, .. }");
}

#[test]
fn a_reader_behind_a_writer_that_stays_waits_and_then_has_the_lock() {
    let lock = RawSeqRwLock::new();
    let part = AtomicU64::new(0);
    lock.lock();
    assert_eq!(lock.try_read_begin(), None);
    std::thread::scope(|s| {
        let patient = s.spawn(|| lock.read_with(|| part.load(Relaxed)));
        let begins = s.spawn(|| lock.read_begin());
        std::thread::sleep(Duration::from_millis(20));
        part.store(1, Relaxed);
        // SAFETY: locked above.
        unsafe { lock.unlock() };
        assert_eq!(patient.join().expect("no panic"), 1);
        assert_eq!(begins.join().expect("no panic"), 2);
    });
    assert!(!lock.is_locked());
}

#[test]
fn the_second_pass_is_blocking_and_the_last() {
    let lock = RawSeqRwLock::new();
    let mut reader = lock.reader();
    assert!(!reader.is_blocking());
    lock.lock();
    // SAFETY: locked above.
    unsafe { lock.unlock() };
    assert!(reader.retry() && reader.is_blocking());
    assert!(!lock.try_lock());
    assert!(!reader.retry(), "nobody can spoil the second pass");
    assert!(lock.is_locked(), "held until the reader goes");
    drop(reader);
    assert!(lock.try_lock());
    // SAFETY: locked above.
    unsafe { lock.unlock() };
}
